"""Several maps of one synthetic clip: the true movement between several pairs of its frames.

The units of an expression do not move as one: some begin later, reach their peak before or after the apex, hold it, and
return in another time than they rose. `draw_timing` draws that; everything else of a clip is as in `maps.py`.

Axes: V views, S map size, U units of the expression
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from epir.flow.map import face_map, flow_to_map
from epir.flow.recipe import FlowRecipe
from epir.maps.views import View, frame_pairs
from epir.synthetic.clip import Course
from epir.synthetic.direct import DirectSettings, direct_flow, draw_places
from epir.synthetic.identity import Geometry
from epir.synthetic.movement import Movement
from epir.synthetic.moving import State
from epir.synthetic.variation import Way

LATE, EARLY_END = 0.35, 0.35  # share of the rise, of the return, by which a unit may begin later or end earlier
PEAK = (-0.2, 0.3)  # where a unit is at its peak: from the apex, as a share of the rise
HOLD = 0.5  # the longest hold of a peak, as a share of the return
BEYOND = 1.5  # the head goes on as it moved from onset to apex, up to this far


@dataclass(frozen=True)
class UnitCourse:
    """When one unit of an expression moves, in frames."""

    start: float
    peak: float
    release: float  # it holds its peak until then
    end: float
    rise: float  # form of the rise: below 1 sudden, above 1 slow
    fall: float

    def share(self, frame: float) -> float:
        """How much of the unit shows at a frame, 0 to 1."""
        if not self.start < frame < self.end:
            return 0.0
        if frame < self.peak:
            return math.sin(math.pi / 2 * ((frame - self.start) / (self.peak - self.start)) ** self.rise) ** 2
        if frame <= self.release:
            return 1.0
        return math.sin(math.pi / 2 * ((self.end - frame) / (self.end - self.release)) ** self.fall) ** 2


def draw_timing(course: Course, units: int, random: np.random.Generator) -> tuple[UnitCourse, ...]:
    """When each unit of an expression with this course moves; the first begins and the last ends with the course."""
    rise, fall = course.apex - course.onset, course.offset - course.apex
    late, early = LATE * random.random(units), EARLY_END * random.random(units)
    late[0] = early[-1] = 0.0
    peaks, holds = random.uniform(*PEAK, units), random.uniform(0, HOLD, units)
    forms = np.exp(random.normal(0, 0.15, (units, 2)))
    made = []
    for number in range(units):
        peak = min(course.apex + peaks[number] * (rise if peaks[number] < 0 else min(rise, fall)), course.offset - 1e-3)
        end = max(course.offset - early[number] * fall, peak + 1e-3)
        made.append(
            UnitCourse(
                start=float(course.onset + late[number] * rise * (1 + min(peaks[number], 0))),
                peak=float(peak),
                release=float(peak + holds[number] * (end - peak)),
                end=float(end),
                rise=float(course.rise * forms[number, 0]),
                fall=float(course.fall * forms[number, 1]),
            )
        )
    return tuple(made)


def view_pairs(views: Sequence[View], course: Course) -> tuple[tuple[int, int], ...]:
    """The frames of each view of a clip that has all of them."""
    return frame_pairs(views, range(course.onset, course.offset + 1), course.onset, course.apex, course.offset)


def shares_at(timing: Sequence[UnitCourse], frame: int) -> list[float]:
    """How much of each unit shows at a frame, (U,)."""
    return [unit.share(frame) for unit in timing]


def direct_views(
    size: int,
    geometry: Geometry,
    movement: Movement,
    timing: Sequence[UnitCourse],
    pairs: Sequence[tuple[int, int]],
    *,
    blink: float,
    intensity: float,
    recipe: FlowRecipe,
    random: np.random.Generator,
    settings: DirectSettings,
    way: Way,
    share: float,
) -> np.ndarray:
    """Maps (V, 3, S, S) of the displacement field itself between pairs of frames, disturbed each for itself."""
    places, maps = draw_places(size, random, way), []
    for first, second in pairs:
        piece = movement.between(shares_at(timing, first), shares_at(timing, second))
        flow = direct_flow(
            size,
            geometry,
            piece,
            blink=blink / len(pairs),
            intensity=intensity,
            random=random,
            settings=settings,
            way=way,
            share=share * piece.peak(),
            places=places,
        )
        maps.append(flow_to_map(flow, recipe, size))
    return np.stack(maps)


def moments(
    movement: Movement,
    timing: Sequence[UnitCourse],
    course: Course,
    numbers: Sequence[int],
    states: tuple[State, State],
) -> list[tuple[Movement, State]]:
    """What the skin and the head do at these frames, if the head is in these states at onset and apex."""
    rest = [0.0] * len(timing)
    return [(movement.between(rest, shares_at(timing, number)), state_at(states, course, number)) for number in numbers]


def maps_between(
    pictures: Mapping[int, np.ndarray],
    views: Sequence[View],
    pairs: Sequence[tuple[int, int]],
    recipe: FlowRecipe,
    size: int,
) -> np.ndarray:
    """Maps (V, 3, S, S) by the flow between pictures of the face, which are numbered."""
    return np.stack(
        [
            face_map(pictures[first], pictures[second], view.recipe(recipe), size)
            for view, (first, second) in zip(views, pairs, strict=True)
        ]
    )


def state_at(states: tuple[State, State], course: Course, number: int) -> State:
    """The head between its states at onset and apex, and a little further on its way after it, at full expression."""
    before, after = states
    passed = min(max((number - course.onset) / (course.apex - course.onset), 0.0), BEYOND)
    values = {each.name: getattr(before, each.name) for each in fields(State)}
    moved = {name: value + passed * (getattr(after, name) - value) for name, value in values.items()}
    closure = before.closure + min(passed, 1.0) * (after.closure - before.closure)
    return replace(after, **{**moved, "closure": closure, "intensity": after.intensity})
