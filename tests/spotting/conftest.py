"""A real face (a public-domain photograph) with scripted movements of mouth, brows, lids and head."""

from dataclasses import dataclass

import cv2
import numpy as np
import pytest
from skimage.data import astronaut

from epir.frames.reader import Frame

SCALE = 1.3
LEFT, TOP, WIDTH, HEIGHT = 110, 10, 220, 220  # the part of the photograph that is filmed


@dataclass(frozen=True)
class Push:
    """A patch of skin that goes (right, down) by so many pixels of the film."""

    x: float  # pixels of the photograph
    y: float
    radius: float
    right: float
    down: float


SMILE = (Push(201, 140, 9, -1.1, -1.8), Push(244, 142, 9, 1.1, -1.8))
BROWS_UP = (Push(203, 91, 11, 0.0, -2.0), Push(246, 93, 11, 0.0, -2.0))
LIDS_DOWN = (Push(203, 99, 4.5, 0.0, 11.0), Push(246, 101, 4.5, 0.0, 11.0))
PUSHES = {"smile": SMILE, "brows": BROWS_UP, "blink": LIDS_DOWN}


class Film:
    """Numbered frames, drawn on demand; at most one of them is in memory."""

    def __init__(self, seconds, fps=60, events=(), head=None, noise=1.0, shade=None):
        self.fps, self.count, self.events, self.head, self.noise = fps, round(seconds * fps), events, head, noise
        self.shade = shade  # by how much the right edge of the picture is darker than the left one, by time
        crop = astronaut()[TOP : TOP + HEIGHT, LEFT : LEFT + WIDTH]
        self.picture = cv2.resize(crop, None, fx=SCALE, fy=SCALE, interpolation=cv2.INTER_CUBIC)
        self.grain = np.random.default_rng(0).standard_normal(self.picture.size, dtype=np.float32)
        rows, columns = np.mgrid[0 : self.picture.shape[0], 0 : self.picture.shape[1]].astype(np.float32)
        self.rows, self.columns = rows, columns
        self.fields = {name: self._field(pushes) for name, pushes in PUSHES.items()}

    def __iter__(self):
        for number in range(self.count):
            yield Frame(number, number / self.fps, self.frame(number))

    def frame(self, number):
        field = np.zeros((*self.rows.shape, 2), np.float32)
        for name, onset, apex, offset in self.events:
            field += np.float32(share(number, onset, apex, offset)) * self.fields[name]
        shift = self.head(number / self.fps) if self.head else (0.0, 0.0)
        x, y = self.columns - field[..., 0] - np.float32(shift[0]), self.rows - field[..., 1] - np.float32(shift[1])
        frame = cv2.remap(self.picture, x, y, cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE).astype(np.float32)
        frame += self.noise * np.roll(self.grain, 977 * number, axis=0).reshape(frame.shape)
        if self.shade:
            frame *= 1 - self.shade(number / self.fps) * np.linspace(0, 1, frame.shape[1], dtype=np.float32)[:, None]
        return np.clip(frame, 0, 255).astype(np.uint8)

    def _field(self, pushes):
        field = np.zeros((*self.rows.shape, 2), np.float32)
        for push in pushes:
            x, y = (push.x - LEFT) * SCALE, (push.y - TOP) * SCALE
            away = ((self.columns - x) ** 2 + (self.rows - y) ** 2) / (2 * (push.radius * SCALE) ** 2)
            field += np.exp(-away)[..., None] * np.array([push.right, push.down], np.float32)
        return field


def share(number, onset, apex, offset):
    """0 at onset and offset, 1 at the apex."""
    if not onset < number < offset:
        return 0.0
    done = (number - onset) / (apex - onset) if number <= apex else (offset - number) / (offset - apex)
    return float(np.sin(np.pi / 2 * done) ** 2)


@pytest.fixture(scope="session")
def film():
    """Makes a film of the astronaut: `film(seconds, fps, events=[("smile", onset, apex, offset)])`."""
    return Film
