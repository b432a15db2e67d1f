"""Synthetic people, drawn from a seed: the geometry of the face, colours, hair and clothes.

Lengths are in face units (`drawing/canvas.py`). None of them depicts a real person.
"""

from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

import numpy as np

from epir.core.seeds import generator

Colour = tuple[float, float, float]  # red, green, blue, 0..1 as displayed

Choice = TypeVar("Choice")

Hair = Literal["bald", "buzz", "short", "parted", "fringe", "bob", "long", "curls", "tied", "scarf"]
Beard = Literal["none", "stubble", "moustache", "goatee", "full"]
Glasses = Literal["none", "round", "square", "oval"]
Clothes = Literal["crew", "vneck", "collar", "turtleneck"]
HAIRS: tuple[Hair, ...] = get_args(Hair)
BEARDS: tuple[Beard, ...] = get_args(Beard)
GLASSES: tuple[Glasses, ...] = get_args(Glasses)
CLOTHES: tuple[Clothes, ...] = get_args(Clothes)


@dataclass(frozen=True)
class Geometry:
    """Positions and sizes of the parts of a face; the defaults are the average face."""

    width: float = 1.0  # of the whole head, relative to the average
    jaw: float = 1.0  # width of the lower face, relative to the average
    top: float = -17.0  # crown
    hairline: float = -8.0
    chin: float = 29.4
    eye_x: float = 6.8  # centre of an eye, from the midline
    eye_y: float = 6.5
    eye_half: float = 3.2  # half the width of an eye
    eye_open: float = 1.0  # opening, relative to the average
    eye_tilt: float = 0.1  # outer corner above the inner one, radians
    crease: float = 0.95  # fold above the upper lid
    brow_y: float = 2.9
    brow_arch: float = 0.8
    brow_tilt: float = 0.06
    brow_thick: float = 0.85
    nose_y: float = 15.6  # base of the nose
    nose_half: float = 3.0
    nose_height: float = 1.0
    mouth_y: float = 20.0
    mouth_half: float = 5.4
    mouth_curve: float = 0.0  # corners up (+) or down
    lip_upper: float = 1.05
    lip_lower: float = 1.45
    cheek: float = 1.0
    chin_boss: float = 1.0


@dataclass(frozen=True)
class Looks:
    """Colours, hair, age and clothing."""

    tone: float  # 0 very light skin, 1 very dark
    undertone: float  # -1 cool, +1 warm
    flush: float  # red of cheeks, nose and ears
    freckles: float
    age: float  # 0 young, 1 old: folds, bags, grey
    iris: Colour
    lips: float  # tint beyond the natural colour
    lashes: float
    hair: Hair
    hair_colour: Colour
    parting: float  # where the hair parts, -1 left to +1 right
    volume: float
    brow_density: float
    beard: Beard
    beard_density: float
    glasses: Glasses
    glasses_colour: Colour
    clothes: Clothes
    clothes_colour: Colour
    background: Colour
    background_glow: float
    light_x: float  # where the light comes from, -1 left to +1 right
    light_y: float
    light_warmth: float


@dataclass(frozen=True)
class Identity:
    """One synthetic person."""

    seed: int  # of the fine texture
    geometry: Geometry
    looks: Looks


IRISES: tuple[Colour, ...] = (
    (0.30, 0.19, 0.11), (0.24, 0.15, 0.09), (0.36, 0.23, 0.12), (0.42, 0.33, 0.18),
    (0.33, 0.40, 0.27), (0.30, 0.42, 0.52), (0.42, 0.50, 0.56), (0.44, 0.47, 0.48),
)  # fmt: skip
HAIR_COLOURS: tuple[Colour, ...] = (
    (0.075, 0.062, 0.060), (0.115, 0.080, 0.065), (0.175, 0.115, 0.080), (0.265, 0.170, 0.110),
    (0.370, 0.255, 0.165), (0.500, 0.400, 0.280), (0.600, 0.515, 0.390), (0.440, 0.215, 0.115),
)  # fmt: skip
GREY: Colour = (0.66, 0.65, 0.64)
CLOTHES_COLOURS: tuple[Colour, ...] = (
    (0.16, 0.20, 0.28), (0.30, 0.36, 0.44), (0.55, 0.22, 0.22), (0.20, 0.34, 0.30),
    (0.72, 0.70, 0.66), (0.22, 0.22, 0.23), (0.42, 0.46, 0.34), (0.58, 0.44, 0.30),
    (0.36, 0.24, 0.38), (0.80, 0.66, 0.40), (0.25, 0.42, 0.56), (0.86, 0.84, 0.80),
)  # fmt: skip
GLASSES_COLOURS: tuple[Colour, ...] = ((0.08, 0.08, 0.09), (0.22, 0.13, 0.08), (0.55, 0.54, 0.52), (0.35, 0.10, 0.12))
BACKGROUNDS: tuple[Colour, ...] = (
    (0.62, 0.66, 0.69), (0.74, 0.72, 0.68), (0.50, 0.56, 0.60), (0.66, 0.70, 0.64),
    (0.78, 0.77, 0.76), (0.56, 0.54, 0.56), (0.68, 0.62, 0.57), (0.46, 0.52, 0.52),
)  # fmt: skip
# Conditional odds, in the order of the choices above.
DARK_IRISES, LIGHT_IRISES = [3, 4, 2, 0.25, 0.02, 0.01, 0.01, 0.01], [1.2, 1, 1.2, 1, 1, 1.2, 1, 0.8]
DARK_HAIR, LIGHT_HAIR = [5, 3, 1, 0.15, 0, 0, 0, 0], [1, 1, 1.3, 1.3, 1.2, 1, 0.7, 0.5]
ANGULAR_STYLES, SOFT_STYLES = (
    [0.8, 1.6, 3, 3, 1.6, 0.1, 0.5, 1.2, 0.3, 0],
    [0, 0.15, 0.7, 0.6, 0.8, 2.6, 3, 1.6, 2, 0.9],
)


def draw_identity(seed: int, name: str) -> Identity:
    """Draw the person `name` of the corpus with this seed."""
    random = generator(seed, "identity", name)
    soft = float(np.clip(random.normal(0.28 if random.random() < 0.5 else 0.74, 0.12), 0, 1))  # 0 angular, 1 soft
    age = float(random.beta(1.6, 2.6))
    tone = float(random.uniform(0.0, 1.0))
    return Identity(
        seed=int(random.integers(2**62)),
        geometry=_geometry(random, soft, age, tone),
        looks=_looks(random, soft, age, tone),
    )


def _geometry(random: np.random.Generator, soft: float, age: float, tone: float) -> Geometry:
    def near(mean: float, spread: float) -> float:
        return float(mean + spread * np.clip(random.normal(), -2, 2))

    angular = 1 - soft
    brow_y = near(2.75, 0.22) + 0.45 * (angular - 0.5)
    return Geometry(
        width=near(0.985, 0.03) + 0.03 * (angular - 0.5),
        jaw=near(0.985, 0.035) + 0.10 * (angular - 0.5),
        top=near(-16.6, 0.5),
        hairline=near(-8.2, 0.8) - 1.2 * age * angular,
        chin=near(29.0, 0.5) + 0.9 * (angular - 0.5),
        eye_x=near(6.75, 0.22),
        eye_y=near(6.5, 0.15),
        eye_half=near(3.15, 0.12),
        eye_open=near(1.0, 0.10) + 0.10 * (soft - 0.5) - 0.08 * age,
        eye_tilt=near(0.07, 0.04) - 0.05 * age,
        crease=float(np.clip(near(0.85, 0.3), 0.3, 1.4)),
        brow_y=brow_y,
        brow_arch=near(0.65, 0.25) + 0.35 * (soft - 0.5),
        brow_tilt=near(0.05, 0.035),
        brow_thick=near(0.80, 0.09) + 0.30 * (angular - 0.5),
        nose_y=near(15.6, 0.4) + 0.3 * (angular - 0.5),
        nose_half=near(2.85, 0.16) + 0.55 * tone * random.random() + 0.25 * (angular - 0.5),
        nose_height=near(1.0, 0.12) + 0.1 * (angular - 0.5),
        mouth_y=near(20.1, 0.3),
        mouth_half=near(5.15, 0.3),
        mouth_curve=near(0.30, 0.15) - 0.15 * age,
        lip_upper=near(1.20, 0.14) + 0.25 * (soft - 0.5) + 0.3 * tone * random.random() - 0.2 * age,
        lip_lower=near(1.70, 0.18) + 0.30 * (soft - 0.5) + 0.3 * tone * random.random() - 0.2 * age,
        cheek=near(1.0, 0.25),
        chin_boss=near(1.0, 0.2) + 0.3 * (angular - 0.5),
    )


def _looks(random: np.random.Generator, soft: float, age: float, tone: float) -> Looks:
    def pick(options: tuple[Choice, ...], odds: list[float]) -> Choice:
        return options[int(random.choice(len(options), p=np.asarray(odds) / np.sum(odds)))]

    def even(low: float, high: float) -> float:
        return float(random.uniform(low, high))

    dark, angular = tone > 0.45, soft < 0.5
    colour = pick(HAIR_COLOURS, DARK_HAIR if dark else LIGHT_HAIR)
    grey = float(np.clip((age - 0.5) * 3.2 * random.random(), 0, 0.9))
    return Looks(
        tone=tone,
        undertone=float(random.normal(0, 0.5)),
        flush=even(0.3, 0.8),
        freckles=even(0.3, 1.0) * float(not dark and random.random() < 0.18),
        age=age,
        iris=pick(IRISES, DARK_IRISES if dark else LIGHT_IRISES),
        lips=even(0.3, 1.0) if not angular and random.random() < 0.6 else even(0, 0.15),
        lashes=float(np.clip(0.45 + 0.5 * soft + random.normal(0, 0.1), 0.3, 1)),
        hair=pick(HAIRS, ANGULAR_STYLES if angular else SOFT_STYLES),
        hair_colour=_mixed(colour, GREY, grey),
        parting=even(-1, 1),
        volume=even(0.7, 1.3),
        brow_density=even(0.65, 1.0),
        beard=pick(BEARDS, [3, 2.2, 0.7, 0.8, 1.6] if angular else [1, 0, 0, 0, 0]),
        beard_density=even(0.6, 1.0),
        glasses=pick(GLASSES, [4, 0.7, 0.8, 0.5]),
        glasses_colour=pick(GLASSES_COLOURS, [3, 1.5, 1.5, 0.6]),
        clothes=pick(CLOTHES, [2.5, 1.2, 1.6, 1.0]),
        clothes_colour=_varied(random, pick(CLOTHES_COLOURS, [1] * len(CLOTHES_COLOURS))),
        background=_varied(random, pick(BACKGROUNDS, [1] * len(BACKGROUNDS))),
        background_glow=even(0.1, 0.35),
        light_x=float(random.choice([-1, 1])) * even(0.15, 0.7),
        light_y=even(0.25, 0.65),
        light_warmth=float(random.normal(0, 0.35)),
    )


def _mixed(one: Colour, other: Colour, share: float) -> Colour:
    r, g, b = (float((1 - share) * a + share * c) for a, c in zip(one, other, strict=True))
    return r, g, b


def _varied(random: np.random.Generator, colour: Colour) -> Colour:
    r, g, b = (float(np.clip(c + random.normal(0, 0.016), 0.02, 0.95)) for c in colour)
    return r, g, b
