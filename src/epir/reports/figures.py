"""Every figure of a report, drawn with matplotlib: SVG inside the page, PNG and SVG as files.

pyplot is not used, so no global state changes. Inside the page the colours in `THEME` become the variables of
`style.css`, so that a figure follows the reader's light or dark mode.
"""

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from epir.core.files import atomic_write
from epir.core.output import check_file, resolved
from epir.core.table import MISSING
from epir.core.words import counted
from epir.evaluation.table import COLUMN_NAMES, LEVEL, column_kind, corpus_title
from epir.models.predict import Tokens
from epir.reports import overlays
from epir.reports.markup import Markup, data_url
from epir.reports.overlays import INK, PALE, SMALLEST_FACE, SOFT, Overlay, draw_overlay, draw_picture, new_figure
from epir.reports.pictures import (
    Sources,
    flow_picture,
    grey_picture,
    integrated_picture,
    jpeg,
    map_pictures,
    motion_picture,
    png,
)
from epir.reports.results import Chart, Confusion, ExamplePrediction, Line, PersonScore, Strip, clips_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPER = "#fefefe"  # unlike pure white, turns dark on a dark page
COLOURS = {"strict": "#0a5c9e", "best_epoch": "#a8480b", "published": SOFT}
OTHERS = (INK, "#00735a", "#8a3f7d", SOFT)
THEME = {INK: "--ink", SOFT: "--soft", PALE: "--line", PAPER: "--paper", OTHERS[1]: "--third", OTHERS[2]: "--fourth"}
THEME |= {COLOURS["strict"]: "--strict", COLOURS["best_epoch"]: "--leaks"}
AROUND_PICTURES = (SOFT, PALE)  # captions and frames; colours inside a picture never change
LIGHT_LETTERS_FROM = 0.6  # share of a matrix's row
DOTS_PER_INCH, PAGE_DOTS_PER_INCH = 200, 144
RIM = "rim"  # the class of white letters with a dark rim
TILE_GAP, CAPTION = 0.07, 0.2  # of a tile's side
LEGEND: dict[str, Any] = {
    **{"loc": "upper left", "borderaxespad": 0, "frameon": False},
    **{"fontsize": 8, "labelcolor": SOFT, "labelspacing": 0.3},
}


@dataclass(frozen=True)
class Tile:
    """A picture with overlays and a caption."""

    picture: np.ndarray  # (H, W, 3) uint8
    caption: str
    overlays: tuple[Overlay, ...] = ()


def draw_confusions(confusions: Sequence[Confusion]) -> "Figure":
    """Draw the matrices of one column side by side: rows are the truth; shares of the row in bold, clips below."""
    classes, column = confusions[0].classes, confusions[0].column
    size, left, top, bottom = len(classes), 0.075 * max(map(len, classes)) + 0.25, 0.62, 0.08
    width, height = left + 0.64 * size + 0.15, top + 0.5 * size + bottom
    figure = new_figure(width * len(confusions), height, fitted=False)
    for number, confusion in enumerate(confusions):
        axes = _axes(figure, width * number + left, bottom, 0.64 * size, 0.5 * size)
        axes.set_xlim(-0.5, size - 0.5)
        axes.set_ylim(size - 0.5, -0.5)
        for (row, answer), rate in np.ndenumerate(confusion.rates):
            _draw_cell(
                axes, row, answer, float(rate), float(confusion.counts[row, answer]), COLOURS[column_kind(column)]
            )
        axes.xaxis.tick_top()
        axes.set_xticks(range(size), map(_plain, classes), rotation=20 if size > 3 else 0)
        axes.set_yticks(range(size), map(_plain, classes))
        axes.tick_params(length=0, labelsize=7.5, pad=2, colors=INK)
        axes.spines[:].set_visible(False)
        place = (number + 0.02) / len(confusions)
        figure.text(place, 1 - 0.05 / height, corpus_title(confusion.part), va="top", weight="bold", color=INK, size=9)
        name = f"{COLUMN_NAMES[column]}; rows: truth, columns: answer"
        figure.text(place, 1 - 0.22 / height, name, va="top", color=COLOURS[column_kind(column)], size=7.5)
    figure.set_label(" ".join(map(_confusion_words, confusions)))
    return figure


def draw_chart(chart: Chart) -> "Figure":
    """Draw lines with their bands over a common axis, the legend below."""
    legend = 0.18 * len(chart.lines) + 0.2
    figure = new_figure(4.4, 2.75 + legend, fitted=False)
    axes = _axes(figure, 0.55, 0.45 + legend, 3.7, 2.0)
    for number, line in enumerate(chart.lines):
        _draw_line(axes, line, COLOURS.get(line.kind, OTHERS[number % len(OTHERS)]))
    across, up = chart.bounds()
    axes.set_xlim(*across)
    axes.set_ylim(*up)
    _simplify(axes)
    axes.set_title(chart.title, fontsize=9.5, color=INK, loc="left", x=-0.13, weight="bold")
    axes.set_xlabel(chart.x_title, fontsize=8.5, color=SOFT)
    axes.set_ylabel(chart.y_title, fontsize=8.5, color=SOFT)
    axes.legend(bbox_to_anchor=(-0.02, -0.19), **LEGEND)
    figure.set_label(f"{chart.title}: {chart.y_title} against {chart.x_title}")
    return figure


def draw_people(scores: Sequence[PersonScore], main: str = COLUMN_NAMES["strict"]) -> "Figure":
    """Draw one bar of strict accuracy per person, in the given order; best epoch as a tick."""
    names = [score.person if len(score.person) < 20 else f"{score.person[:18]}…" for score in scores]
    rows, left = 0.19 * len(scores), 0.066 * max(map(len, names)) + 0.1
    figure = new_figure(left + 2.7, rows + 0.5, fitted=False)
    axes = _axes(figure, left, 0.45, 1.75, rows)
    places = np.arange(len(scores))
    axes.barh(places, [score.strict for score in scores], color=COLOURS["strict"], height=0.62, clip_on=False)
    ticks = [(score.best_epoch, place) for place, score in enumerate(scores) if score.best_epoch is not None]
    for best, place in ticks:
        axes.plot((best, best), (place - 0.45, place + 0.45), "--", color=COLOURS["best_epoch"], lw=1.3, clip_on=False)
    for place, score in enumerate(scores):
        axes.text(1.06, place, f"{score.strict:.2f}", va="center", size=7.5, color=INK)
        axes.text(1.52, place, counted(score.clips, "clip"), va="center", ha="right", size=7.5, color=SOFT)
    axes.set_yticks(places, map(_plain, names))
    axes.set_ylim(len(scores) - 0.5, -0.5)
    axes.set_xlim(0, 1)
    _simplify(axes, lines=False)
    axes.tick_params(axis="y", labelsize=7.5, colors=INK)
    axes.set_xticks([0, 0.5, 1])
    tick = f"; dashes: {COLUMN_NAMES['best_epoch']}" if ticks else ""
    axes.set_xlabel(f"accuracy, {main}{tick}", fontsize=7.5, color=SOFT)
    figure.set_label("Accuracy by person: " + ", ".join(f"{score.person} {score.strict:.2f}" for score in scores))
    return figure


def draw_strips(strips: Sequence[Strip], *, title: str, chance: float) -> "Figure":
    """Draw scores as dots on a common scale from 0 to 1, intervals as bars behind them."""
    from matplotlib.lines import Line2D

    rows, left = 0.27 * len(strips), min(0.072 * max(len(strip.title) for strip in strips) + 0.2, 2.4)
    figure = new_figure(left + 4.3, rows + 0.95, fitted=False)
    axes = _axes(figure, left, 0.25, 4.15, rows)
    handles: dict[str, Any] = {}
    interval: dict[str, Any] = {}
    for place, strip in enumerate(strips):
        axes.axhline(place, color=PALE, lw=0.8)
        for dot in strip.dots:
            if dot.bounds:
                look: dict[str, Any] = {"color": COLOURS[dot.kind], "alpha": 0.3, "lw": 4.5, "solid_capstyle": "round"}
                axes.plot(dot.bounds, (place, place), **look)
                interval[f"{LEVEL} interval"] = Line2D([], [], **look)
        for dot in strip.dots:
            hollow = dot.kind == "best_epoch"
            marker, size = ("D", 4.5) if dot.kind == "published" else ("o", 6)
            inside, rim = (PAPER, 1.4) if hollow else (COLOURS[dot.kind], 0)
            look = {"marker": marker, "ms": size, "ls": "", "color": COLOURS[dot.kind], "mfc": inside, "mew": rim}
            (handles[dot.label],) = axes.plot(dot.value, place, clip_on=False, zorder=5, **look)
    handles |= interval
    handles[f"chance: {chance:.2f}"] = axes.axvline(chance, color=SOFT, lw=1, ls=":")
    axes.set_xlim(0, 1)
    axes.set_ylim(len(strips) - 0.5, -0.5)
    _simplify(axes, lines=False)
    axes.set_yticks(range(len(strips)), [_plain(strip.title) for strip in strips])
    axes.tick_params(axis="y", labelsize=8.5, colors=INK)
    height = rows + 0.95
    figure.text(0.01, 1 - 0.06 / height, title, va="top", weight="bold", color=INK, size=9.5)
    look = {**LEGEND, "ncols": 3, "columnspacing": 1.4, "handletextpad": 0.5}
    figure.legend(handles.values(), handles.keys(), bbox_to_anchor=(0.0, 1 - 0.24 / height), **look)
    words = [f"{strip.title} " + ", ".join(f"{dot.label} {dot.value:.4f}" for dot in strip.dots) for strip in strips]
    figure.set_label(f"{title}: {'; '.join(words)}")
    return figure


def example_tiles(
    example: ExamplePrediction, flow_map: np.ndarray | None, face: np.ndarray | None = None
) -> list[Tile]:
    """Return flow, u, v and strain; the merged tokens and each head over the motion; then the same over the face."""
    tokens = example.tokens
    tiles = (
        [Tile(picture, caption) for caption, picture in map_pictures(flow_map).items()] if flow_map is not None else []
    )
    if tokens is not None:
        ground = grey_picture(np.ones((1, 1))) if flow_map is None else motion_picture(flow_map)
        caption = f"merged to {len(tokens.groups)}" if tokens.merged else f"{len(tokens.groups)} tokens"
        tiles.append(Tile(ground, caption, (overlays.merged_overlay(tokens),)))
        for head, weights in enumerate(tokens.rollout):
            tiles.append(
                Tile(ground, f"head {head + 1}, {overlays.heat_range(weights)}", overlays.head_overlays(tokens, head))
            )
    if face is not None:
        tiles.append(Tile(face, "apex"))
        if tokens is not None:
            tiles.append(Tile(face, "merged" if tokens.merged else "tokens", (overlays.merged_overlay(tokens),)))
            heat = overlays.heat_overlay(tokens.attention, tokens.grid)
            tiles.append(Tile(face, f"all, {overlays.heat_range(tokens.attention)}", (heat,)))
            tiles += [Tile(face, "selected", (overlays.selected_overlay(tokens),))] if tokens.selected else []
    return tiles


def integration_tiles(
    clips: Sequence[tuple[str, Sequence[Tokens]]], sources: Sources, *, faces: bool
) -> list[list[Tile]]:
    """Return rows of the same clips at every rate of a sweep, face and map, each token as the mean of its patches."""
    rows = []
    for key, tokens in clips:
        face, flow_map = sources.face_of(key) if faces else None, sources.map_of(key)
        for ground in (face, None if flow_map is None else flow_picture(flow_map)):
            if ground is not None:
                row = []
                for at_rate in tokens:
                    picture = integrated_picture(ground, at_rate.groups, at_rate.grid)
                    row.append(Tile(picture, f"{100 * at_rate.rate:.0f} %", (overlays.outline_overlay(at_rate),)))
                rows.append(row)
    return rows


def draw_tiles(rows: Sequence[Sequence[Tile]], *, titles: Sequence[str] = (), side: float = 1.0) -> "Figure":
    """Draw rows of square pictures of `side` inches below their captions, with `titles` to the left of the rows."""
    from matplotlib.patches import Rectangle

    step, line = 1 + TILE_GAP, 1 + TILE_GAP + CAPTION
    columns, left = max(map(len, rows)), 0.3 if titles else 0.02
    figure = new_figure(side * (columns * step + left), side * line * len(rows), fitted=False)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(-left, columns * step)
    axes.set_ylim(len(rows) * line - CAPTION, -CAPTION)
    axes.set_axis_off()
    for number, row in enumerate(rows):
        for place, tile in enumerate(row):
            at = (place * step, number * line)
            draw_picture(axes, tile.picture, at)
            axes.add_artist(Rectangle(at, 1, 1, fill=False, edgecolor=PALE, linewidth=0.8, clip_on=False))
            for overlay in tile.overlays:
                draw_overlay(axes, overlay, at=at, lines=0.6 * side, words=6.5 * side)
            axes.text(at[0] + 0.5, at[1] - 0.04, tile.caption, ha="center", va="bottom", size=7, color=SOFT)
        if titles:
            look: dict[str, Any] = {"rotation": 90, "ha": "right", "va": "center", "size": 7, "color": INK}
            axes.text(-0.03, number * line + 0.5, _plain(titles[number]), **look)
    figure.set_label("Pictures: " + ", ".join(dict.fromkeys(tile.caption for row in rows for tile in row)))
    return figure


def svg(figure: "Figure", *, pictures: bool = False) -> Markup:
    """Return the figure as SVG, with its label as alt text; in dark mode, `pictures` keep their colours."""
    for word in [word for axes in figure.axes for word in axes.texts]:
        if word.get_path_effects():  # matplotlib would turn its letters into outlines; style.css draws the rim
            word.set_path_effects([])
            word.set_gid(RIM)
    images = [image for axes in figure.axes for image in axes.images]
    for image in images:
        image.set_interpolation("none")  # the browser scales them
    text = io.StringIO()
    _save(figure, text, "svg", dpi=PAGE_DOTS_PER_INCH, facecolor="none")
    drawing = text.getvalue()
    drawing = re.sub(r"<[^!?][^>]*>", _shorter, drawing[drawing.index("<svg ") :])
    drawing = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<g/>|(?<=>)\s+(?=<)", "", drawing, flags=re.DOTALL)
    drawing = re.sub(r"<g>(<path [^>]*/>|<text [^>]*>[^<]*</text>)</g>", r"\1", drawing)
    drawing = _pictures_once(drawing, [np.asarray(image.get_array()) for image in images])
    for colour in AROUND_PICTURES if pictures else THEME:
        drawing = drawing.replace(colour, f"var({THEME[colour]})")
    return Markup(drawing.replace("<svg ", f'<svg role="img" aria-label="{escape(str(figure.get_label()))}" ', 1))


def save_figures(figures: Mapping[str, "Figure"], folder: Path, *, force: bool = False) -> list[Path]:
    """Write each figure as `name.png` and `name.svg`; equal figures give equal bytes."""
    written = []
    for name, figure in figures.items():
        for kind in ("png", "svg"):
            path = folder / f"{name}.{kind}"
            check_file(resolved(path), force=force)
            with atomic_write(path) as temporary:
                _save(figure, temporary, kind, dpi=DOTS_PER_INCH)
            written.append(path)
    return written


def _save(figure: "Figure", where: Any, kind: str, **options: Any) -> None:
    import matplotlib

    extra = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}[kind]
    with matplotlib.rc_context({"svg.hashsalt": "epir", "svg.fonttype": "none"}):
        figure.savefig(where, format=kind, metadata=extra, **options)


def _axes(figure: "Figure", left: float, bottom: float, width: float, height: float) -> "Axes":
    """Add axes at a position in inches."""
    across, up = figure.get_figwidth(), figure.get_figheight()
    axes = figure.add_axes((left / across, bottom / up, width / across, height / up))
    axes.patch.set_visible(False)
    return axes


def _draw_cell(axes: "Axes", row: int, answer: int, rate: float, clips: float, colour: str) -> None:
    from matplotlib.patches import Rectangle

    is_empty = bool(np.isnan(rate))
    look: dict[str, Any] = {"facecolor": PALE if is_empty else colour, "alpha": 0.4 if is_empty else rate, "lw": 0}
    axes.add_artist(Rectangle((answer - 0.48, row - 0.47), 0.96, 0.94, **look))
    letters = PAPER if rate >= LIGHT_LETTERS_FROM else INK
    if is_empty:
        axes.text(answer, row, MISSING, ha="center", va="center", color=SOFT, size=8)
        return
    axes.text(answer, row - 0.02, f"{100 * rate:.0f} %", ha="center", va="bottom", color=letters, size=8, weight="bold")
    axes.text(answer, row + 0.06, clips_text(clips), ha="center", va="top", color=letters, size=7)


def _draw_line(axes: "Axes", line: Line, colour: str) -> None:
    look: dict[str, Any] = {
        "linestyle": "--" if line.kind == "best_epoch" else "-",
        "marker": "o" if line.marked or len(line.x) == 1 else None,
    }
    axes.plot(line.x, line.y, color=colour, linewidth=1.6, markersize=4, label=line.name, clip_on=False, **look)
    if line.low:
        axes.fill_between(line.x, line.low, line.high, color=colour, alpha=0.15, linewidth=0)


def _simplify(axes: "Axes", *, lines: bool = True) -> None:
    """Remove everything but the marks that help to read a value; without `lines`, also axes and grid."""
    axes.spines[:].set_visible(False)
    if lines:
        axes.spines["bottom"].set(visible=True, color=PALE)
        axes.grid(axis="y", color=PALE, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelsize=8, colors=SOFT)


def _plain(name: str) -> str:
    """Escape dollar signs, which would begin a formula."""
    return name.replace("$", r"\$")


def _shorter(match: re.Match[str]) -> str:
    """Shorten a tag of matplotlib's SVG to what a page needs; drop ids that nothing refers to."""
    tag = re.sub(r" xmlns(:xlink)?=\"[^\"]*\"| version=\"1.1\"| transform=\"rotate\(-0 [^\"]*\"", "", match[0])
    tag = re.sub(r"\s+", " ", tag).replace(f' id="{RIM}"', f' class="{RIM}"').replace("xlink:href", "href")
    tag = re.sub(r"^(<g|<image .*?) id=\"[^\"]*\"", r"\1", tag)
    tag = re.sub(r" ?font-family: [^;\"]*;?|; stroke-linejoin: miter", "", tag)
    if "data:" not in tag:
        tag = re.sub(r"(?<=\d\.\d\d)\d+", "", tag)
    return re.sub(r"(?<= d=\")[^\"]*", lambda path: re.sub(r" *([A-Za-z]) *", r"\1", path[0]), tag)


def _pictures_once(drawing: str, pictures: Sequence[np.ndarray]) -> str:
    """Embed each picture once, however often it is shown: faces as JPEG, maps and tints as PNG."""
    names: dict[str, str] = {}
    left = iter(pictures)

    def use(match: re.Match[str]) -> str:
        picture = next(left)
        is_face = len(picture) > SMALLEST_FACE
        url = data_url(jpeg(picture), "image/jpeg") if is_face else data_url(png(picture), "image/png")
        size = f'width="{picture.shape[1]}" height="{picture.shape[0]}"'
        image = f'{size} href="{url}"' if is_face else f'{size} class="pixels" href="{url}"'
        return f'<use href="#{names.setdefault(image, f"i{len(names)}")}" {match[1]}/>'

    drawing = re.sub(r'<image [^>]*(transform="[^"]*")[^>]*>', use, drawing)
    images = "".join(f'<image id="{name}" {image}/>' for image, name in names.items())
    return drawing.replace("<defs></defs>", f"<defs>{images}</defs>" if images else "", 1)


def _confusion_words(confusion: Confusion) -> str:
    rows = []
    for truth, counts in zip(confusion.classes, confusion.counts, strict=True):
        answers = [f"{clips_text(clips)} as {name}" for name, clips in zip(confusion.classes, counts, strict=True)]
        rows.append(f"{truth}: {', '.join(answers)}")
    return f"Confusion matrix, {corpus_title(confusion.part)}, {COLUMN_NAMES[confusion.column]}. {'; '.join(rows)}."
