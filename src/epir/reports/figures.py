"""Figures in files, drawn with matplotlib (without pyplot, so that no global state changes)."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from epir.core.files import whole_file
from epir.core.output import check_file, real
from epir.evaluation.store import Run
from epir.evaluation.table import COLUMN_NAMES, corpus_title, kind_of
from epir.reports.pictures import Sources, flow_picture, integrated_picture, map_pictures, motion_picture
from epir.reports.results import Chart, Confusion, Example, Line, PersonScore, clips_text
from epir.reports.series import rate_tokens
from epir.reports.tokens import (
    Mark,
    Overlay,
    borders,
    head_overlays,
    heat_range,
    merged_overlay,
    outline_overlay,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SOFT, PALE = "#1a2028", "#5a6673", "#dbe1e7"
COLOURS = {"strict": "#0a5c9e", "best_epoch": "#a8480b", "published": SOFT}
OTHERS = (INK, "#00735a", "#8a3f7d", SOFT)
DARK_FROM = 0.6  # share from which white letters are easier to read
DOTS_PER_INCH = 200
SMALLEST_FACE = 60  # pixels: pictures up to this size are maps, every pixel of which is shown
PRINT = {"lines": 0.65, "words": 6.5, "captions": 7.5}  # for small pictures


def draw_confusions(confusions: Sequence[Confusion]) -> "Figure":
    """The matrices of one column side by side, each row as shares, with the number of clips below."""
    classes = confusions[0].classes
    side = 0.72 * len(classes) + 1.0
    figure = new_figure(side * len(confusions), side + 0.35)
    shades = _shades(COLOURS[kind_of(confusions[0].column)])
    for axes, confusion in zip(np.atleast_1d(figure.subplots(1, len(confusions))), confusions, strict=True):
        axes.imshow(np.nan_to_num(confusion.rates), vmin=0, vmax=1, cmap=shades)
        for (row, column), rate in np.ndenumerate(confusion.rates):
            text = "–" if np.isnan(rate) else f"{rate:.2f}\n{clips_text(float(confusion.counts[row, column]))}"
            colour = "white" if rate > DARK_FROM else INK
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=8, linespacing=1.35)
        axes.set_xticks(range(len(classes)), classes, rotation=30 if len(classes) > 3 else 0)
        axes.set_yticks(range(len(classes)), classes)
        axes.tick_params(length=0, labelsize=8, colors=INK)
        axes.spines[:].set_visible(False)
        axes.set_title(corpus_title(confusion.part), fontsize=9.5, color=INK, loc="left")
        axes.set_xlabel("answer", fontsize=8, color=SOFT)
    figure.axes[0].set_ylabel("truth", fontsize=8, color=SOFT)
    figure.suptitle(
        COLUMN_NAMES[confusions[0].column], fontsize=10, color=COLOURS[kind_of(confusions[0].column)], x=0.01, ha="left"
    )
    return figure


def draw_chart(chart: Chart) -> "Figure":
    """Lines with their bands over one axis."""
    figure = new_figure(4.2, 2.9)
    axes = figure.subplots()
    for number, line in enumerate(chart.lines):
        _draw_line(axes, line, COLOURS.get(line.kind, OTHERS[number % len(OTHERS)]))
    across, up = chart.bounds()
    axes.set_xlim(*across)
    axes.set_ylim(*up)
    _plain(axes)
    axes.set_title(chart.title, fontsize=9.5, color=INK, loc="left")
    axes.set_xlabel(chart.x_title, fontsize=8.5, color=SOFT)
    axes.set_ylabel(chart.y_title, fontsize=8.5, color=SOFT)
    axes.legend(fontsize=7.5, frameon=False, labelcolor=INK)
    return figure


def draw_people(scores: Sequence[PersonScore]) -> "Figure":
    """One bar of strict accuracy per person, the best recognised on top; best epoch as a tick."""
    figure = new_figure(5.0, 0.17 * len(scores) + 0.9)
    axes = figure.subplots()
    places = np.arange(len(scores))
    axes.barh(
        places, [score.strict for score in scores], color=COLOURS["strict"], height=0.6, label=COLUMN_NAMES["strict"]
    )
    best = [score.best_epoch for score in scores if score.best_epoch is not None]
    if best:
        look: dict[str, Any] = {"color": COLOURS["best_epoch"], "ms": 7, "mew": 1.6}
        axes.plot(best, places, "|", label=COLUMN_NAMES["best_epoch"], **look)
    axes.set_yticks(places, [f"{score.person} ({score.clips})" for score in scores])
    axes.set_ylim(len(scores) - 0.4, -0.6)
    axes.set_xlim(0, 1.01)
    _plain(axes)
    axes.tick_params(axis="y", labelsize=6.5)
    axes.set_xlabel("accuracy on the person's clips (their number in brackets)", fontsize=8.5, color=SOFT)
    axes.legend(fontsize=7.5, frameon=False, labelcolor=INK, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    return figure


def draw_examples(examples: Sequence[Example], sources: Sources) -> "Figure | None":
    """One row per clip: flow, u, v, strain, the merged tokens, and each head; nothing without maps and tokens."""
    shown = [(each, flow_map) for each in examples if (flow_map := sources.map_of(each.prediction.key)) is not None]
    heads = max((len(each.tokens.rollout) for each, _ in shown if each.tokens), default=0)
    if not heads:
        return None
    figure, grid = _picture_grid(len(shown), 5 + heads, left=0.4)
    for (example, flow_map), line in zip(shown, grid, strict=True):
        places, tokens = iter(line), example.tokens
        for caption, picture in map_pictures(flow_map).items():
            show_picture(next(places), picture, caption, **PRINT)
        if tokens is not None:
            ground = motion_picture(flow_map)
            caption = f"merged to {len(tokens.groups)}"
            show_picture(next(places), ground, caption, merged_overlay(tokens), **PRINT)
            for head, (weights, axes) in enumerate(zip(tokens.rollout, places, strict=False)):
                caption = f"head {head + 1}, {heat_range(weights)}"
                show_picture(axes, ground, caption, *head_overlays(tokens, head), **PRINT)
        prediction = example.prediction
        title = f"{prediction.truth} → {prediction.strict}\n({COLUMN_NAMES['strict']})"
        line[0].text(
            -0.08, 0.5, title, transform=line[0].transAxes, rotation=90, ha="right", va="center", fontsize=7, color=INK
        )
    return figure


def draw_integration(runs: Sequence[Run], sources: Sources, *, faces: bool = True, clips: int = 2) -> "Figure | None":
    """The same clips at every rate of a sweep, on the face and on the map; nothing without maps and tokens."""
    rows = []
    for key, tokens in rate_tokens(runs, clips=clips):
        flow_map = sources.map_of(key)
        grounds = (sources.face_of(key) if faces else None, None if flow_map is None else flow_picture(flow_map))
        rows += [(ground, tokens) for ground in grounds if ground is not None]
    if not rows:
        return None
    figure, grid = _picture_grid(len(rows), len(runs), left=0.05)
    for (ground, tokens), line in zip(rows, grid, strict=True):
        for each, axes in zip(tokens, line, strict=True):
            picture = integrated_picture(ground, each.groups, each.grid)
            show_picture(axes, picture, f"{100 * each.rate:.0f} %", outline_overlay(each), **PRINT)
    return figure


def show_picture(
    axes: "Axes",
    picture: np.ndarray,
    caption: str,
    *overlays: Overlay,
    lines: float = 0.85,
    words: float = 9,
    captions: float = 9.5,
) -> None:
    """A picture under its caption, with overlays; `lines` scales their widths to points, the others are font sizes."""
    grid = overlays[0].grid if overlays else 1
    smooth = "antialiased" if picture.shape[0] > SMALLEST_FACE else "nearest"
    axes.imshow(picture, extent=(0, grid, grid, 0), interpolation=smooth)
    for overlay in overlays:
        draw_overlay(axes, overlay, lines=lines, words=words)
    axes.set_title(caption, fontsize=captions, color=SOFT, pad=3)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_color(PALE)


def draw_overlay(axes: "Axes", overlay: Overlay, *, lines: float, words: float) -> None:
    """Draw tints, lattice, outlines and words over a picture whose axes count patches."""
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgb
    from matplotlib.patheffects import withStroke

    grid = overlay.grid
    layer = np.zeros((grid * grid, 4))  # RGBA of each patch
    for mark in overlay.marks:
        layer[list(mark.patches)] = (*to_rgb(mark.colour), mark.tint)
    axes.imshow(layer.reshape(grid, grid, 4), interpolation="nearest", extent=(0, grid, grid, 0))
    if overlay.lattice:
        for place in range(1, grid):
            axes.axhline(place, color="white", lw=0.6, alpha=0.8)
            axes.axvline(place, color="white", lw=0.6, alpha=0.8)
    for mark in overlay.marks:
        sides = borders(mark.patches, grid) if mark.line else []
        layers = [("white", mark.line + 2.5), (mark.colour, mark.line)] if mark.halo else [(mark.colour, mark.line)]
        for colour, width in layers if sides else ():
            axes.add_collection(LineCollection(sides, colors=colour, linewidths=lines * width, capstyle="projecting"))
    rim = [withStroke(linewidth=0.25 * words, foreground=INK)]
    for mark in overlay.marks:
        for x, y in _word_places(mark, grid) if mark.word else ():
            across, up = ("left", "top") if mark.in_corner else ("center", "center")
            look: dict[str, Any] = {"fontsize": words, "color": "white", "weight": "bold", "path_effects": rim}
            axes.text(x, y, mark.word, ha=across, va=up, **look)


def save_figures(figures: dict[str, "Figure"], folder: Path, *, force: bool = False) -> list[Path]:
    """Write each figure as `name.png` and `name.svg`, the same bytes for the same figure."""
    import matplotlib

    written = []
    for name, figure in figures.items():
        for kind, extra in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
            path = folder / f"{name}.{kind}"
            check_file(real(path), force=force)
            with whole_file(path) as temporary, matplotlib.rc_context({"svg.hashsalt": "epir", "svg.fonttype": "none"}):
                figure.savefig(temporary, format=kind, dpi=DOTS_PER_INCH, metadata=extra)
            written.append(path)
    return written


def new_figure(width: float, height: float, *, fitted: bool = True) -> "Figure":
    """An empty figure of so many inches, known to no pyplot; `fitted` makes room for labels by itself."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained" if fitted else None, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def _picture_grid(rows: int, columns: int, *, left: float) -> "tuple[Figure, np.ndarray]":
    """Axes for square pictures of 1.25 inches with a line of words above each, and `left` inches before the first."""
    side, gap, words = 1.25, 0.08, 0.24
    width, height = left + columns * (side + gap), rows * (side + words) + 0.04
    figure = new_figure(width, height, fitted=False)
    room = {"left": left / width, "right": 1 - gap / width, "top": 1 - words / height, "bottom": 0.04 / height}
    grid = figure.subplots(
        rows, columns, squeeze=False, gridspec_kw={**room, "wspace": gap / side, "hspace": words / side}
    )
    return figure, grid


def _word_places(mark: Mark, grid: int) -> list[tuple[float, float]]:
    if mark.in_corner:
        first = min(mark.patches)
        return [(first % grid + 0.09, first // grid + 0.08)]
    return [(patch % grid + 0.5, patch // grid + 0.5) for patch in mark.patches]


def _draw_line(axes: "Axes", line: Line, colour: str) -> None:
    look: dict[str, Any] = {
        "linestyle": "--" if line.kind == "best_epoch" else "-",
        "marker": "o" if line.marked else None,
    }
    axes.plot(line.x, line.y, color=colour, linewidth=1.6, markersize=4, label=line.name, clip_on=False, **look)
    if line.low:
        axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.15, linewidth=0)


def _plain(axes: "Axes") -> None:
    """Only the marks that help to read a value."""
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.spines["bottom"].set_color(PALE)
    axes.grid(axis="y", color=PALE, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelsize=8, colors=SOFT)


def _shades(colour: str) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("share", ["#ffffff", colour])
