"""What a recognizer says about one movement, and why.

Axes: S map size, h pixels of the face
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from epir.reports.tokens import Tokens
from epir.spotting.timeline import Timeline

UNCERTAIN = "uncertain"
NOT_FOUND = "no micro-expression found"


@dataclass(frozen=True)
class Evidence:
    """The pixels behind an answer, for its picture."""

    onset: np.ndarray  # (h, h, 3) uint8 RGB: the face at the onset
    apex: np.ndarray  # (h, h, 3)
    flow: np.ndarray  # (h, h, 2) float32, in pixels of the face


@dataclass(frozen=True, eq=False)
class Answer:
    """One movement and its class; `label` may also be `uncertain` or `no micro-expression found`.

    `scores` are calibrated: they sum to 1, and are empty where nothing was found. Key frames are frame numbers.
    """

    input: str
    label: str
    scores: Mapping[str, float] = field(default_factory=dict)
    onset: int | None = None
    apex: int | None = None
    offset: int | None = None
    fps: float | None = None
    warnings: tuple[str, ...] = ()
    map: np.ndarray | None = None  # (3, S, S) float32
    tokens: Tokens | None = None
    evidence: Evidence | None = field(default=None, repr=False)
    timeline: Timeline | None = field(default=None, repr=False)
    all: tuple["Answer", ...] = field(default=(), repr=False)  # every movement of the video, in the order of time

    @property
    def best(self) -> str | None:
        """The class with the highest score, also where the answer is `uncertain`."""
        return max(self.scores, key=lambda name: self.scores[name]) if self.scores else None

    @property
    def confidence(self) -> float | None:
        """The highest score."""
        return max(self.scores.values()) if self.scores else None

    @property
    def found(self) -> bool:
        """Whether there is a movement at all."""
        return bool(self.scores)

    def plot(self, path: str | Path | None = None) -> Any:
        """The picture of why, a matplotlib figure; with `path` it is written there too."""
        from epir.reports.why import draw_timeline, draw_why, save_picture

        figure = draw_why(self) if self.found else draw_timeline(self)
        if path is not None:
            save_picture(figure, Path(path))
        return figure

    def to_dict(self) -> dict[str, Any]:
        """All but the pixels, as plain values for JSON."""
        tokens = None
        if self.tokens is not None:
            tokens = {
                "groups": [list(group) for group in self.tokens.groups],
                "selected": list(self.tokens.selected),
                "rollout": [list(head) for head in self.tokens.rollout],
            }
        return {
            "input": self.input,
            "label": self.label,
            "confidence": self.confidence,
            "scores": dict(self.scores),
            "onset": self.onset,
            "apex": self.apex,
            "offset": self.offset,
            "fps": self.fps,
            "warnings": list(self.warnings),
            "tokens": tokens,
        }
