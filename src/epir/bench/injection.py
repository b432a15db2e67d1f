"""Warp known movements into a video or still, and score how many of them are found.

A movement is the skin displacement of an expression of one of the three classes (`epir.synthetic`). It is placed on the
face detected at its onset and follows a smooth course to the apex and back. Everything else in the video is unchanged:
the person goes on talking, blinking and nodding.

Axes: H, W pixels of a frame
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np

from epir.bench.suite import Ratio
from epir.core.seeds import generator
from epir.faces.align import Crop
from epir.spotting.timeline import OVERLAP, FaceMovement, Timeline, overlap, rank_candidates
from epir.spotting.visibility import CONDITIONS, ENOUGH, TABLE, visible_seconds
from epir.synthetic.clip import Course, draw_course
from epir.synthetic.drawing.canvas import CROP_SIDE, CROP_TOP
from epir.synthetic.expressions import draw_expression, emotions
from epir.synthetic.identity import Geometry
from epir.synthetic.movement import SkinMovement, draw_movement

CLASSES = 3
EVERY = 4.0  # seconds from one movement to the next, on average
REST = 1.0  # seconds without a movement before each
NOISE = 1.5  # grey levels, on stills
PER_MINUTE = (2, 5, 10, 20)  # candidates
MIXED = 0.0  # stands for movements of various sizes
COMMAND = "epir bench --only spotting VIDEO ... PICTURE ..."
UNAMBIGUOUS = 0.75  # minimum `Injection.certainty`


@dataclass(frozen=True)
class Injection:
    """One movement that is warped into a video."""

    emotion: str
    certainty: float  # how often its units mean this emotion
    course: Course
    movement: SkinMovement
    amplitude: float  # displacement of the strongest point at the apex, as a share of the face's width
    crop: Crop | None = None  # of the face at the onset

    @property
    def is_unambiguous(self) -> bool:
        """Whether its units mean one class; a dimple may belong to two, and neither answer is wrong."""
        return self.certainty >= UNAMBIGUOUS

    def shown(self, number: int) -> float:
        """The displacement of the strongest point in a frame, as a share of the face's width."""
        return self.amplitude * self.course.intensity(number)


def plan_injections(
    frames: int, fps: float, amplitude: float, seed: int = 0, name: str = "", *, every: float = EVERY
) -> list[Injection]:
    """Plan movements of the three classes in turn, at random times without overlap."""
    random = generator(seed, "injection", name, amplitude)
    words = list(emotions(CLASSES))
    random.shuffle(words)
    planned: list[Injection] = []
    start = REST
    while True:
        start += float(random.uniform(0.2, 1.0)) * max(every - REST, 0.3)
        course = draw_course(fps, round(start * fps), random)
        if course.offset > frames - REST * fps:
            return planned
        expression = draw_expression(CLASSES, words[len(planned) % CLASSES], random)
        movement = draw_movement(expression.active_units, Geometry(), random)
        planned.append(Injection(expression.emotion, expression.certainty, course, movement, amplitude))
        start = course.offset / fps + REST


def warp(frame: np.ndarray, injection: Injection, number: int) -> np.ndarray:
    """Warp a frame (H, W, 3) uint8 by the movement's displacement at this frame number."""
    shown, crop = injection.shown(number), injection.crop
    if not shown or crop is None:
        return frame
    height, width = frame.shape[:2]
    reach = 0.75 * crop.side  # the displacement is negligible beyond
    left, top = max(int(crop.x - reach), 0), max(int(crop.y - reach), 0)
    right, bottom = min(int(crop.x + reach) + 1, width), min(int(crop.y + reach) + 1, height)
    if right - left < 2 or bottom - top < 2:
        return frame
    rows, columns = np.mgrid[top:bottom, left:right].astype(np.float32)
    field = _field(injection.movement, crop, columns, rows) * np.float32(shown * crop.side)
    out = frame.copy()
    out[top:bottom, left:right] = cv2.remap(
        frame, columns - field[..., 0], rows - field[..., 1], cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
    )
    return out


def _field(movement: SkinMovement, crop: Crop, columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The displacement (H, W, 2) of frame points along the axes of the frame, with a maximum of 1."""
    places = crop.to_crop(np.stack([columns.ravel(), rows.ravel()], axis=1), 1)  # -1/2 .. 1/2
    x, y = CROP_SIDE * places[:, 0], CROP_SIDE * (places[:, 1] + 0.5) + CROP_TOP
    moved = movement.displacement(x.astype(np.float32)[None], y.astype(np.float32)[None])[0]  # (n, 2)
    turn = np.deg2rad(crop.angle)
    c, s = np.cos(turn), np.sin(turn)
    turned = moved @ np.array([[c, s], [-s, c]], np.float32)
    return turned.reshape(*rows.shape, 2).astype(np.float32)


def still_frames(picture: np.ndarray, count: int) -> Iterator[np.ndarray]:
    """A still as a camera would film it: the same picture with new noise in every frame."""
    random = generator(0, "still", count)
    grain = random.standard_normal((2 * picture.shape[0], 2 * picture.shape[1]), dtype=np.float32) * np.float32(NOISE)
    height, width = picture.shape[:2]
    for _ in range(count):
        top, left = int(random.integers(height)), int(random.integers(width))
        noisy = picture + grain[top : top + height, left : left + width, None]
        yield np.clip(noisy + 0.5, 0, 255).astype(np.uint8)


def inject(
    frames: Iterable[np.ndarray], injections: Sequence[Injection], find: Callable[[np.ndarray], Crop | None]
) -> Iterator[np.ndarray]:
    """The frames with the movements warped in; `find` returns the crop of the face in a frame, or None."""
    pending, active = list(injections), None
    for number, frame in enumerate(frames):
        if active is None and pending and number >= pending[0].course.onset:
            active = replace(pending.pop(0), crop=find(frame))
        if active is not None and number >= active.course.offset:
            active = None
        yield frame if active is None else warp(frame, active, number)


# ------------------------------------------------------------------- how many known movements were found


@dataclass(frozen=True)
class KnownMovement:
    """One movement that was shown, and whether it was found."""

    video: str
    size: float  # share of the face's width, or `MIXED`
    conditions: tuple[str, ...]  # in the second of its apex
    is_reported: bool
    place: float | None  # candidates per minute that include it (0: it is the first); None: no candidate matches

    def is_among(self, per_minute: float) -> bool:
        """Whether the most probable candidates, this many per minute, include it."""
        return self.place is not None and self.place <= per_minute


def known_movements(
    video: str, shown: Sequence[tuple[Course, float]], timelines: Sequence[Timeline], frames: int, fps: float
) -> list[KnownMovement]:
    """Whether each movement shown in one video was found; `shown` holds courses and sizes."""
    minutes = frames / fps / 60
    candidates = [each for timeline in timelines for each in timeline.candidates]
    order = rank_candidates(candidates)
    longest = max(timelines, key=lambda each: len(each.numbers), default=None)
    seconds = visible_seconds(longest) if longest is not None else ()
    known = []
    for course, size in shown:
        truth = (course.onset, course.offset)
        place = next((n for n, one in enumerate(order) if _fits(one, truth)), None)
        second = int(course.apex / fps)
        known.append(
            KnownMovement(
                video,
                size,
                seconds[second].conditions if second < len(seconds) else (),
                place is not None and not order[place].reason,
                None if place is None else (place + 0.5) / minutes if place else 0.0,  # as `most_probable` rounds
            )
        )
    return known


def _fits(candidate: FaceMovement, truth: tuple[int, int]) -> bool:
    return overlap(truth, (candidate.onset, candidate.offset)) >= OVERLAP


def ranked_lines(name: str, known: Sequence[KnownMovement]) -> list[Ratio]:
    """The recall among the most probable candidates per minute, for each size."""
    lines = []
    for size in sorted({each.size for each in known}):
        of_size = [each for each in known if each.size == size]
        recalls = {per_minute: _share(each.is_among(per_minute) for each in of_size) for per_minute in PER_MINUTE}
        detail = ", ".join(f"{recall:.2f} among {per_minute}" for per_minute, recall in recalls.items())
        reported = _share(each.is_reported for each in of_size)
        anywhere = _share(each.place is not None for each in of_size)
        detail += f"; reported {reported:.2f}, any candidate {anywhere:.2f}; {len(of_size)} movements"
        sized = name if size == MIXED else f"{name}, {100 * size:g} %"
        lines.append(Ratio(f"recall, 5 most probable a minute: {sized}", recalls[5], None, detail))
    return lines


def size_lines(known: Sequence[KnownMovement]) -> list[Ratio]:
    """For each video, the smallest size in % of the face's width of which half is reported; 0 if none is."""
    lines = []
    for video in dict.fromkeys(each.video for each in known):
        counts = {}
        for size in sorted({each.size for each in known if each.video == video}):
            of_size = [each.is_reported for each in known if (each.video, each.size) == (video, size)]
            counts[size] = (sum(of_size), len(of_size))
        visible = [size for size, (reported, shown) in counts.items() if reported >= ENOUGH * shown]
        detail = ", ".join(f"{100 * size:g} %: {reported} of {shown}" for size, (reported, shown) in counts.items())
        lines.append(Ratio(f"size that is found, %: {video}", 100 * min(visible, default=0.0), None, detail))
    return lines


def visibility_table(known: Sequence[KnownMovement], changes: Sequence[str] = ()) -> str:
    """The CSV of `epir.spotting.visibility`, from movements in seconds with a single condition.

    Its header is the command that measured it, with the changed settings.
    """
    settings = [f"table={TABLE}", *(each for each in changes if not each.startswith("table="))]
    rows = [" --set ".join([f"# {COMMAND}", *settings]), "condition,size,movements,reported,recall"]
    for condition in CONDITIONS:
        alone = [each for each in known if each.conditions == (condition,)]
        for size in sorted({each.size for each in alone}):
            reported = [each.is_reported for each in alone if each.size == size]
            rows.append(f"{condition},{size:g},{len(reported)},{sum(reported)},{_share(reported):.3f}")
    return "\n".join(rows) + "\n"


def _share(values: Iterable[bool]) -> float:
    counted = list(values)
    return sum(counted) / max(len(counted), 1)
