"""The motion of a face over a video, with every movement in it and what was rejected."""

from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np

from epir.reports.figures import INK, PALE, SOFT, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACE, MOVEMENT = "#0a5c9e", "#00735a"
OTHERS = {"blink": "#8a3f7d", "head": "#8a6d00"}
OTHER = "#5a6673"  # rejected for any other reason


def draw_timeline(answer: Any) -> "Figure":
    """The motion of the face over the video, with every movement and what was rejected."""
    figure = new_figure(10.5, 3.4)
    axes = figure.subplots()
    timeline = answer.timeline
    if timeline is None:
        axes.text(0.5, 0.5, "onset and apex were given: nothing was spotted", ha="center", color=SOFT)
        axes.set_axis_off()
        return figure
    seconds = seconds_of(timeline.numbers, timeline)
    axes.plot(
        seconds, 100 * timeline.motion[:, _eyes(timeline)], color=OTHERS["blink"], lw=0.9, alpha=0.55, label="eyes"
    )
    axes.plot(seconds, 100 * timeline.face, color=FACE, lw=1.4, label="face without blinks")
    axes.axhline(100 * timeline.level, color=SOFT, lw=0.8, ls=":", label="least motion of a movement")
    top = 100 * max(float(timeline.motion.max(initial=0.0)), 2.2 * timeline.level)
    axes.set_ylim(0, 1.3 * top)
    axes.set_xlim(seconds[0], max(seconds[-1], seconds[0] + 1e-3))
    for other in timeline.others:
        height = 1.09 if other.kind == "blink" else 1.02
        _mark(axes, timeline, other, OTHERS.get(other.kind, OTHER), other.kind, height * top, pale=True)
    answers = list(answer.all)
    for movement in timeline.movements:
        said = next((each for each in answers if each.onset == movement.onset), None)
        _mark(axes, timeline, movement, MOVEMENT, said.label if said else "movement", 1.19 * top)
    axes.set_xlabel("seconds", fontsize=9, color=SOFT)
    axes.set_ylabel("motion, % of the face's width", fontsize=9, color=SOFT)
    axes.set_title(_timeline_title(answer), fontsize=11, color=INK, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(PALE)
    axes.tick_params(colors=SOFT, labelsize=8.5)
    axes.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), labelcolor=INK)
    return figure


def seconds_of(numbers: np.ndarray, timeline: Any) -> np.ndarray:
    """Frame numbers as seconds since the first frame of a timeline."""
    return (np.asarray(numbers) - timeline.numbers[0]) / timeline.fps


def _mark(
    axes: "Axes", timeline: Any, movement: Any, colour: str, word: str, height: float, *, pale: bool = False
) -> None:
    onset, apex, offset = (
        float(seconds_of(np.array([n]), timeline)[0]) for n in (movement.onset, movement.apex, movement.offset)
    )
    axes.axvspan(onset, offset, color=colour, alpha=0.08 if pale else 0.18, lw=0)
    if not pale:
        axes.axvline(apex, color=colour, lw=1.2)
    axes.text(
        apex,
        height,
        word,
        ha="center",
        fontsize=7.5 if pale else 9,
        color=colour,
        weight="normal" if pale else "bold",
        clip_on=True,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.2},
    )


def _timeline_title(answer: Any) -> str:
    count = len(answer.timeline.movements)
    words = {0: "no micro-expression found", 1: "1 movement"}.get(count, f"{count} movements")
    name = shorten(Path(answer.input).name or answer.input, 50, placeholder="...")
    return f"{name}: {words} in {answer.timeline.seconds:.1f} s"


def _eyes(timeline: Any) -> int:
    return int(timeline.regions.index("eyes"))
