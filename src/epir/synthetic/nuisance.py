"""Changes besides the expression: head motion, blinks, gaze, light and camera noise."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from epir.core.errors import ConfigError
from epir.synthetic.moving import State

Kind = Literal["expression", "still", "blinking", "turning"]
IDLE: tuple[Kind, ...] = ("still", "blinking", "turning")  # clips without an expression


@dataclass(frozen=True)
class Nuisances:
    """The strength of each disturbance in a clip; 0 disables it."""

    drift: float = 0.10  # face units: drift of the head (a face is 28 units wide)
    roll: float = 0.004  # radians
    turn: float = 0.010  # radians: yaw and pitch
    blink: float = 0.12  # probability of a blink during an expression
    gaze: float = 0.20  # probability that the eyes look elsewhere during a clip
    flicker: float = 0.008  # of the light, relative
    noise: float = 1.2  # grey levels of camera noise
    pose: float = 1.0  # variation of the resting pose between clips, relative to the default

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if not 0 <= value < float("inf"):
                raise ConfigError(f"nuisances.{name} cannot be {value}", fix="give 0 or a larger number")
        for name in ("blink", "gaze"):
            if getattr(self, name) > 1:
                raise ConfigError(
                    f"nuisances.{name} cannot be {getattr(self, name)}", fix="give a probability from 0 to 1"
                )


@dataclass(frozen=True)
class Disturbances:
    """The state of the face without its expression, and the light, frame by frame."""

    states: tuple[State, ...]
    light: np.ndarray  # (frames, 3): gain, slope to the right, slope down
    blinks: tuple[tuple[int, int], ...]  # first and last frame of each


def draw_disturbances(
    frames: int, fps: float, kind: Kind, settings: Nuisances, random: np.random.Generator
) -> Disturbances:
    """Draw the disturbances of a clip of this kind."""
    seconds = np.arange(frames) / fps
    lively = 0.4 if kind == "still" else 1.0
    rest = random.normal(size=6) * settings.pose
    path = [wander(seconds, random) * lively for _ in range(5)]
    turning = _sweep(seconds, random) if kind == "turning" else np.zeros((2, frames))
    closure, blinks = _blinks(frames, fps, kind, settings, random)
    gaze = _gaze(seconds, kind, settings, random)
    states = tuple(
        State(
            shift_x=float(0.5 * rest[0] + settings.drift * path[0][i] + 4.0 * turning[0, i]),
            shift_y=float(0.4 * rest[1] + settings.drift * path[1][i]),
            roll=float(0.02 * rest[2] + settings.roll * path[2][i]),
            size=float(1 + 0.012 * rest[3]),
            yaw=float(0.035 * rest[4] + settings.turn * path[3][i] + turning[0, i]),
            pitch=float(0.025 * rest[5] + settings.turn * path[4][i] + turning[1, i]),
            closure=float(closure[i]),
            gaze_x=float(gaze[0, i]),
            gaze_y=float(gaze[1, i]),
        )
        for i in range(frames)
    )
    light = settings.flicker * np.stack([wander(seconds, random) for _ in range(3)], axis=1)
    return Disturbances(states, light.astype(np.float32), blinks)


def wander(seconds: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A smooth random path with a standard deviation of about 1, like that of a head at rest."""
    rates = np.array([0.25, 0.6, 1.3]) * np.exp(random.normal(0, 0.3, 3))
    weights = np.array([1.0, 0.5, 0.25])
    phases = random.uniform(0, 2 * np.pi, 3)
    waves = np.sin(2 * np.pi * rates[:, None] * seconds + phases[:, None])
    return np.sqrt(2 / (weights**2).sum()) * weights @ waves


def _sweep(seconds: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """A turn of the head to one side with a nod: yaw and pitch in radians, (2, frames)."""
    middle = seconds[-1] * random.uniform(0.35, 0.65)
    slow = max(seconds[-1], 1e-3) * random.uniform(0.12, 0.2)
    gone = 1 / (1 + np.exp(-(seconds - middle) / slow))
    yaw = random.choice([-1, 1]) * random.uniform(0.08, 0.16)
    return np.stack([yaw * gone, random.normal(0, 0.04) * gone])


def _blinks(
    frames: int, fps: float, kind: Kind, settings: Nuisances, random: np.random.Generator
) -> tuple[np.ndarray, tuple[tuple[int, int], ...]]:
    if kind == "blinking":
        count = int(random.integers(1, 3))
    else:
        count = int(kind == "expression" and random.random() < settings.blink)
    closure = np.zeros(frames)
    spans = []
    for number in range(count):
        length = max(3, min(round(fps * random.uniform(0.16, 0.30)), frames // count))
        start = round(number * frames / count + random.uniform(0.05, 0.95) * max(frames / count - length, 0))
        times = (np.arange(frames) - start) / length  # 0..1 within the blink
        shut = np.where(times < 0.4, times / 0.4, (1 - times) / 0.6)  # down faster than up
        inside = (times > 0) & (times < 1)
        closure = np.maximum(closure, np.where(inside, np.sin(np.pi / 2 * np.clip(shut, 0, 1)) ** 2, 0))
        if inside.any():
            spans.append((int(np.flatnonzero(inside)[0]), int(np.flatnonzero(inside)[-1])))
    return closure, tuple(spans)


def _gaze(seconds: np.ndarray, kind: Kind, settings: Nuisances, random: np.random.Generator) -> np.ndarray:
    """The gaze in face units, (2, frames): steady, with at most one quick jump."""
    start = random.normal(0, (0.18, 0.08), 2)
    if kind == "still" or random.random() >= settings.gaze:
        return np.repeat(start[:, None], len(seconds), axis=1)
    jump = random.normal(0, (0.35, 0.15), 2)
    when = random.uniform(0, max(seconds[-1], 1e-3))
    gone = 1 / (1 + np.exp(-np.clip((seconds - when) / 0.006, -50, 50)))
    return start[:, None] + jump[:, None] * gone
