"""What a recognizer says about one movement, and why.

Axes: S map size, h pixels of the face
"""

import io
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from epir.faces.tracking import Gap
from epir.recognition.explain import Attribution
from epir.reports.tokens import Tokens
from epir.spotting.regions import OTHER_SIDE
from epir.spotting.timeline import Movement, Timeline
from epir.spotting.words import RegionMotion, describe

if TYPE_CHECKING:
    import pandas as pd

UNCERTAIN = "uncertain"
NOT_FOUND = "no micro-expression found"
ACTIVE = 0.5  # probability from which an action unit counts as active


@dataclass(frozen=True)
class ActionUnit:
    """One action unit of FACS and how probable it is."""

    number: int  # FACS number, e.g. 12
    side: Literal["both", "left", "right"]  # of the person, not of the picture
    probability: float  # calibrated


@dataclass(frozen=True)
class Evidence:
    """The pixels behind an answer, for its picture."""

    onset: np.ndarray  # (h, h, 3) uint8 RGB: the face at the onset
    apex: np.ndarray  # (h, h, 3)
    flow: np.ndarray  # (h, h, 2) float32, in pixels of the face


@dataclass(frozen=True, eq=False)
class Answer:
    """One movement and its class; `label` may also be `uncertain`, or why there is none.

    That is `no micro-expression found`, `no face` or `face too small`.

    `answer = Recognizer.from_pretrained().predict("clip.mp4")`, then `answer.label`, `answer.scores`, `answer.apex_s`,
    and `answer.all` for every movement; `answer.to_dict()` is plain JSON.

    `scores` are calibrated: they sum to 1, and are empty where nothing was found. Key frames are frame numbers.

    >>> answer = Answer("clip.mp4", "positive", {"negative": 0.2, "positive": 0.8}, onset=11, apex=23, offset=51)
    >>> answer.label, answer.scores["positive"], answer.apex
    ('positive', 0.8, 23)
    """

    input: str
    label: str
    scores: Mapping[str, float] = field(default_factory=dict)
    onset: int | None = None
    apex: int | None = None
    offset: int | None = None
    onset_s: float | None = None  # seconds since the beginning
    apex_s: float | None = None
    offset_s: float | None = None
    fps: float | None = None
    frame_count: int | None = None  # frames that were read; `frames` in JSON
    track: int | None = None  # the person, where faces were followed
    probability: float | None = None  # of being a micro-expression at all, where it was spotted
    warnings: tuple[str, ...] = ()
    moved: tuple[RegionMotion, ...] = ()  # the regions that stand out between onset and apex, the strongest first
    strength: float | None = None  # of a spotted movement: displacement at the apex, as a share of the face's width
    units: tuple[ActionUnit, ...] = ()  # every unit of the model's head, most probable first
    gaps: tuple[Gap, ...] = ()  # parts of the video without a face that could be used
    turned: int = 0  # quarters counter-clockwise by which the frames were turned
    map: np.ndarray | None = None  # (3, S, S) float32
    tokens: Tokens | None = None
    attribution: Attribution | None = None  # how much each patch of the map contributes to the class
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

    @property
    def text(self) -> str:
        """What moved, in a sentence: regions and directions, how far, how fast. Left and right are the person's."""
        if not self.found:
            return f"{self.label[:1].upper()}{self.label[1:]}."
        timed = self.onset_s is not None and self.apex_s is not None
        return describe(self.moved, self.apex_s - self.onset_s if timed else None)  # type: ignore[operator]

    @property
    def active_units(self) -> tuple[ActionUnit, ...]:
        """The action units with a probability of 0.5 or more."""
        return tuple(unit for unit in self.units if unit.probability >= ACTIVE)

    def plot(self, path: str | Path | None = None) -> Any:
        """The picture of why, a matplotlib figure; with `path` it is written there too."""
        from epir.reports.why import draw_timeline, draw_why, save_picture

        figure = draw_why(self) if self.found else draw_timeline(self)
        if path is not None:
            save_picture(figure, Path(path))
        return figure

    def events(self) -> "pd.DataFrame":
        """One row per movement, and per rejected one with the reason: key frames, class, scores, units, words."""
        from epir.recognition.events import events_table

        return events_table(self)

    def frames(self) -> "pd.DataFrame":
        """One row per frame that shows the face: time, face, head motion, motion of every region, movement."""
        from epir.recognition.events import frames_table

        return frames_table(self)

    def _repr_png_(self) -> bytes | None:
        """The picture of why in a notebook; nothing where there is nothing to draw."""
        if not self.found and self.timeline is None:
            return None
        picture = io.BytesIO()
        self.plot().savefig(picture, format="png", dpi=100)
        return picture.getvalue()

    def to_dict_of_all(self) -> dict[str, Any]:
        """The answer with every movement, and what was rejected and why, as plain values for JSON."""
        rejected = self.timeline.others if self.timeline is not None else ()
        return {
            **self.to_dict(),
            "movements": [each.to_dict() for each in self.all],
            "rejected": [_rejected(each) for each in rejected],
        }

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
            "text": self.text,
            "confidence": self.confidence,
            "scores": dict(self.scores),
            "onset": self.onset,
            "apex": self.apex,
            "offset": self.offset,
            "onset_s": self.onset_s,
            "apex_s": self.apex_s,
            "offset_s": self.offset_s,
            "fps": self.fps,
            "frames": self.frame_count,
            "track": self.track,
            "probability": self.probability,
            "strength": self.strength,
            "moved": [each.to_dict() for each in self.moved],
            "units": [asdict(unit) for unit in self.units],
            "warnings": list(self.warnings),
            "gaps": [asdict(gap) for gap in self.gaps],
            "tokens": tokens,
            "attribution": None if self.attribution is None else self.attribution.to_dict(),
        }


def units_text(units: Iterable[ActionUnit]) -> str:
    """Action units as annotators write them, by number: `4+L14`."""
    letters = {"both": "", "left": "L", "right": "R"}
    return "+".join(f"{letters[each.side]}{each.number}" for each in sorted(units, key=lambda each: each.number))


def _rejected(movement: Movement) -> dict[str, Any]:
    """A movement that is no micro-expression, and why, as plain values."""
    onset, apex, offset = movement.seconds
    return {
        "reason": movement.kind,
        "region": movement.region,
        "side": OTHER_SIDE[movement.side],  # of the person
        "strength": round(movement.strength, 5),
        "onset": movement.onset,
        "apex": movement.apex,
        "offset": movement.offset,
        "onset_s": round(onset, 4),
        "apex_s": round(apex, 4),
        "offset_s": round(offset, 4),
        "track": movement.track,
    }
