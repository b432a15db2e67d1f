"""Figures for print, as PNG and SVG: matplotlib figures made without pyplot, so that no state of the program changes.

The page draws the same charts and matrices itself (`charts.py`, `matrices.py`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from epir.core.files import refuse_overwrite, whole_file
from epir.reports.charts import Chart, Line
from epir.reports.results import Confusion, PersonScore
from epir.reports.wording import COLUMNS, LEAKS, STRICT, clips, corpus_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SOFT, PALE = "#1a2028", "#5a6673", "#dbe1e7"
COLOURS = {"strict": "#0a5c9e", "best_epoch": "#a8480b", "printed": SOFT}
OTHERS = (INK, "#00735a", "#8a3f7d", SOFT)
DARK_FROM = 0.6  # share from which white letters are easier to read
DOTS_PER_INCH = 200


def draw_confusions(confusions: Sequence[Confusion]) -> "Figure":
    """The matrices of one column side by side, each row as shares, with the number of clips below."""
    classes = confusions[0].classes
    side = 0.72 * len(classes) + 1.0
    figure = new_figure(side * len(confusions), side + 0.35)
    shades = _shades(COLOURS[confusions[0].column])
    for axes, confusion in zip(np.atleast_1d(figure.subplots(1, len(confusions))), confusions, strict=True):
        axes.imshow(np.nan_to_num(confusion.rates), vmin=0, vmax=1, cmap=shades)
        for (row, column), rate in np.ndenumerate(confusion.rates):
            text = "–" if np.isnan(rate) else f"{rate:.2f}\n{clips(float(confusion.counts[row, column]))}"
            colour = "white" if rate > DARK_FROM else INK
            axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=8, linespacing=1.35)
        axes.set_xticks(range(len(classes)), classes, rotation=30 if len(classes) > 3 else 0)
        axes.set_yticks(range(len(classes)), classes)
        axes.tick_params(length=0, labelsize=8, colors=INK)
        axes.spines[:].set_visible(False)
        axes.set_title(corpus_title(confusion.part), fontsize=9.5, color=INK, loc="left")
        axes.set_xlabel("answer", fontsize=8, color=SOFT)
    figure.axes[0].set_ylabel("truth", fontsize=8, color=SOFT)
    figure.suptitle(COLUMNS[confusions[0].column], fontsize=10, color=COLOURS[confusions[0].column], x=0.01, ha="left")
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
    """One bar per person, the best recognised on top; a tick where best epoch would put it."""
    figure = new_figure(5.0, 0.17 * len(scores) + 0.9)
    axes = figure.subplots()
    places = np.arange(len(scores))
    axes.barh(places, [score.strict for score in scores], color=COLOURS["strict"], height=0.6, label=STRICT)
    axes.plot(
        [score.best_epoch for score in scores], places, "|", color=COLOURS["best_epoch"], ms=7, mew=1.6, label=LEAKS
    )
    axes.set_yticks(places, [f"{score.person} ({score.clips})" for score in scores])
    axes.set_ylim(len(scores) - 0.4, -0.6)
    axes.set_xlim(0, 1.01)
    _plain(axes)
    axes.tick_params(axis="y", labelsize=6.5)
    axes.set_xlabel("accuracy on the person's clips (their number in brackets)", fontsize=8.5, color=SOFT)
    axes.legend(fontsize=7.5, frameon=False, labelcolor=INK, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    return figure


def save_figures(figures: dict[str, "Figure"], folder: Path, *, force: bool = False) -> list[Path]:
    """Write each figure as `name.png` and `name.svg`, the same bytes for the same figure."""
    import matplotlib

    written = []
    for name, figure in figures.items():
        for kind, extra in (("png", {"Software": None}), ("svg", {"Date": None, "Creator": None})):
            path = folder / f"{name}.{kind}"
            refuse_overwrite(path, force=force)
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
