from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from epir.reports.timeline import draw_timeline
from epir.reports.tokens import Tokens
from epir.reports.why import draw_why, headline, save_picture


@dataclass
class Pixels:
    onset: np.ndarray
    apex: np.ndarray
    flow: np.ndarray


@dataclass
class Movement:
    onset: int
    apex: int
    offset: int
    kind: str = "micro-expression"


@dataclass
class Timeline:
    fps: float = 50.0
    numbers: np.ndarray = field(default_factory=lambda: np.arange(10, 60))
    motion: np.ndarray = field(default_factory=lambda: np.random.default_rng(0).uniform(0, 0.01, (50, 2)))
    face: np.ndarray = field(default_factory=lambda: np.random.default_rng(1).uniform(0, 0.01, 50))
    level: float = 0.0035
    movements: tuple = (Movement(20, 25, 33),)
    others: tuple = (Movement(40, 43, 47, "blink"), Movement(48, 50, 55, "head"))
    regions: tuple = ("brows", "eyes")
    seconds: float = 1.0


@dataclass
class Told:
    input: str = "clips/a.mp4"
    label: str = "positive"
    scores: Any = field(default_factory=lambda: {"negative": 0.2, "positive": 0.7, "surprise": 0.1})
    onset: int | None = 20
    apex: int | None = 25
    offset: int | None = 33
    fps: float | None = 50.0
    warnings: tuple = ()
    map: Any = field(default_factory=lambda: np.random.default_rng(2).normal(size=(3, 28, 28)).astype(np.float32))
    tokens: Any = None
    evidence: Any = None
    timeline: Any = None
    all: tuple = ()


@pytest.fixture
def told():
    random = np.random.default_rng(0)
    face = random.integers(0, 255, (56, 56, 3), dtype=np.uint8)
    groups = ((0, 1), (2,), (3, 7), *((patch,) for patch in (4, 5, 6, *range(8, 16))))
    rollout = tuple(tuple(row) for row in random.dirichlet(np.ones(16), 3))
    tokens = Tokens(groups, (0, 2, 0), rollout)
    return Told(evidence=Pixels(face, face, random.normal(size=(56, 56, 2)).astype(np.float32)), tokens=tokens)


def words(figure):
    return [text.get_text() for axes in figure.axes for text in [axes.title, *axes.texts]]


def test_the_picture_has_every_part(told):
    figure = draw_why(told)
    said = words(figure)
    for part in ("onset, frame 20", "apex, frame 25", "flow: colour is direction", "16 patches merged to 14 tokens",
                 "token selected by each head", "attention, mean of the heads", "calibrated score"):  # fmt: skip
        assert part in said
    assert {"0.20", "0.70", "0.10", "A", "B", "1, 3", "2"} <= set(said)


def test_without_tokens_the_channels_of_the_map_are_shown(told):
    told.tokens = None
    assert {"map: u, orange to the right", "map: v, orange down", "map: strain"} <= set(words(draw_why(told)))


def test_warnings_stand_below(told):
    told.warnings = ("the face is small", "there are several faces")
    text = draw_why(told)._supxlabel.get_text()
    assert text == "Note: the face is small.\nNote: there are several faces."


def test_the_headline_says_what_an_uncertain_answer_leans_to(told):
    assert headline(told) == "a.mp4: positive (0.70)"
    told.label = "uncertain"
    assert headline(told) == "a.mp4: uncertain (most likely positive, 0.70)"
    told.label, told.scores = "no micro-expression found", {}
    assert headline(told) == "a.mp4: no micro-expression found"


def test_the_timeline_names_movements_and_what_was_rejected(told):
    told.timeline, told.all = Timeline(), (told,)
    figure = draw_timeline(told)
    assert {"positive", "blink", "head turns"} <= set(words(figure))
    assert figure.axes[0].get_title(loc="left") == "a.mp4: 1 movement in 1.0 s"


def test_the_apex_of_a_timeline_is_in_seconds_since_its_first_frame(told):
    told.timeline = Timeline()
    assert "apex, frame 25 (0.30 s)" in words(draw_why(told))


def test_a_picture_is_written_whole(told, tmp_path):
    path = save_picture(draw_timeline(told), tmp_path / "deep" / "line.png")
    assert path.read_bytes().startswith(b"\x89PNG")
    assert [each.name for each in path.parent.iterdir()] == ["line.png"]
