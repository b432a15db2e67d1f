"""Bars in HTML: the accuracy on each person, and scores with their intervals on one scale."""

from collections.abc import Sequence
from dataclasses import dataclass

from epir.reports.markup import Markup, element, join
from epir.reports.results import PersonScore
from epir.reports.tables import Kind
from epir.reports.wording import LEAKS, STRICT, count


@dataclass(frozen=True)
class Mark:
    """One score on a scale from 0 to 1; `bounds` is its interval, if it has one."""

    label: str
    value: float
    kind: Kind
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True)
class Strip:
    """One line of a scale: a title and the marks on it."""

    title: str
    marks: tuple[Mark, ...]


def strips(lines: Sequence[Strip], *, title: str, chance: float | None = None) -> Markup:
    """Scores as dots on a common scale from 0 to 1, intervals as bars behind them."""
    rows = [
        element(
            "div",
            element("span", line.title, class_="name"),
            element("span", *_marks(line, chance), class_="track"),
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
    """One bar per person: strict accuracy as its length, best epoch as a tick; the corpus is named if there are two."""
    corpora = {score.person.partition("/")[0] for score in scores}
    rows = [
        element(
            "li",
            element("span", _short(score.person, corpora), class_="name", title=score.person),
            element(
                "span",
                element("i", class_="bar", style=f"width:{100 * score.strict:.1f}%"),
                element("i", class_="tick", style=f"left:{100 * score.best_epoch:.1f}%"),
                class_="track",
                title=f"{STRICT} {score.strict:.3f}, {LEAKS} {score.best_epoch:.3f}",
            ),
            element("span", f"{score.strict:.2f}", class_="value"),
            element("span", count(score.clips, "clip"), class_="clips"),
        )
        for score in scores
    ]
    return element("ol", *rows, class_="people")


def _short(person: str, corpora: set[str]) -> str:
    """A person's name without the corpus, where there is only one."""
    return person if len(corpora) > 1 else person.partition("/")[2] or person


def _marks(line: Strip, chance: float | None) -> list[str]:
    parts: list[str] = []
    if chance is not None:
        parts.append(element("i", class_="chance", style=f"left:{100 * chance:.1f}%"))
    for mark in line.marks:
        if mark.bounds:
            low, high = mark.bounds
            parts.append(
                element(
                    "i", class_=f"range {mark.kind}", style=f"left:{100 * low:.1f}%;width:{100 * (high - low):.1f}%"
                )
            )
    for mark in line.marks:
        parts.append(
            element(
                "i",
                class_=f"dot {mark.kind}",
                style=f"left:{100 * mark.value:.1f}%",
                title=f"{mark.label} {mark.value:.4f}",
            )
        )
    return parts


def _legend(lines: Sequence[Strip], chance: float | None) -> Markup:
    labels = {mark.label: mark.kind for line in lines for mark in line.marks}
    keys = [element("span", element("i", class_=f"dot {kind}"), label) for label, kind in labels.items()]
    if any(mark.bounds for line in lines for mark in line.marks):
        keys.append(element("span", element("i", class_="range strict"), "95 % interval"))
    if chance is not None:
        keys.append(element("span", element("i", class_="chance"), "guessing"))
    return element("span", join(*keys), class_="legend")
