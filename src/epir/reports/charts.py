"""Charts on the page, as SVG and HTML: they take the page's font and colours, light and dark."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from epir.core.table import MISSING, Kind
from epir.evaluation.table import COLUMN_NAMES, LEVEL, corpus_title, kind_of
from epir.reports.markup import Markup, count, element, join, tag
from epir.reports.results import Chart, Confusion, Line, PersonScore, clips_text

WIDTH, HEIGHT = 420, 250  # of the viewBox; the page scales it
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 12, 40
MOST_POINTS = 150
DARK_FROM = 0.72  # share of a matrix's row from which light letters are easier to read

Place = Callable[[float, float], tuple[float, float]]  # values -> place on the page


@dataclass(frozen=True)
class Dot:
    """One score on a scale from 0 to 1; `bounds` is its interval, if it has one."""

    label: str
    value: float
    kind: Kind
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True)
class Strip:
    """One line of a scale: a title and the dots on it."""

    title: str
    dots: tuple[Dot, ...]


def chart_figure(chart: Chart) -> Markup:
    """The chart with its title and its legend as one `<figure>`."""
    legend = [
        element("span", element("i", class_=f"swatch {style(line, n)}"), line.name)
        for n, line in enumerate(chart.lines)
    ]
    return element(
        "figure",
        element("figcaption", element("b", chart.title)),
        chart_svg(chart),
        element("p", *legend, class_="legend"),
        element("p", chart.note, class_="note") if chart.note else Markup(),
        class_="chart",
    )


def chart_svg(chart: Chart) -> Markup:
    """The axes and the lines."""
    across, up = chart.bounds()

    def place(x: float, y: float) -> tuple[float, float]:
        return (
            LEFT + (x - across[0]) / (across[1] - across[0]) * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - (y - up[0]) / (up[1] - up[0]) * (HEIGHT - TOP - BOTTOM),
        )

    parts: list[str] = []
    for value in ticks(*up, 5):
        _, y = place(across[0], value)
        parts.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid"))
        parts.append(element("text", f"{value:g}", x=LEFT - 7, y=f"{y + 4:.1f}", text_anchor="end"))
    for value in ticks(*across, 6):
        x, _ = place(value, up[0])
        parts.append(element("text", f"{value:g}", x=f"{x:.1f}", y=HEIGHT - BOTTOM + 17, text_anchor="middle"))
    parts.append(
        element("text", chart.x_title, x=(LEFT + WIDTH - RIGHT) / 2, y=HEIGHT - 5, text_anchor="middle", class_="axis")
    )
    middle = (TOP + HEIGHT - BOTTOM) / 2
    turned = f"rotate(-90 11 {middle:g})"
    parts.append(
        element("text", chart.y_title, x=11, y=f"{middle:g}", text_anchor="middle", transform=turned, class_="axis")
    )
    for number, line in enumerate(chart.lines):
        parts += _line_parts(line, style(line, number), place)
    return element(
        "svg",
        *parts,
        viewbox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=f"{chart.title}: {chart.y_title} against {chart.x_title}",
    )


def style(line: Line, number: int) -> str:
    """The class that colours a line: strict and best epoch look the same in every chart."""
    return line.kind or f"line{number % 4}"


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers from `low` to `high`, at most about `most` of them.

    >>> ticks(0, 1, 5)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(n * step, 10) for n in range(first, last + 1)]


def strips(lines: Sequence[Strip], *, title: str, chance: float | None = None) -> Markup:
    """Scores as dots on a common scale from 0 to 1, intervals as bars behind them."""
    rows = [
        element(
            "div",
            element("span", line.title, class_="name"),
            element("span", *_dots(line, chance), class_="track"),
            class_="strip",
        )
        for line in lines
    ]
    scale = element(
        "span",
        *(element("i", f"{place / 10:g}", style=f"left:{10 * place}%") for place in range(0, 11, 2)),
        class_="track scale",
    )
    foot = element("div", element("span", "", class_="name"), scale, class_="strip foot")
    return element(
        "figure", element("figcaption", element("b", title), _legend(lines, chance)), *rows, foot, class_="strips"
    )


def person_bars(scores: Sequence[PersonScore]) -> Markup:
    """One bar per person: strict accuracy as its length, best epoch as a tick; with the corpus if there are several."""
    corpora = {score.person.partition("/")[0] for score in scores}
    rows = [
        element(
            "li",
            element("span", _short(score.person, corpora), class_="name", title=score.person),
            element(
                "span",
                element("i", class_="bar", style=f"width:{100 * score.strict:.1f}%"),
                *_tick(score),
                class_="track",
                title=_person_title(score),
            ),
            element("span", f"{score.strict:.2f}", class_="value"),
            element("span", count(score.clips, "clip"), class_="clips"),
        )
        for score in scores
    ]
    return element("ol", *rows, class_="people")


def matrix(confusion: Confusion) -> Markup:
    """One matrix: rows are the truth, columns the answers; share of the row large, clips small."""
    title = corpus_title(confusion.part)
    label = COLUMN_NAMES[confusion.column]
    head = element("tr", element("td"), *(element("th", name, scope="col") for name in confusion.classes))
    rows = [
        element("tr", element("th", name, scope="row"), *map(_cell, confusion.rates[number], confusion.counts[number]))
        for number, name in enumerate(confusion.classes)
    ]
    caption = element("caption", element("b", title), " ", tag(label, kind_of(confusion.column)))
    table = element(
        "table", caption, element("thead", head), element("tbody", *rows), class_=f"matrix {kind_of(confusion.column)}"
    )
    return element(
        "div", table, class_="scroll", tabindex=0, role="region", aria_label=f"Confusion matrix, {title}, {label}"
    )


def _line_parts(line: Line, look: str, place: Place) -> list[str]:
    keep = _thinned(len(line.x))
    shown = [n for n in keep if math.isfinite(line.y[n])]
    points = [place(line.x[n], line.y[n]) for n in shown]
    parts: list[str] = []
    if line.low:
        edge = [place(line.x[n], line.high[n]) for n in keep] + [place(line.x[n], line.low[n]) for n in reversed(keep)]
        parts.append(element("polygon", points=_points(edge), class_=f"band {look}"))
    parts.append(element("polyline", element("title", line.name), points=_points(points), class_=f"curve {look}"))
    if line.marked or len(points) == 1:
        for n, (x, y) in zip(shown, points, strict=True):
            label = element("title", f"{line.name}: {line.y[n]:.4f} at {line.x[n]:g}")
            parts.append(element("circle", label, cx=f"{x:.1f}", cy=f"{y:.1f}", r=4, class_=f"dot {look}"))
    return [join(*parts)]


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _thinned(length: int) -> list[int]:
    """Indices of at most `MOST_POINTS` points, the first and the last among them."""
    step = max(1, math.ceil(length / MOST_POINTS))
    kept = list(range(0, length, step))
    return kept if not length or kept[-1] == length - 1 else [*kept, length - 1]


def _tick(score: PersonScore) -> list[str]:
    if score.best_epoch is None:
        return []
    return [element("i", class_="tick", style=f"left:{100 * score.best_epoch:.1f}%")]


def _person_title(score: PersonScore) -> str:
    strict = f"{COLUMN_NAMES['strict']} {score.strict:.3f}"
    return strict if score.best_epoch is None else f"{strict}, {COLUMN_NAMES['best_epoch']} {score.best_epoch:.3f}"


def _short(person: str, corpora: set[str]) -> str:
    """A person's name without the corpus, where there is only one."""
    return person if len(corpora) > 1 else person.partition("/")[2] or person


def _dots(line: Strip, chance: float | None) -> list[str]:
    parts: list[str] = []
    if chance is not None:
        parts.append(element("i", class_="chance", style=f"left:{100 * chance:.1f}%"))
    for dot in line.dots:
        if dot.bounds:
            low, high = dot.bounds
            parts.append(
                element("i", class_=f"range {dot.kind}", style=f"left:{100 * low:.1f}%;width:{100 * (high - low):.1f}%")
            )
    for dot in line.dots:
        parts.append(
            element(
                "i",
                class_=f"dot {dot.kind}",
                style=f"left:{100 * dot.value:.1f}%",
                title=f"{dot.label} {dot.value:.4f}",
            )
        )
    return parts


def _legend(lines: Sequence[Strip], chance: float | None) -> Markup:
    labels = {dot.label: dot.kind for line in lines for dot in line.dots}
    keys = [element("span", element("i", class_=f"dot {kind}"), label) for label, kind in labels.items()]
    if any(dot.bounds for line in lines for dot in line.dots):
        keys.append(element("span", element("i", class_="range strict"), f"{LEVEL} interval"))
    if chance is not None:
        keys.append(element("span", element("i", class_="chance"), f"chance: {chance:.2f}"))
    return element("span", join(*keys), class_="legend")


def _cell(rate: float, clips: float) -> Markup:
    if np.isnan(rate):
        return element("td", MISSING, title="this class has no clips here", class_="empty")
    return element(
        "td",
        element("b", f"{100 * rate:.0f} %"),
        element("small", clips_text(clips)),
        style=f"--share:{rate:.3f}",
        class_="full" if rate >= DARK_FROM else None,
    )
