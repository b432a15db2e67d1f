"""The answer of a recognizer: one movement, its class and the evidence for it.

Axes: S map size, h pixels of the face
"""

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from epir.core.words import percent
from epir.faces.tracking import Gap
from epir.frames.reader import ASSUMED_RATE
from epir.models.predict import Tokens
from epir.spotting.regions import OTHER_SIDE
from epir.spotting.timeline import FaceMovement, Timeline
from epir.spotting.visibility import Visibility, visibility_of
from epir.spotting.words import RegionMotion, describe

if TYPE_CHECKING:
    import pandas as pd

UNCERTAIN = "uncertain"
NOT_FOUND = "no micro-expression found"
WHOLE = 0.95  # share of a video that counts as all of it
ACTIVE = 0.5  # probability from which an action unit counts as active
KEYS = ("onset", "apex", "offset")

# The regions that each action unit moves, as `epir.spotting.words` names them.
UNIT_REGIONS: dict[int, tuple[str, ...]] = {
    1: ("inner brow", "brow"),
    2: ("outer brow", "brow"),
    4: ("inner brow", "outer brow", "brow"),
    5: ("upper lid",),
    6: ("cheek", "lower lid"),
    7: ("lower lid", "upper lid"),
    9: ("nose", "upper lip", "inner brow"),
    10: ("upper lip", "nose", "lips"),
    12: ("lip corner", "cheek"),
    14: ("lip corner",),
    15: ("lip corner", "chin"),
    17: ("chin", "lower lip", "lips"),
    20: ("lip corner",),
    23: ("upper lip", "lower lip", "lips"),
    24: ("upper lip", "lower lip", "lips"),
    25: ("upper lip", "lower lip", "lips"),
    26: ("chin", "lower lip", "lips"),
}


@dataclass(frozen=True)
class ActionUnit:
    """One FACS action unit and its probability."""

    number: int  # FACS number, e.g. 12
    side: Literal["both", "left", "right"]  # of the person, not of the picture
    probability: float  # calibrated
    visible: bool | None = None  # whether motion stands out in its regions; None if not checked

    def seen_in(self, moved: Sequence[RegionMotion]) -> "ActionUnit":
        """The unit with `visible` set, and with the side on which its regions move."""
        sides = {each.side for each in moved if each.region in UNIT_REGIONS.get(self.number, ())}
        one_sided = sides - {"middle"}
        if not one_sided:
            return replace(self, visible=bool(sides))
        side: Literal["both", "left", "right"] = "both"
        if one_sided in ({"left"}, {"right"}):
            side = "left" if "left" in one_sided else "right"
        return replace(self, side=side, visible=True)


@dataclass(frozen=True)
class Evidence:
    """The pixels behind an answer, for its pictures."""

    onset: np.ndarray  # (h, h, 3) uint8 RGB: the face at the onset
    apex: np.ndarray  # (h, h, 3)
    flow: np.ndarray  # (h, h, 2) float32, in pixels of the face


@dataclass(frozen=True, eq=False)
class Attribution:
    """How far the probability of a class falls when a part of the map is occluded; negative if it rises."""

    label: str  # the class
    patches: np.ndarray  # (g, g) float32
    regions: Mapping[str, float] = field(default_factory=dict)  # by group of regions, both sides together

    @property
    def region(self) -> str:
        """The group of regions whose occlusion lowers the probability most."""
        return max(self.regions, key=lambda name: self.regions[name])

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "label": self.label,
            "patches": [[round(float(value), 4) for value in row] for row in self.patches],
            "regions": {name: round(value, 4) for name, value in self.regions.items()},
        }


@dataclass(frozen=True, eq=False)
class Person:
    """Someone tracked through a video."""

    track: int
    timeline: Timeline = field(repr=False)

    @property
    def span(self) -> tuple[float, float]:
        """The seconds of the first and the last frame that show the face."""
        return float(self.timeline.stamps[0]), float(self.timeline.stamps[-1])

    @property
    def face_px(self) -> float:
        """The median width of the face."""
        return float(np.median([each.side for each in self.timeline.squares]))

    def to_dict(self, span: tuple[float, float]) -> dict[str, Any]:
        """Plain values for JSON; visibility covers the whole `span` of the video."""
        first, last = self.span
        return {
            "track": self.track,
            "followed_s": round(self.timeline.seconds, 2),
            "first_s": round(first, 4),
            "last_s": round(last, 4),
            "face_px": round(self.face_px),
            "movements": len(self.timeline.movements),
            "rejected": len(self.timeline.others),
            "visible": visibility_of([self.timeline], span).to_dict(),
        }


@dataclass(frozen=True, eq=False)
class Answer:
    """One movement and its class.

    `label` is the class, `uncertain`, or the reason for having no class: `no micro-expression found`, `no face` or
    `face too small`. `scores` are calibrated and sum to 1; they are empty if no movement was found. Key frames are
    frame numbers. `all` holds every movement of the input, and `to_dict()` returns plain values for JSON.

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
    frame_count: int | None = None  # number of frames read; `frames` in JSON
    track: int | None = None  # the person, if faces were tracked
    probability: float | None = None  # that a spotted movement is a micro-expression
    warnings: tuple[str, ...] = ()
    moved: tuple[RegionMotion, ...] = ()  # regions that stand out between onset and apex, strongest first
    strength: float | None = None  # of a spotted movement: displacement at the apex, in % of the face's width
    region: str = ""  # of a spotted movement: where it stands out most
    side: str = ""  # of the person, not of the picture
    head: float | None = None  # of a spotted movement: head motion during it, in % of the face's width
    units: tuple[ActionUnit, ...] = ()  # every unit of the model's head, most probable first
    rule: str = ""  # of a candidate: why it was rejected; empty if it was reported
    gaps: tuple[Gap, ...] = ()  # parts of the video without a usable face
    turned: int = 0  # quarter turns counter-clockwise applied to the frames
    map: np.ndarray | None = None  # (3, S, S) float32
    tokens: Tokens | None = None
    attribution: Attribution | None = None  # which parts of the map the class depends on
    evidence: Evidence | None = field(default=None, repr=False)
    timeline: Timeline | None = field(default=None, repr=False)
    people: tuple[Person, ...] = field(default=(), repr=False)  # everyone who was tracked, by track
    candidates: tuple["Answer", ...] = field(default=(), repr=False)  # the most probable rejected movements, on request
    all: tuple["Answer", ...] = field(default=(), repr=False)  # every movement of the video, in order of time

    @property
    def movements(self) -> tuple["Answer", ...]:
        """Every movement of the input, in order of time; empty if none was found."""
        return self.all or ((self,) if self.found else ())

    @property
    def timelines(self) -> dict[int, Timeline]:
        """The motion of everyone who was tracked, by track."""
        return {each.track: each.timeline for each in self.people}

    @property
    def span(self) -> tuple[float, float]:
        """The analysed time in seconds, from the first frame to the end of the last."""
        spans = [person.span for person in self.people] + [(gap.first_s, gap.last_s) for gap in self.gaps]
        if not spans:
            return 0.0, 0.0
        return min(first for first, _ in spans), max(last for _, last in spans) + 1 / (self.fps or ASSUMED_RATE)

    @property
    def visible(self) -> Visibility:
        """How small a movement would have been found in which parts of the video, over everyone who was tracked."""
        return visibility_of([each.timeline for each in self.people], self.span)

    @property
    def rejected(self) -> tuple[FaceMovement, ...]:
        """Everyone's movements that are not micro-expressions, in order of time."""
        others = (each for timeline in self.timelines.values() for each in timeline.others)
        return tuple(sorted(others, key=lambda each: (each.onset, each.track)))

    @property
    def best(self) -> str | None:
        """The class with the highest score, even if the answer is `uncertain`."""
        return max(self.scores, key=lambda name: self.scores[name]) if self.scores else None

    @property
    def confidence(self) -> float | None:
        """The highest score."""
        return max(self.scores.values()) if self.scores else None

    @property
    def found(self) -> bool:
        """Whether a movement was found."""
        return bool(self.scores)

    @property
    def text(self) -> str:
        """What moved, in a sentence: regions and directions, how far, how fast. Left and right are the person's.

        If nothing was found, it says how small a movement would have been visible.
        """
        if not self.found:
            label = f"{self.label[:1].upper()}{self.label[1:]}."
            return f"{label} {self.visible.text}" if self.visible.text else label
        timed = self.onset_s is not None and self.apex_s is not None
        rise = self.apex_s - self.onset_s if timed else None  # type: ignore[operator]
        return describe(self.moved, rise, self.region, self.strength)

    @property
    def active_units(self) -> tuple[ActionUnit, ...]:
        """The action units with a probability of 0.5 or more."""
        return tuple(unit for unit in self.units if unit.probability >= ACTIVE)

    @property
    def unit_text(self) -> str:
        """The active units in one line, first those whose motion stands out."""
        visible = [unit for unit in self.active_units if unit.visible is not False]
        unclear = [unit for unit in self.active_units if unit.visible is False]
        if not self.active_units:
            return "Action units: none is more likely than not"
        text = f"Action units: {', '.join(map(_unit_words, visible)) or 'none whose motion stands out'}"
        return f"{text}; less clear in the motion: {', '.join(map(_unit_words, unclear))}" if unclear else text

    @property
    def followed(self) -> str:
        """How many seconds each person was tracked; empty if one person was tracked throughout."""
        first, last = self.span
        seconds = {person.track: person.timeline.seconds for person in self.people}
        if not seconds or (len(seconds) == 1 and min(seconds.values()) >= WHOLE * (last - first)):
            return ""
        lengths = ", ".join(f"person {track} for {length:.1f} s" for track, length in seconds.items())
        return f"followed: {lengths}, of {last - first:.1f} s"

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw the explanation as a matplotlib figure, and save it if `path` is given.

        Candidates, and movements beyond the strongest ones of a long video, have no pixels and raise an error.
        """
        from epir.recognition.timeline import draw_timeline
        from epir.recognition.why import draw_why, save_picture

        figure = draw_why(self) if self.found else draw_timeline(self)
        if path is not None:
            save_picture(figure, Path(path))
        return figure

    def events(self, *, every: bool = False) -> "pd.DataFrame":
        """One row per movement: key frames, class, scores, units, text; with `every`, rejected movements too."""
        from epir.recognition.events import events_table

        return events_table(self, every=every)

    def frames(self) -> "pd.DataFrame":
        """One row per frame that shows a face: time, crop, head motion, motion of every region, movement."""
        from epir.recognition.events import frames_table

        return frames_table(self)

    def _repr_png_(self) -> bytes | None:
        """The figure of `plot` in a notebook; None if there is nothing to draw."""
        if (self.evidence if self.found else self.timeline) is None:
            return None
        picture = io.BytesIO()
        self.plot().savefig(picture, format="png", dpi=100)
        return picture.getvalue()

    def to_dict_of_all(self) -> dict[str, Any]:
        """The answer with every movement, rejected ones with their reasons, as plain values for JSON."""
        candidates = [{**each.to_dict(), "class": each.best, "rule": each.rule} for each in self.candidates]
        return {
            **self.to_dict(),
            "visible": self.visible.to_dict() if self.people else None,
            "people": [each.to_dict(self.span) for each in self.people],
            "movements": [each.to_dict() for each in self.all],
            "rejected": [rejected_values(each) for each in self.rejected],
            **({"candidates": candidates} if candidates else {}),
        }

    def to_dict(self) -> dict[str, Any]:
        """Everything but the pixels, as plain values for JSON."""
        tokens = self.tokens
        key_frames = [f"{key}{unit}" for unit in ("", "_s") for key in KEYS]
        spotted = ("track", "probability", "strength", "region", "side", "head")
        return {
            **{name: getattr(self, name) for name in ("input", "label", "text", "confidence")},
            "scores": dict(self.scores),
            **{name: getattr(self, name) for name in (*key_frames, "fps")},
            "frames": self.frame_count,
            **{name: getattr(self, name) for name in spotted},
            "moved": [each.to_dict() for each in self.moved],
            "units": [asdict(unit) for unit in self.units],
            "warnings": list(self.warnings),
            "gaps": [asdict(gap) for gap in self.gaps],
            "tokens": None
            if tokens is None
            else {name: _lists(getattr(tokens, name)) for name in ("groups", "selected", "rollout")},
            "attribution": None if self.attribution is None else self.attribution.to_dict(),
        }


def _lists(values: Any) -> Any:
    """Nested tuples as lists, as JSON has them."""
    return [_lists(each) for each in values] if isinstance(values, tuple) else values


def facs_text(units: Iterable[ActionUnit]) -> str:
    """Action units as annotators write them, sorted by number: `4+L14`."""
    letters = {"both": "", "left": "L", "right": "R"}
    return "+".join(f"{letters[each.side]}{each.number}" for each in sorted(units, key=lambda each: each.number))


def _unit_words(unit: ActionUnit) -> str:
    return f"{'' if unit.side == 'both' else unit.side + ' '}{unit.number} ({unit.probability:.2f})"


def rejected_values(movement: FaceMovement) -> dict[str, Any]:
    """A rejected movement and its reason as plain values; the side is the person's."""
    return {
        "reason": movement.kind,
        "probability": round(movement.probability, 4),
        "region": movement.region,
        "side": OTHER_SIDE[movement.side],
        "strength": percent(movement.strength),
        **{key: getattr(movement, key) for key in KEYS},
        **{f"{key}_s": round(seconds, 4) for key, seconds in zip(KEYS, movement.seconds, strict=True)},
        "track": movement.track,
    }
