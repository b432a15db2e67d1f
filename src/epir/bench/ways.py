"""The same synthetic clips through twelve other ways of making maps, and what given weights make of each.

    epir bench --only robustness
    epir bench --only robustness --set clips=960 --set weights=models/mine

Onset and apex of each clip are drawn once per way, with the same random numbers: only the way differs. The people are
nobody's training set (they have a seed of their own).

Axes: n clips, S map size
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
import torch

from epir.core.errors import ConfigError
from epir.core.seeds import generator
from epir.evaluation.scores import confusion_matrix, uf1
from epir.flow.map import face_map, minmax
from epir.flow.recipe import FlowRecipe
from epir.models.folder import check_fits, find_folder, load_network, read_config
from epir.synthetic.clip import STEEPEST, draw_course
from epir.synthetic.drawing.portrait import Portrait
from epir.synthetic.expressions import draw_expression, emotions
from epir.synthetic.identity import Identity, draw_identity
from epir.synthetic.maps import BLINK, BLINK_SURPRISE, INTENSITY, PER_PERSON, draw_crop, find_recipe, photograph_pair
from epir.synthetic.movement import draw_movement
from epir.synthetic.variation import USUAL, Way
from epir.training.fit import predict

SEED = 31  # of people that no weights have seen
SLOW = 25.0  # frames a second of an ordinary camera
BLURRED = 28  # crf of H.264: as streamed
WORDS = emotions(3)


def as_is(value: np.ndarray) -> np.ndarray:
    """Change nothing."""
    return value


@dataclass(frozen=True)
class Computation:
    """One way from a clip to its map."""

    recipe: str = "epir:flow.size=112"
    way: Way = field(default_factory=lambda: USUAL)  # crop and compression
    share: Callable[[np.random.Generator], float] = lambda random: 1.0  # how much of the expression shows
    finish: Callable[[np.ndarray], np.ndarray] = as_is  # of the map (3, S, S)


def computations() -> Mapping[str, Computation]:
    """The usual way first, then twelve others."""
    return {
        "as epir makes them": Computation(),
        "farneback, window 9, no surroundings": Computation("epir:flow.size=112,flow.window=9,flow.context=0"),
        "farneback, window 31": Computation("epir:flow.size=112,flow.window=31"),
        "DIS": Computation("epir:flow.size=112,flow.method=dis"),
        "TV-L1": Computation("epir:flow.size=84,flow.method=tvl1"),
        "face lower and smaller in the crop": Computation(way=Way(zoom=0.9, shift=(0.0, 3.0))),
        "tighter crop": Computation(way=Way(zoom=1.15)),
        "half of the rise": Computation(share=lambda random: 0.5),
        "a third of the return missed": Computation(share=lambda random: 2 / 3),
        "25 frames a second": Computation(share=share_when_slow),
        "jpg, quality 50": Computation(way=Way(quality=50)),
        "H.264": Computation(way=Way(crf=BLURRED)),
        "smoothed, stretched to 8 bits": Computation(finish=smoothed_8_bit),
    }


def scores(*, clips: int, weights: str | Path | None = None) -> dict[str, float]:
    """The strict UF1 of the weights on synthetic clips, by way of making their maps."""
    if clips < len(WORDS):
        raise ConfigError(f"clips cannot be {clips}", fix=f"give --set clips={len(WORDS)} or more; 480 is usual")
    folder = find_folder(weights)
    check_fits(folder, classes=WORDS, map_size=28)
    network, seen = load_network(folder), read_config(folder).views
    truth = [WORDS[number % len(WORDS)] for number in range(clips)]

    def score(computation: Computation) -> float:
        maps = np.stack([clip_map(number, computation) for number in range(clips)])  # (n, 3, S, S)
        guesses = predict(network, torch.from_numpy(maps), **seen).argmax(1)
        return float(uf1(confusion_matrix(truth, [WORDS[guess] for guess in guesses], WORDS)))

    return {name: score(computation) for name, computation in computations().items()}


def clip_map(number: int, computation: Computation, size: int = 28) -> np.ndarray:
    """The map (3, S, S) of the clip with this number, made in this way."""
    identity = draw_identity(SEED, f"ways-{number // PER_PERSON + 1:04d}")
    recipe, random = find_recipe(computation.recipe), generator(SEED, "ways", number)
    emotion = WORDS[number % len(WORDS)]
    movement = draw_movement(draw_expression(len(WORDS), emotion, random).actions, identity.geometry, random)
    intensity = min(float(np.exp(random.uniform(*np.log(INTENSITY)))), STEEPEST / movement.steepness())
    intensity *= computation.share(generator(SEED, "ways of time", number))
    blink = BLINK_SURPRISE if emotion == "surprise" else BLINK
    portrait = _portrait(identity, recipe, computation.way)
    pair = photograph_pair(portrait, identity.geometry, movement, intensity, blink, recipe, random, way=computation.way)
    return computation.finish(face_map(*pair, recipe, size))


@lru_cache(maxsize=2)
def _portrait(identity: Identity, recipe: FlowRecipe, way: Way) -> Portrait:
    return draw_crop(identity, recipe, way)


def share_when_slow(random: np.random.Generator, fps: float = 200.0) -> float:
    """What shows between the frames of a slow camera that lie nearest to onset and apex."""
    course = draw_course(fps, 0, random)
    step = fps / SLOW
    phase = random.uniform(0, step)
    onset, apex = (phase + step * round((frame - phase) / step) for frame in (course.onset, course.apex))
    if onset == apex:  # the next one then
        apex += step
    return max(course.intensity(apex) - course.intensity(onset), 0.1)


def smoothed_8_bit(channels: np.ndarray) -> np.ndarray:
    """A map (3, S, S) blurred by a pixel, stretched to 0..1 and rounded to 256 steps."""
    smooth = np.stack([cv2.GaussianBlur(channel, (0, 0), 1.0) for channel in channels])
    return (minmax(smooth) * 255).round().astype(np.float32) / np.float32(255)
