"""Known movements of the skin yield the right words."""

import numpy as np
import pytest

from epir.core.seeds import generator
from epir.spotting.words import NOTHING, RegionMotion, describe, motion_words, moving_regions
from epir.synthetic.drawing.canvas import CROP_SIDE, CROP_TOP
from epir.synthetic.expressions import ActiveUnit
from epir.synthetic.identity import Geometry
from epir.synthetic.movement import draw_movement

SIZE = 84
SEEDS = 10


def field(*actions, seed=0, share=0.012):
    """The displacement of the skin in pixels, (h, h, 2): `share` of the face's width at the strongest point."""
    step = CROP_SIDE / SIZE
    x = (-CROP_SIDE / 2 + (np.arange(SIZE) + 0.5) * step).astype(np.float32)[None]
    y = (CROP_TOP + (np.arange(SIZE) + 0.5) * step).astype(np.float32)[:, None]
    movement = draw_movement(actions, Geometry(), generator(seed, "words"))
    return movement.displacement(x, y) * share * SIZE


def push(x, y, right, down, radius=0.08):
    """One smooth push of the skin at a place of the crop, as a share of its side."""
    rows, columns = (np.mgrid[0:SIZE, 0:SIZE] + 0.5) / SIZE
    weight = np.exp(-0.5 * (((columns - x) / radius) ** 2 + ((rows - y) / radius) ** 2))
    return (weight[..., None] * np.array([right, down]) * SIZE).astype(np.float32)


@pytest.mark.parametrize(
    ("units", "first", "way"),
    [
        ((1, 2), "brow", "up"),
        ((1,), "brow", "up"),
        ((4,), "brow|upper lid", "down"),
        ((5,), "upper lid", "up"),
        ((6,), "cheek|lower lid", "up"),
        ((9,), "nose", "up"),
        ((10,), "upper lip", "up"),
        ((12,), "lip corner", "up"),
        ((6, 12), "lip corner|cheek", "up"),
        ((15,), "lip corner", "down"),
        ((17,), "chin|lower lip", "up"),
        ((20,), "lip corner", "out"),
        ((24,), "lips|lower lip", "together|up"),
        ((26,), "chin|lower lip", "down"),
        ((45,), "upper lid", "down"),
    ],
)
def test_the_strongest_region_of_a_unit_and_its_direction(units, first, way):
    right = 0
    for seed in range(SEEDS):
        moved = moving_regions(field(*(ActiveUnit(unit, 1.0, 1.0) for unit in units), seed=seed))[0]
        right += any(name in moved.region for name in first.split("|")) and any(
            w in moved.direction for w in way.split("|")
        )
    assert right >= 0.7 * SEEDS


def test_a_smile_goes_up_and_out_and_a_frown_down_and_together():
    said = [motion_words(moving_regions(field(ActiveUnit(12, 1, 1), seed=seed))) for seed in range(SEEDS)]
    assert sum("both lip corners up and out" in words for words in said) >= 0.6 * SEEDS
    said = [motion_words(moving_regions(field(ActiveUnit(4, 1, 1), seed=seed))) for seed in range(SEEDS)]
    assert sum("brows down and together" in words for words in said) >= 0.6 * SEEDS


@pytest.mark.parametrize(("left", "right", "side"), [(1.0, 0.1, "right"), (0.1, 1.0, "left")])
def test_left_and_right_are_those_of_the_person(left, right, side):
    for seed in range(SEEDS):
        moved = moving_regions(field(ActiveUnit(12, left, right), seed=seed))[0]
        assert moved.side == side


def test_hand_worked_pushes():
    corner = push(0.28, 0.7, -0.006, -0.01)  # the left of the picture: the person's right
    assert motion_words(moving_regions(corner)) == "right lip corner up and out"
    both = corner + push(0.72, 0.7, 0.006, -0.01)
    assert motion_words(moving_regions(both)).startswith("both lip corners up and out")
    lips = push(0.5, 0.64, 0, -0.01, 0.04) + push(0.5, 0.77, 0, 0.01, 0.04)
    assert motion_words(moving_regions(lips)).startswith("lips apart")
    assert motion_words(moving_regions(-lips)).startswith("lips together")
    assert motion_words(moving_regions(push(0.5, 0.92, 0.01, 0))) == "chin to the left"


def test_the_length_is_that_of_the_strongest_point():
    moved = moving_regions(push(0.28, 0.7, 0, -0.02))
    assert moved[0].peak == pytest.approx(0.02, rel=0.05)
    assert describe([RegionMotion("chin", "middle", 0, -0.01, 0.0123)], 0.16) == (
        "Chin down; 1.2 % of the face; 0.16 s to the apex."
    )


def test_the_mirror_image_changes_only_the_side():
    flow = field(ActiveUnit(12, 1.0, 0.1))
    mirrored = flow[:, ::-1] * np.array([-1, 1], np.float32)
    one, other = moving_regions(flow), moving_regions(mirrored)
    swap = {"left": "right", "right": "left", "both": "both", "middle": "middle"}
    assert [(each.region, swap[each.side]) for each in one] == [(each.region, each.side) for each in other]
    assert [each.up for each in one] == pytest.approx([each.up for each in other], abs=1e-4)


def test_a_turn_of_the_head_is_not_a_movement_of_the_face():
    rows, columns = np.mgrid[0:SIZE, 0:SIZE] - SIZE / 2
    head = np.stack([1.5 - 0.02 * rows, -1.0 + 0.02 * columns], axis=-1).astype(np.float32)
    assert moving_regions(head) == ()
    smile = field(ActiveUnit(12, 1, 1))
    assert motion_words(moving_regions(head + smile)) == motion_words(moving_regions(smile))


def test_text_says_if_nothing_stands_out():
    random = generator(0, "noise")
    for spread in (0, 0.3, 5):
        assert moving_regions(random.normal(0, spread, (SIZE, SIZE, 2))) == ()
    assert describe((), 0.1) == "No region stands out; 0.10 s to the apex."
    assert describe((), None) == f"{NOTHING.capitalize()}."


def test_one_side_of_the_nose_is_a_side():
    assert motion_words([RegionMotion("nose", "left", 0, 0.01, 0.01)]) == "left side of the nose up"
    assert motion_words([RegionMotion("nose", "both", 0, 0.01, 0.01)]) == "both sides of the nose up"
