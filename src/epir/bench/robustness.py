"""How much the score of given weights drops when the same maps are computed differently.

    epir bench --only robustness maps/casme2 maps/samm maps/smic --set protocol=cde --set weights=models/mine
    epir bench --only robustness --set clips=960 --set weights=models/mine

Map sets are perturbed. Without map sets, the maps of synthetic people that no weights have seen are computed in
thirteen ways, each with the same random numbers, and the scores are compared with the best. Nothing is trained: the
weights (by default the shipped ones) predict every clip once. If a perturbation has several directions, the worst
counts.

Axes: n clips, S map size, C classes
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from epir.bench.suite import Ratio
from epir.core.config import override
from epir.core.engines import one_thread
from epir.core.errors import ConfigError
from epir.core.seeds import generator
from epir.evaluation.samples import gather, read_maps
from epir.evaluation.scores import confusion_matrix, uf1
from epir.flow.map import face_map, minmax
from epir.frames.film import compressed
from epir.maps.mapset import load_maps
from epir.models.folder import check_fits, find_folder, load_network, read_config
from epir.models.network import standardised
from epir.models.predict import predict_maps
from epir.synthetic.clip import STEEPEST, draw_course
from epir.synthetic.expressions import draw_expression, emotions
from epir.synthetic.identity import draw_identity
from epir.synthetic.maps import BLINK, BLINK_SURPRISE, INTENSITY, PER_PERSON, draw_crop, find_recipe, photograph_pair
from epir.synthetic.movement import draw_movement
from epir.synthetic.variation import USUAL, Preprocessing
from epir.training.data import blurred, shifted, warped

Perturbation = Callable[[Tensor], Tensor]
UNCHANGED = "as they are"
SEED = 31  # of people that no weights have seen
SLOW, QUICK = 25.0, 200.0  # frames a second of an ordinary camera, and of the corpora's cameras
SIZE = 28  # px of a map
STREAMED = 28  # rate factor of H.264
WORDS = emotions(3)

_portrait = lru_cache(maxsize=2)(draw_crop)


@dataclass(frozen=True)
class RobustnessBench:
    """The settings that `--set` changes."""

    protocol: str = "cde"
    weights: str = ""  # a model folder; by default the shipped weights
    clips: int = 480  # synthetic clips, if no map sets are given


def measure(*, quick: bool = False, inputs: Sequence[str] = (), changes: Sequence[str] = ()) -> list[Ratio]:
    """The strict UF1 under each perturbation of the map sets `inputs`, or of synthetic clips, fewer with `quick`."""
    settings = override(RobustnessBench(clips=48 if quick else 480), changes)
    weights = settings.weights or None
    if inputs:
        measured = scores(inputs, protocol=settings.protocol, weights=weights)
        reference = measured[UNCHANGED]
    else:
        with one_thread():
            measured = synthetic_scores(clips=settings.clips, weights=weights)
        reference = max(measured.values())
    return [
        Ratio(f"UF1 (strict), {name}", value, None, f"{value:.3f} ({value - reference:+.3f})")
        for name, value in measured.items()
    ]


def perturbations() -> Mapping[str, tuple[Perturbation, ...]]:
    """Every perturbation by its name; each is one or more functions of maps (n, 3, S, S)."""
    return {
        UNCHANGED: (lambda maps: maps,),
        "blurred by 1 px": (lambda maps: blurred(maps, 1.0),),
        "made smaller (to 20/28) and large again": (downsample_and_restore,),
        "channels stretched to 0..1": (stretched,),
        "channels standardised": (standardised,),
        "turned by 5 degrees": tuple(_turn(sign * math.radians(5)) for sign in (-1, 1)),
        "shifted by 1 px": tuple(_shift(*step) for step in ((1, 0), (-1, 0), (0, 1), (0, -1))),
        "5 % larger or smaller": tuple(_size(size) for size in (0.95, 1.05)),
    }


def scores(maps: Sequence[str | Path], *, protocol: str, weights: str | Path | None = None) -> dict[str, float]:
    """The strict UF1 of the weights on the clips of a protocol, under each perturbation."""
    gathered = gather([load_maps(each) for each in maps], protocol)
    score = scorer(weights, [sample.label for sample in gathered.samples], gathered.classes, gathered.size)
    clips = torch.from_numpy(np.array(read_maps(gathered.samples)))  # (n, 3, S, S)
    with one_thread():
        return {name: min(score(perturb(clips)) for perturb in changes) for name, changes in perturbations().items()}


def scorer(
    weights: str | Path | None, truth: Sequence[str], classes: tuple[str, ...], size: int
) -> Callable[[Tensor | np.ndarray], float]:
    """A function that returns the UF1 of the weights on maps (n, 3, S, S) of clips with these true classes."""
    folder = find_folder(weights)
    check_fits(folder, classes=classes, map_size=size)
    network, views = load_network(folder), read_config(folder).views

    def score(maps: Tensor | np.ndarray) -> float:
        predicted = predict_maps(network, maps, units=False, **views).scores.argmax(1)
        return float(uf1(confusion_matrix(truth, [classes[index] for index in predicted], classes)))

    return score


def downsample_and_restore(maps: Tensor) -> Tensor:
    """Scale the maps to 20/28 of their size and back, which loses detail."""
    size = maps.shape[-1]
    small = functional.interpolate(maps, size=round(size * 20 / 28), mode="bilinear", antialias=True)
    return functional.interpolate(small, size=size, mode="bilinear", align_corners=False)


def stretched(maps: Tensor) -> Tensor:
    """Stretch each channel of each map to 0..1, which loses zero and strength."""
    low, high = maps.amin((2, 3), keepdim=True), maps.amax((2, 3), keepdim=True)
    return (maps - low) / (high - low).clamp(min=1e-9)


def _turn(angle: float) -> Perturbation:
    return lambda maps: warped(maps, torch.full((len(maps),), angle), *torch.ones(2, len(maps)))


def _size(size: float) -> Perturbation:
    return lambda maps: warped(maps, torch.zeros(len(maps)), torch.full((len(maps),), size), torch.ones(len(maps)))


def _shift(down: int, right: int) -> Perturbation:
    return lambda maps: shifted(maps, *torch.tensor([[down], [right]]).expand(2, len(maps)))


def unchanged(value: np.ndarray) -> np.ndarray:
    """Change nothing."""
    return value


@dataclass(frozen=True)
class Computation:
    """One way to compute the map of a clip."""

    recipe: str = "epir:flow.size=112"
    preprocessing: Preprocessing = field(default_factory=lambda: USUAL)  # crop and compression
    rate_factor: int | None = None  # of H.264; None: not compressed
    share: Callable[[np.random.Generator], float] = lambda random: 1.0  # visible share of the expression
    finish: Callable[[np.ndarray], np.ndarray] = unchanged  # applied to the map (3, S, S)


def computations() -> Mapping[str, Computation]:
    """Epir's computation first, then twelve others."""
    return {
        "as epir makes them": Computation(),
        "farneback, window 9, no surroundings": Computation("epir:flow.size=112,flow.window=9,flow.context=0"),
        "farneback, window 31": Computation("epir:flow.size=112,flow.window=31"),
        "DIS": Computation("epir:flow.size=112,flow.method=dis"),
        "TV-L1": Computation("epir:flow.size=84,flow.method=tvl1"),
        "face lower and smaller in the crop": Computation(preprocessing=Preprocessing(zoom=0.9, shift=(0.0, 3.0))),
        "tighter crop": Computation(preprocessing=Preprocessing(zoom=1.15)),
        "half of the rise": Computation(share=lambda random: 0.5),
        "a third of the return missed": Computation(share=lambda random: 2 / 3),
        "25 frames a second": Computation(share=share_when_slow),
        "jpg, quality 50": Computation(preprocessing=Preprocessing(quality=50)),
        "H.264": Computation(rate_factor=STREAMED),
        "smoothed, stretched to 8 bits": Computation(finish=smoothed_8_bit),
    }


def synthetic_scores(*, clips: int, weights: str | Path | None = None) -> dict[str, float]:
    """The strict UF1 of the weights on synthetic clips, for each computation of their maps."""
    if clips < len(WORDS):
        raise ConfigError(f"clips cannot be {clips}", fix=f"give --set clips={len(WORDS)} or more; 480 is usual")
    score = scorer(weights, [WORDS[number % len(WORDS)] for number in range(clips)], WORDS, SIZE)
    return {
        name: score(np.stack([clip_map(number, computation) for number in range(clips)]))  # (n, 3, S, S)
        for name, computation in computations().items()
    }


def clip_map(number: int, computation: Computation) -> np.ndarray:
    """The map (3, S, S) of the clip with this number."""
    identity = draw_identity(SEED, f"ways-{number // PER_PERSON + 1:04d}")
    recipe, random = find_recipe(computation.recipe), generator(SEED, "ways", number)
    emotion = WORDS[number % len(WORDS)]
    movement = draw_movement(draw_expression(len(WORDS), emotion, random).active_units, identity.geometry, random)
    intensity = min(float(np.exp(random.uniform(*np.log(INTENSITY)))), STEEPEST / movement.steepness())
    intensity *= computation.share(generator(SEED, "ways of time", number))
    blink = BLINK_SURPRISE if emotion == "surprise" else BLINK
    portrait = _portrait(identity, recipe, computation.preprocessing)
    onset, apex = photograph_pair(
        portrait, identity.geometry, movement, intensity, blink, recipe, random, preprocessing=computation.preprocessing
    )
    if computation.rate_factor is not None:  # the onset is repeated, so that both frames are predicted from another
        _, onset, apex = compressed([onset, onset, apex], 25, computation.rate_factor)
    return computation.finish(face_map(onset, apex, recipe, SIZE))


def share_when_slow(random: np.random.Generator) -> float:
    """The share of the expression between the frames of a slow camera nearest to onset and apex."""
    course = draw_course(QUICK, 0, random)
    step = QUICK / SLOW
    phase = random.uniform(0, step)
    onset, apex = (phase + step * round((frame - phase) / step) for frame in (course.onset, course.apex))
    if onset == apex:  # take the next frame
        apex += step
    return max(course.intensity(apex) - course.intensity(onset), 0.1)


def smoothed_8_bit(channels: np.ndarray) -> np.ndarray:
    """Blur a map (3, S, S) by a pixel, stretch it to 0..1 and round it to 256 steps."""
    smooth = np.stack([cv2.GaussianBlur(channel, (0, 0), 1.0) for channel in channels])
    return (minmax(smooth) * 255).round().astype(np.float32) / np.float32(255)
