"""Single panels: square, without margins, and about what they are given."""

import io
from dataclasses import dataclass

import numpy as np
import pytest
from matplotlib.image import imread

from epir.reports.panels import draw_attention, draw_flow, draw_tokens
from epir.reports.tokens import Tokens

H = 112
TOKENS = Tokens(
    groups=((0, 1, 4), *((patch,) for patch in range(16) if patch not in (0, 1, 4))),
    selected=(0, 2),
    rollout=((1 / 16,) * 16, (0.85, *((0.01,) * 15))),
)


@dataclass(frozen=True)
class Face:
    onset: np.ndarray
    flow: np.ndarray


@pytest.fixture
def face():
    skin = np.full((H, H, 3), 170, np.uint8)
    flow = np.zeros((H, H, 2), np.float32)
    flow[70:90, 30:50] = (0.0, -4.0)
    return Face(skin, flow)


def pixels(figure):
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=100)
    out.seek(0)
    return (imread(out)[..., :3] * 255).astype(int)


def part(picture, top, left, size=0.25):
    side = picture.shape[0]
    return picture[int(top * side) : int((top + size) * side), int(left * side) : int((left + size) * side)]


def spread(picture):
    return float(np.ptp(picture, axis=-1).mean())


def test_panels_are_square_and_reach_the_edge(face):
    for figure in (
        draw_flow(face.onset, face.flow),
        draw_tokens(face.onset, TOKENS),
        draw_attention(face.onset, TOKENS),
    ):
        picture = pixels(figure)
        assert picture.shape[0] == picture.shape[1]
        assert (picture[0].min(axis=-1) < 255).any()


def test_flow_colours_what_moved_and_leaves_the_rest_grey(face):
    picture = pixels(draw_flow(face.onset, face.flow))
    assert spread(part(picture, 0.62, 0.27, 0.18)) > 40
    assert spread(part(picture, 0.0, 0.7)) < 12


def test_a_face_that_does_not_move_can_be_drawn(face):
    assert spread(pixels(draw_flow(face.onset, np.zeros_like(face.flow)))) < 5


def test_merged_and_selected_patches_are_coloured(face):
    picture = pixels(draw_tokens(face.onset, TOKENS))
    assert spread(part(picture, 0.0, 0.0)) > 20
    assert spread(part(picture, 0.76, 0.76, 0.2)) < 3


def test_attention_is_warmest_where_it_is_strongest(face):
    picture = pixels(draw_attention(face.onset, TOKENS))
    assert spread(part(picture, 0.0, 0.0)) > spread(part(picture, 0.5, 0.5)) + 10
