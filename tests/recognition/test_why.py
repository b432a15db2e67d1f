import io
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.image import imread
from PIL import Image

from epir.core.errors import EpirError
from epir.models.predict import Tokens
from epir.recognition.answer import ActionUnit, Answer, Attribution, Evidence
from epir.recognition.why import (
    alt_text,
    draw_attention,
    draw_flow,
    draw_tokens,
    draw_why,
    headline,
    save_picture,
)
from epir.spotting.words import RegionMotion


@pytest.fixture
def answer():
    random = np.random.default_rng(0)
    face = random.integers(0, 255, (56, 56, 3), dtype=np.uint8)
    groups = ((0, 1), (2,), (3, 7), *((patch,) for patch in (4, 5, 6, *range(8, 16))))
    rollout = tuple(tuple(row) for row in random.dirichlet(np.ones(16), 3))
    return Answer(
        "clips/a.mp4", "positive", {"negative": 0.2, "positive": 0.7, "surprise": 0.1}, 20, 25, 33, fps=50.0,
        moved=(RegionMotion("lip corner", "both", 0.0, 0.01, 0.012),),
        map=random.normal(size=(3, 28, 28)).astype(np.float32), tokens=Tokens(groups, (0, 2, 0), rollout),
        evidence=Evidence(face, face, random.normal(size=(56, 56, 2)).astype(np.float32)),
    )  # fmt: skip


def words(figure):
    return [text.get_text() for axes in figure.axes for text in [axes.title, *axes.texts]]


def test_the_picture_has_every_part(answer):
    figure = draw_why(answer)
    said = words(figure)
    for part in ("onset, frame 20", "apex, frame 25", "paper's method: 16 patches, 14 tokens",
                 "paper's method: token of each head", "paper's method: attention, mean",
                 "calibrated score"):  # fmt: skip
        assert part in said
    assert any(word.startswith("flow, without the motion of the head") for word in said)
    assert {"0.20", "0.70", "0.10", "A", "B", "1 3", "2"} <= set(said)


def test_an_answer_without_pixels_says_how_to_get_a_picture(answer):
    """Candidates, and all but the strongest movements of a video, keep no pixels."""
    bare = replace(answer, evidence=None)
    words = r"(?s)the pixels of this movement, frames 20 to 33, were not kept.*predict with onset=20 and apex=25"
    with pytest.raises(EpirError, match=words):
        bare.plot()
    assert bare._repr_png_() is None
    assert answer._repr_png_().startswith(b"\x89PNG")


def test_the_attribution_comes_first_below_the_sentence(answer):
    falls = np.zeros((7, 7), np.float32)
    falls[4, 1], falls[4, 5] = 0.3, 0.1
    figure = draw_why(replace(answer, attribution=Attribution("positive", falls)))
    assert figure.axes[0].title.get_text() == "what positive rests on (occlusion)"
    assert "75 %" in [text.get_text() for text in figure.axes[0].texts]
    assert [text.get_text() for text in figure.texts][:2] == ["a.mp4: positive (0.70)", answer.text]
    even = replace(answer, attribution=Attribution("positive", np.zeros((7, 7), np.float32)))
    assert draw_why(even).axes[0].title.get_text() == "positive: no single part decides"


def test_the_action_units_stand_below_the_sentence(answer):
    units = (ActionUnit(12, "both", 0.93), ActionUnit(14, "left", 0.6))
    said = [text.get_text() for text in draw_why(replace(answer, units=units)).texts]
    assert said[2] == "Action units: 12 (0.93), left 14 (0.60)"


def test_a_picture_says_in_words_what_it_shows(answer, tmp_path):
    path = save_picture(draw_why(answer), tmp_path / "why.png")
    assert alt_text(answer) == "a.mp4: positive (0.70). Both lip corners up; 1.2 % of the face."
    assert Image.open(path).text["Description"] == alt_text(answer)
    assert [each.name for each in path.parent.iterdir()] == ["why.png"]


def test_without_tokens_the_channels_of_the_map_are_shown(answer):
    shown = words(draw_why(replace(answer, tokens=None)))
    assert {"map: u, orange to the right", "map: v, orange down", "map: strain"} <= set(shown)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "positive (0.70)"),
        ({"label": "uncertain"}, "uncertain (most likely positive, 0.70)"),
        ({"label": "no micro-expression found", "scores": {}}, "no micro-expression found"),
        ({"probability": 0.61}, "a micro-expression with probability 0.61; if so, positive (0.70)"),
    ],
)
def test_the_headline_names_the_class_or_the_most_likely_one(answer, changes, words):
    assert headline(replace(answer, **changes)) == f"a.mp4: {words}"


def test_times_and_warnings_are_those_of_the_answer(answer):
    warned = replace(answer, onset_s=0.2, apex_s=0.3, warnings=("the face is small", "there are several faces"))
    figure = draw_why(warned)
    assert "apex, frame 25 (0.30 s)" in words(figure)
    assert figure._supxlabel.get_text() == "Note: the face is small.\nNote: there are several faces."


H = 112
TOKENS = Tokens(
    groups=((0, 1, 4), *((patch,) for patch in range(16) if patch not in (0, 1, 4))),
    selected=(0, 2),
    rollout=((1 / 16,) * 16, (0.85, *((0.01,) * 15))),
)


@pytest.fixture
def face():
    skin = np.full((H, H, 3), 170, np.uint8)
    flow = np.zeros((H, H, 2), np.float32)
    flow[70:90, 30:50] = (0.0, -4.0)
    return Evidence(skin, skin, flow)


def part(picture, top, left, size=0.25):
    side = picture.shape[0]
    return picture[int(top * side) : int((top + size) * side), int(left * side) : int((left + size) * side)]


def spread(picture):
    return float(np.ptp(picture, axis=-1).mean())


def pixels(figure):
    """A panel, which is square and reaches the edge."""
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=100)
    out.seek(0)
    picture = (imread(out)[..., :3] * 255).astype(int)
    assert picture.shape[0] == picture.shape[1] and (picture[0].min(axis=-1) < 255).any()
    return picture


def test_flow_colours_moving_skin_and_leaves_still_skin_grey(face):
    picture = pixels(draw_flow(face.onset, face.flow))
    assert spread(part(picture, 0.62, 0.27, 0.18)) > 40
    assert spread(part(picture, 0.0, 0.7)) < 12
    assert spread(pixels(draw_flow(face.onset, np.zeros_like(face.flow)))) < 5


def test_merged_and_selected_patches_are_coloured(face):
    picture = pixels(draw_tokens(face.onset, TOKENS))
    assert spread(part(picture, 0.0, 0.0)) > 20
    assert spread(part(picture, 0.76, 0.76, 0.2)) < 3


def test_attention_is_warmest_where_it_is_strongest(face):
    picture = pixels(draw_attention(face.onset, TOKENS))
    assert spread(part(picture, 0.0, 0.0)) > spread(part(picture, 0.5, 0.5)) + 10
