"""Line charts as SVG inside the page: they take the page's font and colours, light and dark.

The same `Chart` is drawn for print by `figures.py`.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from epir.reports.markup import Markup, element, join
from epir.reports.tables import Kind

WIDTH, HEIGHT = 420, 250  # of the viewBox; the page scales it
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 12, 40
MOST_POINTS = 150

Place = Callable[[float, float], tuple[float, float]]  # values -> place on the page


@dataclass(frozen=True)
class Line:
    """One line with its points; `low` and `high` bound the band around it, if there is one."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    kind: Kind = ""
    marked: bool = False  # a dot at each point: few points, not a curve


@dataclass(frozen=True)
class Chart:
    """Lines over one axis."""

    name: str
    title: str
    x_title: str
    y_title: str
    lines: tuple[Line, ...]
    y_range: tuple[float, float] | None = None
    note: str = ""

    def bounds(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The range of x and of y that shows every point."""
        xs = [x for line in self.lines for x in line.x]
        ys = [y for line in self.lines for y in (*line.y, *line.low, *line.high) if math.isfinite(y)]
        across = (min(xs, default=0.0), max(xs, default=1.0))
        return _opened(across), self.y_range or _opened((min([0.0, *ys]), max(ys, default=1.0) * 1.05))


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


def _opened(bounds: tuple[float, float]) -> tuple[float, float]:
    """Bounds that are not one point, so that something can be drawn between them."""
    low, high = bounds
    return (low, high) if high - low > 1e-12 else (low - 0.5, high + 0.5)
