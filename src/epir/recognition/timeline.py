"""The timeline of a video as a figure: the motion of everyone's face, with reported and rejected movements.

Axes: n frames
"""

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill, shorten
from typing import TYPE_CHECKING

import numpy as np

from epir.recognition.answer import Answer
from epir.reports.overlays import INK, PALE, SOFT, new_figure
from epir.spotting.regions import EYES, GROUPS
from epir.spotting.timeline import Timeline
from epir.spotting.visibility import visibility_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT, HEAD = 10.5, 2.5, 0.9  # inches: width of the figure, height of a person's row and of the title
MOST_PEOPLE = 5  # rows: the people who were tracked longest
LETTERS = 120  # per line of the title
ROWS = 3  # rows of labels above a curve
LETTER = 0.0072  # share of the curve's width that a letter of a label takes
USUAL = 0.995  # share of the frames that must fit the height: spikes of the tracking are cut off
FACE, LIDS, MOVEMENT, HIDDEN = "#0a5c9e", "#8a3f7d", "#00735a", "#a8480b"
OTHERS = {"blink": LIDS, "head": "#8a6d00"}
REJECTED = "#5a6673"  # for any other reason


def draw_timeline(answer: Answer) -> "Figure":
    """Draw the motion of every face over the whole video, with reported and rejected movements."""
    people = answer.timelines
    if not people:
        figure = new_figure(WIDTH, HEIGHT)
        axes = figure.subplots()
        words = "onset and apex were given: nothing was spotted"
        axes.text(0.5, 0.5, words if answer.found else f"{answer.label}: no motion to draw", ha="center", color=SOFT)
        axes.set_axis_off()
        return figure
    longest = sorted(people, key=lambda track: -len(people[track].numbers))[:MOST_PEOPLE]
    figure = new_figure(WIDTH, HEAD + HEIGHT * len(longest))
    places: Sequence[Axes] = np.atleast_1d(figure.subplots(len(longest), sharex=True)).tolist()
    span = answer.span
    for axes, track in zip(places, sorted(longest), strict=True):
        _draw_person(axes, answer, track, span)
        if len(people) > 1:
            axes.set_ylabel(f"person {track}\nmotion, % of the face", fontsize=9, color=SOFT)
    places[-1].set_xlabel("seconds", fontsize=9, color=SOFT)
    lines = [timeline_title(answer), answer.visible.text]
    figure.suptitle("\n".join(fill(line, LETTERS) for line in lines), fontsize=10.5, color=INK, x=0.012, ha="left")
    figure.set_label(". ".join(lines))
    return figure


def timeline_title(answer: Answer) -> str:
    """How many movements were found in how many seconds, and how long each person was tracked."""
    count = sum(len(each.movements) for each in answer.timelines.values())
    words = {0: "no micro-expression found", 1: "1 movement"}.get(count, f"{count} movements")
    first, last = answer.span
    name = shorten(Path(answer.input).name or answer.input, 50, placeholder="...")
    followed = f"; {answer.followed}" if answer.followed else ""
    seen, length = answer.visible, f"{last - first:.1f} s"
    if not count and not seen.judged:
        return f"{name}: nothing could be judged in {length}{followed}"
    if not count and seen.hidden:
        return f"{name}: {words} in the {seen.judged:.1f} of {length} that could be judged{followed}"
    return f"{name}: {words} in {length}{followed}"


def place_labels(labels: Sequence[tuple[float, str]], span: tuple[float, float]) -> list[int | None]:
    """A row for each label (seconds, word), so that labels do not overlap; None if no row has room.

    Earlier labels are placed first.
    """
    length = max(span[1] - span[0], 1e-3)
    occupied: list[list[tuple[float, float]]] = [[] for _ in range(ROWS)]
    rows: list[int | None] = []
    for seconds, word in labels:
        half = LETTER * length * (len(word) + 2) / 2
        left, right = seconds - half, seconds + half
        free = (row for row in range(ROWS) if all(right < low or left > high for low, high in occupied[row]))
        row = next(free, None)
        rows.append(row)
        if row is not None:
            occupied[row].append((left, right))
    return rows


def _draw_person(axes: "Axes", answer: Answer, track: int, span: tuple[float, float]) -> None:
    timeline = answer.timelines[track]
    seconds = timeline.stamps
    eyes = 100 * timeline.motion[:, GROUPS.index(EYES)]
    face = 100 * timeline.face
    least = 100 * timeline.level
    strongest = max((100 * each.strength for each in timeline.movements), default=0.0)
    top = 1.15 * max(float(np.quantile(np.maximum(face, eyes), USUAL)), 1.3 * strongest, 2.2 * least)
    broken = np.flatnonzero(np.diff(seconds, prepend=seconds[0]) > 0.5)  # no line across a gap without a face
    for values, colour, width, name in ((eyes, LIDS, 0.9, "eyes"), (face, FACE, 1.4, "face without the eyes")):
        axes.plot(np.insert(seconds, broken, np.nan), np.insert(values, broken, np.nan), color=colour, lw=width,
                  alpha=0.55 if name == "eyes" else 1.0, label=name)  # fmt: skip
    axes.axhline(least, color=SOFT, lw=0.8, ls=":", label="minimum amplitude of a movement")
    for number, hidden in enumerate(visibility_of([timeline], span).hidden):
        axes.axvspan(hidden.start, hidden.stop, facecolor="none", edgecolor=(HIDDEN, 0.4), hatch="///", lw=0, zorder=0,
                     label="could not be judged" if number == 0 else None)  # fmt: skip
    highest = float(np.maximum(face, eyes).max(initial=0.0))
    if highest > top:
        at = float(seconds[int(np.maximum(face, eyes).argmax())])
        side = "right" if at > sum(span) / 2 else "left"
        axes.text(at, 0.97 * top, f"up to {highest:.1f} %", ha=side, va="top", fontsize=7.5, color=SOFT)
    axes.set_ylim(0, top)
    axes.set_xlim(span[0], max(span[1], span[0] + 1e-3))
    _draw_marks(axes, answer, track, timeline, span)
    axes.set_ylabel("motion, % of the face", fontsize=9, color=SOFT)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(PALE)
    axes.tick_params(colors=SOFT, labelsize=8.5)
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), labelcolor=INK)


def _draw_marks(axes: "Axes", answer: Answer, track: int, timeline: Timeline, span: tuple[float, float]) -> None:
    """Mark reported and rejected movements; labels stand above the curve where there is room."""
    labels = {each.onset: each.label for each in answer.all if (each.track or 0) == track}
    marks = [(each, labels.get(each.onset, "movement"), MOVEMENT) for each in timeline.movements]
    others = sorted(timeline.others, key=lambda each: -each.strength)
    marks += [(each, each.kind, OTHERS.get(each.kind, REJECTED)) for each in others]
    rows = place_labels([(each.seconds[1], word) for each, word, _ in marks], span)
    first = next((each for each, _, colour in marks if colour != MOVEMENT), None)
    for (movement, word, colour), row in zip(marks, rows, strict=True):
        onset, apex, offset = movement.seconds
        is_reported = colour == MOVEMENT
        axes.axvspan(onset, offset, color=colour, alpha=0.18 if is_reported else 0.12, lw=0,
                     label="rejected" if movement is first else None)  # fmt: skip
        if is_reported:
            axes.axvline(apex, color=colour, lw=1.2)
        if row is not None:
            axes.text(apex, 1.02 + 0.075 * row, word, transform=axes.get_xaxis_transform(), ha="center", color=colour,
                      fontsize=8.5 if is_reported else 7.5, weight="bold" if is_reported else "normal")  # fmt: skip
