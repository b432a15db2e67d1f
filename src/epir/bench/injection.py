"""Known movements warped into any video or still: a test whose truth is known.

A movement is the skin's part of an expression of one of the three classes (`epir.synthetic`), laid on the face that
the detector finds at its onset, and shown smoothly from onset over apex to offset. Everything else in the video stays
as it is: the person goes on talking, blinking and nodding.

Axes: H, W pixels of a frame
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np

from epir.core.seeds import generator
from epir.faces.align import Crop
from epir.synthetic.clip import Course, draw_course
from epir.synthetic.drawing.canvas import CROP_SIDE, CROP_TOP
from epir.synthetic.expressions import draw_expression, emotions
from epir.synthetic.identity import Geometry
from epir.synthetic.movement import Movement, draw_movement

CLASSES = 3
EVERY = 4.0  # seconds from one movement to the next, on average
REST = 1.0  # seconds without a movement before each
NOISE = 1.5  # grey levels, on stills
UNAMBIGUOUS = 0.75  # how often units must mean a class for a movement to show it


@dataclass(frozen=True)
class Injection:
    """One movement: what, when and how strong."""

    emotion: str
    certainty: float  # how often its units mean this emotion
    course: Course
    movement: Movement
    amplitude: float  # displacement of the strongest point at the apex, as a share of the face's width
    crop: Crop | None = None  # of the face at the onset

    @property
    def is_unambiguous(self) -> bool:
        """Whether its units mean one class: a dimple may be of two, and neither answer is wrong."""
        return self.certainty >= UNAMBIGUOUS

    def shown(self, number: int) -> float:
        """The displacement of the strongest point in a frame, as a share of the face's width."""
        return self.amplitude * self.course.intensity(number)


def plan_injections(
    frames: int, fps: float, amplitude: float, seed: int = 0, name: str = "", *, every: float = EVERY
) -> list[Injection]:
    """Movements of the three classes in turn, at random times that do not touch."""
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
        movement = draw_movement(expression.actions, Geometry(), random)
        planned.append(Injection(expression.emotion, expression.certainty, course, movement, amplitude))
        start = course.offset / fps + REST


def warp(frame: np.ndarray, injection: Injection, number: int) -> np.ndarray:
    """The frame (H, W, 3) uint8 with the movement as far as it has come."""
    shown, crop = injection.shown(number), injection.crop
    if not shown or crop is None:
        return frame
    height, width = frame.shape[:2]
    reach = 0.75 * crop.side  # the skirts of a movement end before
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


def _field(movement: Movement, crop: Crop, columns: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The displacement of frame points along the axes of the frame, the strongest of length 1."""  # (H, W, 2)
    places = crop.to_crop(np.stack([columns.ravel(), rows.ravel()], axis=1), 1)  # -1/2 .. 1/2
    x, y = CROP_SIDE * places[:, 0], CROP_SIDE * (places[:, 1] + 0.5) + CROP_TOP
    moved = movement.displacement(x.astype(np.float32)[None], y.astype(np.float32)[None])[0]  # (n, 2)
    turn = np.deg2rad(crop.angle)
    c, s = np.cos(turn), np.sin(turn)
    turned = moved @ np.array([[c, s], [-s, c]], np.float32)
    return turned.reshape(*rows.shape, 2).astype(np.float32)


def exact_flow(injection: Injection, size: int) -> np.ndarray:
    """The displacement at the apex over the face alone, (size, size, 2) in px of it: what a perfect flow would see."""
    rows, columns = np.mgrid[0:size, 0:size].astype(np.float32)
    whole = Crop((size - 1) / 2, (size - 1) / 2, float(size))
    return _field(injection.movement, whole, columns, rows) * np.float32(injection.amplitude * size)


def still_frames(picture: np.ndarray, count: int, seed: int = 0, noise: float = NOISE) -> Iterator[np.ndarray]:
    """A still as a camera would film it: the same picture again and again, with noise of its own each time."""
    random = generator(seed, "still", count)
    grain = random.standard_normal((2 * picture.shape[0], 2 * picture.shape[1]), dtype=np.float32) * np.float32(noise)
    height, width = picture.shape[:2]
    for _ in range(count):
        top, left = int(random.integers(height)), int(random.integers(width))
        noisy = picture + grain[top : top + height, left : left + width, None]
        yield np.clip(noisy + 0.5, 0, 255).astype(np.uint8)


def inject(
    frames: Iterable[np.ndarray], injections: Sequence[Injection], find: Callable[[np.ndarray], Crop | None]
) -> Iterator[np.ndarray]:
    """The frames with the movements in them; `find` gives the crop of the face in a frame, or None."""
    left, active = list(injections), None
    for number, frame in enumerate(frames):
        if active is None and left and number >= left[0].course.onset:
            active = replace(left.pop(0), crop=find(frame))
        if active is not None and number >= active.course.offset:
            active = None
        yield frame if active is None else warp(frame, active, number)
