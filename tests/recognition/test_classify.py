import numpy as np
import pytest

from epir.core.seeds import generator
from epir.flow.map import flow_to_map
from epir.flow.recipe import flow_recipe
from epir.recognition.answer import Attribution
from epir.recognition.classify import attribute, neutral, occluded, patch_masks, region_masks
from epir.recognition.recognizer import Recognizer
from epir.spotting.regions import GROUPS
from epir.synthetic.drawing.canvas import CROP_SIDE, CROP_TOP
from epir.synthetic.expressions import draw_expression, emotions
from epir.synthetic.identity import Geometry
from epir.synthetic.movement import draw_movement

LABELS = ("negative", "positive")


@pytest.fixture(scope="module")
def shipped_recognizer():
    return Recognizer.from_pretrained()


def bright(maps):
    """A model that uses one patch only: the mean of u in rows 4 to 7 and columns 8 to 11."""
    share = 1 / (1 + np.exp(-maps[:, 0, 4:8, 8:12].mean(axis=(1, 2))))
    return np.stack([1 - share, share], axis=1)


def test_each_pixel_belongs_to_one_patch():
    for size, patches in ((28, 7), (28, 4), (30, 7), (10, 3)):
        masks = patch_masks(size, patches)
        assert (masks.sum(axis=0) >= 1).all()
    assert (patch_masks(28, 7).sum(axis=0) == 1).all()
    assert patch_masks(28, 7)[8].nonzero()[0].tolist() == sorted([*range(4, 8)] * 4)
    wide = patch_masks(28, 7, 0.5)
    assert wide[8].any(axis=1).nonzero()[0].tolist() == list(range(2, 10))
    assert wide[0].any(axis=0).nonzero()[0].tolist() == list(range(0, 6))


def test_the_patch_that_the_model_looks_at_costs_most():
    flow_map = np.zeros((3, 28, 28), np.float32)
    flow_map[0, 4:8, 8:12] = 2.0
    attribution = attribute(bright, flow_map, LABELS)
    assert attribution.label == "positive"
    assert np.unravel_index(attribution.patches.argmax(), (7, 7)) == (1, 2)
    assert attribution.patches[1, 2] == pytest.approx(bright(flow_map[None])[0, 1] - 0.5)
    assert attribution.patches[5:].max() == 0
    assert attribution.region in ("eyes", "brows")


def test_all_copies_of_a_map_go_through_the_model_at_once():
    sizes = []

    def counting(maps):
        sizes.append(len(maps))
        return bright(maps)

    attribute(counting, np.random.default_rng(0).normal(size=(3, 28, 28)).astype(np.float32), LABELS)
    assert sizes == [1 + 49 + len(GROUPS)]


def test_neutral_is_the_motion_of_most_of_the_face():
    flow_map = np.full((3, 28, 28), 0.4, np.float32)  # stretched to 0..1: 0.4 is rest
    flow_map[:, 20:, 20:] = 1.0
    assert neutral(flow_map).ravel() == pytest.approx([0.4] * 3)
    copies = occluded(flow_map, patch_masks(28, 7))
    assert copies.shape == (49, 3, 28, 28)
    assert copies[48, :, 24:, 24:] == pytest.approx(0.4)
    assert (copies[0] == flow_map).all()


def test_groups_of_regions_join_left_and_right():
    masks = region_masks(28)
    assert masks.shape == (len(GROUPS), 28, 28)
    assert (masks == masks[:, :, ::-1]).all()
    assert region_masks(56).sum() == 4 * masks.sum()


def test_occlusion_finds_what_moved(shipped_recognizer):
    """Moving patches rank above still ones more often than by chance, 0.5."""
    areas = []
    step, places = CROP_SIDE / 28, np.arange(28) + 0.5
    across, along = (-CROP_SIDE / 2 + places * step)[None], (CROP_TOP + places * step)[:, None]
    for number in range(30):
        random = generator(977, "explained", number)
        movement = draw_movement(draw_expression(3, emotions(3)[number % 3], random).active_units, Geometry(), random)
        field = movement.displacement(across.astype(np.float32), along.astype(np.float32))  # (28, 28, 2)
        flow_map = flow_to_map(0.5 * field, flow_recipe("epir"), 28)
        attribution = attribute(shipped_recognizer.classifier.plain_scores, flow_map, shipped_recognizer.labels)
        means = (patch_masks(28, 7) * np.hypot(field[..., 0], field[..., 1])).sum(axis=(1, 2))
        moving = means >= 0.5 * means.max()
        above = attribution.patches.ravel()[moving][:, None] - attribution.patches.ravel()[~moving][None]
        areas.append((above > 0).mean() + 0.5 * (above == 0).mean())
    assert np.mean(areas) - 2 * np.std(areas) / np.sqrt(len(areas)) > 0.5


def test_json_values_are_plain():
    values = Attribution("positive", np.array([[0.123456]]), {"eyes": 0.2}).to_dict()
    assert values == {"label": "positive", "patches": [[0.1235]], "regions": {"eyes": 0.2}}
