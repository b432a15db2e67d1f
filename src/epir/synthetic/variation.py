"""Variation in how maps are made: other crops, an apex that is early or late, compressed pictures.

A laboratory processes all clips of a person alike, so crop and compression are drawn once per person. They have their
own random stream: with every probability at 0, the maps equal those of a set without variation, bit for bit.
"""

from dataclasses import dataclass

import cv2
import numpy as np

from epir.core.errors import ConfigError
from epir.core.seeds import generator

ZOOM = 0.11  # standard deviation of the log size of the face in another crop
SHIFT_X, SHIFT_Y = 0.9, 2.6  # standard deviation of its position, face units
LOWER = 0.7  # mean shift down, face units: other crops show more of the forehead
LIMIT = 2.0  # standard deviations
EARLY = (0.3, 0.9)  # share of the expression that shows if onset or apex is missed
QUALITY = (40, 90)  # of jpg


@dataclass(frozen=True)
class Variation:
    """The probability of each departure from epir's preprocessing."""

    crop: float = 0.0  # per person
    apex: float = 0.0  # per map
    jpeg: float = 0.0  # per person; `direct` maps have no pictures to compress

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(
                    f"variation.{name} cannot be {getattr(self, name)}", fix="give a probability from 0 to 1"
                )


@dataclass(frozen=True)
class Preprocessing:
    """Crop and compression of one person's maps."""

    zoom: float = 1.0  # size of the face in the crop, relative to the default
    shift: tuple[float, float] = (0.0, 0.0)  # of the face in the crop, face units to the right and down
    quality: int | None = None  # of jpg; None: not compressed


USUAL = Preprocessing()


def draw_preprocessing(variation: Variation, seed: int, subject: str) -> Preprocessing:
    """Draw the preprocessing of this person's maps."""
    random = generator(seed, "way", subject)
    elsewhere, compressed = random.random(2) < (variation.crop, variation.jpeg)
    zoom, right, down = np.clip(random.normal(size=3), -LIMIT, LIMIT)
    quality = int(random.integers(*QUALITY, endpoint=True))
    return Preprocessing(
        zoom=float(np.exp(ZOOM * zoom)) if elsewhere else 1.0,
        shift=(float(SHIFT_X * right), float(LOWER + SHIFT_Y * down)) if elsewhere else (0.0, 0.0),
        quality=quality if compressed else None,
    )


def draw_share(variation: Variation, seed: int, number: int) -> float:
    """The share of its expression that a map shows: 1 from onset to apex, less if the apex is missed."""
    random = generator(seed, "share", number)
    missed, share = random.random() < variation.apex, float(random.uniform(*EARLY))
    return share if missed else 1.0


def jpeg_compressed(picture: np.ndarray, quality: int | None) -> np.ndarray:
    """The picture (H, W, 3) uint8 after jpg compression of this quality; unchanged for None."""
    if quality is None:
        return picture
    done, content = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])
    assert done, "OpenCV can write jpg"
    return np.asarray(cv2.imdecode(content, cv2.IMREAD_COLOR))
