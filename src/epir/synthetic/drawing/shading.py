"""Light on skin: soft, warm in the shadows, a little gloss. Colours are linear light until `to_display`."""

from dataclasses import dataclass

import numpy as np

from epir.synthetic.drawing.relief import Relief
from epir.synthetic.identity import Colour, Looks

SCATTER = np.array([0.46, 0.28, 0.22], dtype=np.float32)  # how far red, green and blue light creep round a curve


@dataclass(frozen=True)
class Light:
    """A soft key light, a weaker one from the other side, and light from all around."""

    key: np.ndarray  # unit vector towards the light
    fill: np.ndarray
    colour: np.ndarray

    @classmethod
    def of(cls, looks: Looks) -> "Light":
        """The light in which this person sits."""
        key = np.array([looks.light_x, -looks.light_y, 1.0], dtype=np.float32)
        fill = np.array([-1.2 * np.sign(looks.light_x), -0.1, 0.8], dtype=np.float32)
        warmth = np.float32(0.06 * looks.light_warmth)
        colour = np.array([1 + warmth, 1.0, 1 - 1.3 * warmth], dtype=np.float32)
        return cls(key / np.linalg.norm(key), fill / np.linalg.norm(fill), colour)


def linear(colour: Colour | np.ndarray) -> np.ndarray:
    """A displayed colour as linear light."""
    return np.asarray(colour, dtype=np.float32) ** np.float32(2.2)


def to_display(light: np.ndarray) -> np.ndarray:
    """Linear light as displayed values 0..1; highlights roll off softly."""
    light = np.clip(light, 0, None)
    rolled = np.where(light > 0.7, 0.7 + 0.3 * np.tanh((light - 0.7) / 0.3), light)
    return rolled ** np.float32(1 / 2.2)


def illuminate(relief: Relief, albedo: np.ndarray, light: Light, gloss: np.ndarray) -> np.ndarray:
    """The light that reaches the viewer from skin of this colour; `gloss` is (H, W)."""  # (H, W, 3)
    normal = relief.normal + np.array([0, 0, 0.15], dtype=np.float32)  # light that skin lets through
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    facing = (normal @ light.key)[..., None]  # (H, W, 1)
    direct = np.clip((facing + SCATTER) / (1 + SCATTER), 0, None) ** np.float32(1.25)  # (H, W, 3)
    fill = np.clip((normal @ light.fill)[..., None] * 0.7 + 0.3, 0, None)
    around = 0.5 - 0.35 * normal[..., 1:2] + 0.15 * normal[..., 2:3]
    shade = (1 - 0.75 * relief.cavity)[..., None] ** (1 + np.array([0.0, 0.25, 0.35], dtype=np.float32))
    half = light.key + np.array([0, 0, 1], dtype=np.float32)
    half /= np.linalg.norm(half)
    shine = np.clip(normal @ half, 0, 1)
    sheen = gloss * (0.55 * shine**34 + 0.25 * shine**9)
    total = (0.92 * direct + 0.13 * fill + 0.24 * around) * light.colour
    return albedo * total * shade + (sheen * (1 - relief.cavity))[..., None] * light.colour
