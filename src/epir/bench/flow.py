"""Accuracy of the optical flow on known motion, by method and size.

    epir bench --only flow                          a real face, warped by formula: the tables of docs/flow.md
    epir bench --only flow CORPUS                   a corpus written by `epir synth CORPUS --truth`
    epir bench --only flow --set flow.context=0     another flow recipe

The real face is scikit-image's astronaut, a photograph in the public domain with a face 84 px wide from temple to
temple. It is used at its size, like a SMIC frame, and enlarged three times, like a CASME II frame. Each frame of a pair
gets its own sensor noise.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from epir.bench.suite import Ratio
from epir.core.engines import one_thread
from epir.core.errors import ConfigError, DatasetError, EpirError, MissingExtra
from epir.core.seeds import generator
from epir.datasets.registry import load_corpus
from epir.faces.align import Crop
from epir.faces.finder import find_crop
from epir.flow.map import cut_face, flow_to_map, without_border
from epir.flow.optical import flow_between
from epir.flow.recipe import METHODS, FlowRecipe, flow_recipe
from epir.frames.reader import open_frames

SIZES = (56, 84, 112, 140, 168, 224)
MAP_SIZE = 28  # px
TRUE_SIZE = 224  # px at which the true flow is computed before it becomes a map
AMPLITUDES = (0.3, 1.0, 3.0)  # px of the frame: largest displacement
ENLARGEMENTS = (1, 3)
NOISE = 1.0  # grey levels

# Coordinates in the crop -> displacement as a share of the amplitude.
Motion = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]

BUMPS = (  # centre x, y and radius as shares of the crop; direction: mouth corners out and up, brows up
    (-0.20, 0.24, 0.09, -0.7, -0.7),
    (0.20, 0.24, 0.09, 0.7, -0.7),
    (-0.24, -0.36, 0.08, 0.0, -1.0),
    (0.24, -0.36, 0.08, 0.0, -1.0),
)


@dataclass(frozen=True)
class Pair:
    """Two frames, the crop of the face, and the true flow of the crop at any size."""

    kind: str
    amplitude: float  # px of the frame
    onset: np.ndarray  # (H, W, 3) uint8 RGB
    apex: np.ndarray
    crop: Crop
    truth: Callable[[int], np.ndarray]  # size -> (size, size, 2) flow in pixels of the crop at that size


@dataclass(frozen=True)
class Accuracy:
    """The accuracy of one flow recipe on one pair."""

    recipe: FlowRecipe
    kind: str
    amplitude: float
    endpoint: float  # mean length of the error, px of the frame
    share: float  # error of the 28 px map divided by its true motion, both root mean square
    strain: float  # correlation of the map's strain with the true strain; NaN if that is uniform
    milliseconds: float  # of one core, for the flow only


def measure(*, quick: bool = False, inputs: Sequence[str] = (), changes: Sequence[str] = ()) -> list[Ratio]:
    """The error of every method at every size, and on warped pairs also the endpoint error by amplitude."""
    if len(inputs) > 1:
        raise ConfigError(f"flow takes one corpus, not {len(inputs)}", fix="give one folder written by epir synth")
    base = flow_recipe("epir", changes)
    sizes = (SIZES[1], base.flow.size) if quick else SIZES
    recipes = [
        flow_recipe(base, [f"flow.method={method}", f"flow.size={size}"]) for method in METHODS for size in sizes
    ]
    if inputs:
        return by_size(accuracies(drawn_pairs(inputs[0]), recipes))
    results = accuracies(astronaut_pairs((1.0,), (1,)) if quick else astronaut_pairs(AMPLITUDES), recipes)
    return [*by_size(results), *by_amplitude(results, base.flow.size)]


def accuracies(pairs: Iterable[Pair], recipes: Sequence[FlowRecipe]) -> list[Accuracy]:
    """The accuracy of each flow recipe on each pair."""
    return [_accuracy(pair, recipe) for pair in pairs for recipe in recipes]


def _accuracy(pair: Pair, recipe: FlowRecipe) -> Accuracy:
    faces = [cut_face(frame, pair.crop, recipe) for frame in (pair.onset, pair.apex)]
    with one_thread():
        began = time.process_time()
        flow = without_border(flow_between(faces[0], faces[1], recipe), recipe)
        spent = time.process_time() - began
    error = flow - pair.truth(flow.shape[0])
    seen, true = flow_to_map(flow, recipe, MAP_SIZE), flow_to_map(pair.truth(TRUE_SIZE), recipe, MAP_SIZE)
    wrong = np.sqrt(((seen - true)[:2] ** 2).sum() / (true[:2] ** 2).sum())
    varies = true[2].std() > max(0.1 * true[2].mean(), 1e-5)  # the strain of a shift or a rotation is uniform
    correlation = np.corrcoef(seen[2].ravel(), true[2].ravel())[0, 1] if varies else np.nan
    endpoint = float(np.hypot(error[..., 0], error[..., 1]).mean()) * pair.crop.side / flow.shape[0]
    return Accuracy(recipe, pair.kind, pair.amplitude, endpoint, float(wrong), float(correlation), 1e3 * spent)


def by_size(results: Sequence[Accuracy]) -> list[Ratio]:
    """The error of the map divided by its motion, one line per method and size."""
    kinds = list(dict.fromkeys(result.kind for result in results))
    lines = []
    for recipe in dict.fromkeys(result.recipe for result in results):
        of_recipe = [result for result in results if result.recipe == recipe]
        shares = {kind: float(np.mean([result.share for result in of_recipe if result.kind == kind])) for kind in kinds}
        strain = float(np.nanmean([result.strain for result in of_recipe]))
        spent = float(np.median([result.milliseconds for result in of_recipe]))
        by_kind = ", ".join(f"{kind} {share:.3f}" for kind, share in shares.items())
        lines.append(
            Ratio(
                f"{recipe.flow.method}, {recipe.flow.size} px: error of the map / motion",
                float(np.mean(list(shares.values()))),
                None,
                f"{by_kind}; strain r {strain:.2f}; {spent:.1f} ms",
            )
        )
    return lines


def by_amplitude(results: Sequence[Accuracy], size: int) -> list[Ratio]:
    """The endpoint error divided by the motion at one size, one line per method and amplitude."""
    lines = []
    of_size = [result for result in results if result.recipe.flow.size == size]
    for method in METHODS:
        for amplitude in sorted({result.amplitude for result in of_size}):
            some = [
                result for result in of_size if (result.recipe.flow.method, result.amplitude) == (method, amplitude)
            ]
            kinds = dict.fromkeys(result.kind for result in some)
            errors = {kind: float(np.mean([each.endpoint for each in some if each.kind == kind])) for kind in kinds}
            by_kind = ", ".join(f"{kind} {error:.3f}" for kind, error in errors.items())
            lines.append(
                Ratio(
                    f"{method}, {size} px, motion {amplitude:g} px: endpoint error / motion",
                    float(np.mean(list(errors.values()))) / amplitude,
                    None,
                    f"in px of the frame: {by_kind}",
                )
            )
    return lines


# ------------------------------------------------------------------------------- pairs whose motion is known


def translation(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The whole face shifts."""
    return np.full_like(x, math.cos(0.5)), np.full_like(y, math.sin(0.5))


def rotation(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The head rolls; the amplitude is reached at the middle of the edges."""
    return -2.0 * y, 2.0 * x


def expansion(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The head moves closer; the amplitude is reached at the middle of the edges."""
    return 2.0 * x, 2.0 * y


def local_motion(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The skin moves in four small places while the head is still, as in an expression."""
    shapes = [np.exp(-((x - a) ** 2 + (y - b) ** 2) / (2.0 * radius**2)) for a, b, radius, _, _ in BUMPS]
    u = sum(place[3] * shape for place, shape in zip(BUMPS, shapes, strict=True))
    v = sum(place[4] * shape for place, shape in zip(BUMPS, shapes, strict=True))
    return np.asarray(u), np.asarray(v)


MOTIONS: dict[str, Motion] = {
    "translation": translation,
    "rotation": rotation,
    "expansion": expansion,
    "bump": local_motion,
}


def astronaut_pairs(
    amplitudes: tuple[float, ...] = AMPLITUDES, enlargements: tuple[int, ...] = ENLARGEMENTS
) -> Iterator[Pair]:
    """The astronaut's face with every motion, amplitude and enlargement."""
    try:
        from skimage.data import astronaut
    except ImportError:
        raise MissingExtra.named("scikit-image", "tvl1") from None

    head = np.ascontiguousarray(astronaut()[40:220, 130:320])
    for times in enlargements:
        frame = cv2.resize(head, None, fx=times, fy=times, interpolation=cv2.INTER_CUBIC)
        crop = find_crop(frame)
        for kind in MOTIONS:
            for amplitude in amplitudes:
                yield warped_pair(frame, crop, kind, amplitude)


def warped_pair(frame: np.ndarray, crop: Crop, kind: str, amplitude: float, *, noise: float = NOISE) -> Pair:
    """A frame and its warp by one of `MOTIONS`, so that onset(p) = apex(p + motion(p)) before noise."""
    height, width = frame.shape[:2]
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float64)

    def moved(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """The displacement (..., 2) of frame points, in pixels along the axes of the frame."""
        places = crop.to_crop(np.stack([x.ravel(), y.ravel()], axis=1), 1)
        shares = MOTIONS[kind](places[:, 0], places[:, 1])
        return amplitude * np.stack(shares, axis=1).reshape(*x.shape, 2)

    from_x, from_y = columns, rows  # source of each pixel q of the apex: p = q - motion(p), by fixed-point iteration
    for _ in range(12):
        motion = moved(from_x, from_y)
        from_x, from_y = columns - motion[..., 0], rows - motion[..., 1]
    apex = cv2.remap(
        frame, from_x.astype(np.float32), from_y.astype(np.float32), cv2.INTER_LANCZOS4, borderMode=cv2.BORDER_REPLICATE
    )

    def truth(size: int) -> np.ndarray:
        """The true flow along the axes of the crop and in its pixels."""
        y, x = np.mgrid[0:size, 0:size].astype(np.float64)
        places = crop.to_frame(np.stack([x.ravel(), y.ravel()], axis=1), size)
        motion = moved(places[:, 0], places[:, 1])
        to_crop = np.linalg.inv(crop.matrix(size)[:, :2])
        return (motion @ to_crop.T).reshape(size, size, 2).astype(np.float32)

    draw = generator(0, "warps", kind, amplitude, width)
    before, after = (_noisy(picture, noise, draw) for picture in (frame, apex))
    return Pair(kind, amplitude, before, after, crop, truth)


def _noisy(picture: np.ndarray, noise: float, draw: np.random.Generator) -> np.ndarray:
    return np.clip(picture + draw.normal(0.0, noise, picture.shape), 0, 255).round().astype(np.uint8)


def drawn_pairs(root: str | Path) -> Iterator[Pair]:
    """Onset, apex and true flow (`truth/<subject>/<clip>.npz`) of every clip with an expression."""
    is_empty = True
    for clip in load_corpus("synthetic", root).clips:
        truth = Path(root) / "truth" / clip.subject / f"{clip.clip}.npz"
        if clip.onset is None or clip.apex is None or clip.frames is None or not truth.is_file():
            continue
        with open_frames(clip.frames) as frames:
            onset, apex = frames.read(clip.onset), frames.read(clip.apex)
        with np.load(truth, allow_pickle=False) as content:
            flow = content["flow"].astype(np.float32)  # (H, W, 2), px of the frame
        try:
            crop = find_crop(onset)
        except EpirError as error:
            raise DatasetError(f"{clip.key}: {error.problem}", fix=error.fix) from None
        is_empty = False
        yield drawn_pair(onset, apex, crop, flow)
    if is_empty:
        raise DatasetError(f"{root} holds no true flow", fix=f"write it: epir synth {root} --truth --force")


def drawn_pair(onset: np.ndarray, apex: np.ndarray, crop: Crop, flow: np.ndarray) -> Pair:
    """The pair with its true flow (H, W, 2) cut to the crop."""

    def truth(size: int) -> np.ndarray:
        times = max(1, -(-round(crop.side) // size))  # sample every pixel of the frame, then average
        fine = size * times
        y, x = np.mgrid[0:fine, 0:fine].astype(np.float64)
        places = crop.to_frame(np.stack([x.ravel(), y.ravel()], axis=1), fine).reshape(fine, fine, 2).astype(np.float32)
        seen = cv2.remap(flow, places[..., 0], places[..., 1], cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        to_crop = np.linalg.inv(crop.matrix(size)[:, :2]).astype(np.float32)
        return cv2.resize(seen @ to_crop.T, (size, size), interpolation=cv2.INTER_AREA)

    inside = crop.apply(np.hypot(flow[..., 0], flow[..., 1]).astype(np.float32), 128)
    return Pair("expression", float(np.quantile(inside, 0.99)), onset, apex, crop, truth)
