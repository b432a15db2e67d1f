"""How others may have made a map: the face cut out elsewhere, the apex taken early or late, pictures compressed.

A laboratory makes all maps of a person in one way, so a way is drawn once per person, from a stream of its own: with
every chance at 0 the maps are those of a set without variation, bit for bit.
"""

from dataclasses import dataclass

import cv2
import numpy as np

from epir.core.errors import ConfigError
from epir.core.seeds import generator

ZOOM = 0.11  # spread of the logarithm of the face's size in another crop
SHIFT_X, SHIFT_Y = 0.9, 2.6  # face units: spread of where the face lies in it
LOWER = 0.7  # on average it lies lower: other crops show more of the forehead
LIMIT = 2.0  # spreads
EARLY = (0.3, 0.9)  # share of the expression that shows between frames that are not onset and apex
QUALITY = (40, 90)  # of jpg


@dataclass(frozen=True)
class Variation:
    """The chance of each departure from the way in which epir makes maps."""

    crop: float = 0.0  # per person
    apex: float = 0.0  # per map
    jpeg: float = 0.0  # per person; the field itself (`direct`) has no pictures to compress

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(
                    f"variation.{name} cannot be {getattr(self, name)}", fix="give a probability from 0 to 1"
                )


@dataclass(frozen=True)
class Preprocessing:
    """How the maps of one person are made."""

    zoom: float = 1.0  # size of the face in the crop, times the usual
    shift: tuple[float, float] = (0.0, 0.0)  # of the face in the crop, face units to the right and down
    quality: int | None = None  # of jpg; none: not compressed


USUAL = Preprocessing()


def draw_way(variation: Variation, seed: int, subject: str) -> Preprocessing:
    """The way in which the maps of this person are made."""
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
    """The share of its expression that a map shows: all of it from onset to apex, less where the apex was missed."""
    random = generator(seed, "share", number)
    missed, share = random.random() < variation.apex, float(random.uniform(*EARLY))
    return share if missed else 1.0


def compressed(picture: np.ndarray, quality: int | None) -> np.ndarray:
    """The picture (H, W, 3) uint8 after jpg compression of this quality, or as it is."""
    if quality is None:
        return picture
    done, content = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality])
    assert done, "OpenCV can write jpg"
    return np.asarray(cv2.imdecode(content, cv2.IMREAD_COLOR))
