import numpy as np
import pytest

from epir.core.errors import ShapeError
from epir.faces.align import Crop
from epir.flow.map import (
    area_average,
    cut_face,
    derivatives,
    face_map,
    flow_to_map,
    minmax,
    optical_strain,
    without_border,
)
from epir.flow.recipe import flow_recipe


def linear_flow(size, u_x=0.0, v_y=0.0, shift=(0.0, 0.0)):
    """A flow given in shares of the crop, in pixels of a crop of `size`."""
    y, x = ((np.mgrid[0:size, 0:size] + 0.5) / size - 0.5).astype(np.float32)
    return np.stack([shift[0] + u_x * x, shift[1] + v_y * y], axis=-1) * size


@pytest.mark.parametrize("strain_at", ["flow", "map"])
def test_a_map_does_not_change_with_the_size_of_the_flow(strain_at):
    recipe = flow_recipe("epir", [f"strain_at={strain_at}"])
    maps = [flow_to_map(linear_flow(size, 0.02, -0.01, (0.03, 0.01)), recipe) for size in (28, 56, 168, 100)]
    for other in maps[1:]:
        np.testing.assert_allclose(other, maps[0], atol=1e-3)  # cells that cut pixels in parts are rounded


def test_channels_and_units_worked_by_hand():
    # A shift by a 28th of the face is one pixel of a 28 px map; growing by 2 % is a strain of 0.02 in x.
    shifted = flow_to_map(linear_flow(168, shift=(1 / 28, -2 / 28)), flow_recipe())
    assert shifted.shape == (3, 28, 28)
    assert shifted.dtype == np.float32
    assert shifted[0] == pytest.approx(1, abs=1e-4)
    assert shifted[1] == pytest.approx(-2, abs=1e-4)
    assert shifted[2] == pytest.approx(0, abs=1e-5)
    assert flow_to_map(linear_flow(168, u_x=0.02), flow_recipe())[2] == pytest.approx(0.02, abs=1e-5)
    assert flow_to_map(linear_flow(168, shift=(1 / 28, 0)), flow_recipe(), size=56)[0] == pytest.approx(2, abs=1e-4)


def test_the_third_channel_of_htnet_like_is_the_length_of_the_first_two():
    flow = linear_flow(168, shift=(3 / 28, 4 / 28))
    assert flow_to_map(flow, flow_recipe("htnet-like"))[2] == pytest.approx(5, abs=1e-3)
    at_map = flow_recipe("htnet-like", ["strain_at=map"])
    assert flow_to_map(flow, at_map)[2] == pytest.approx(5, abs=1e-3)


def test_strain_before_and_after_averaging_differ_where_motion_is_fine():
    fine = np.zeros((168, 168, 2), np.float32)
    fine[::2, :, 0] = 1.0  # opposite motion in neighbouring rows, which averaging hides
    assert flow_to_map(fine, flow_recipe("epir", ["strain_at=map"]))[2, 2:-2, 2:-2].max() < 1e-6
    fine[1::4, :, 0] = 1.0
    assert flow_to_map(fine, flow_recipe())[2, 2:-2, 2:-2].min() > 0.1


def test_averages_keep_the_mean():
    field = np.random.default_rng(0).normal(size=(168, 168)).astype(np.float32)
    assert area_average(field, 28).mean() == pytest.approx(field.mean(), abs=1e-6)
    assert area_average(field, 28)[0, 0] == pytest.approx(field[:6, :6].mean(), abs=1e-6)
    assert area_average(field, 100).mean() == pytest.approx(field.mean(), abs=1e-4)


def test_minmax_fills_zero_to_one_per_channel():
    channels = np.random.default_rng(0).normal(size=(3, 28, 28)).astype(np.float32) * [[[1]], [[50]], [[0.01]]]
    stretched = minmax(channels)
    assert stretched.min(axis=(1, 2)).tolist() == [0, 0, 0]
    assert stretched.max(axis=(1, 2)).tolist() == [1, 1, 1]
    assert not minmax(np.full((3, 4, 4), 7.0)).any()


def test_the_face_is_cut_out_with_its_context():
    recipe = flow_recipe("epir", ["flow.size=40", "flow.context=0.25"])
    frame = np.random.default_rng(0).integers(0, 256, (100, 100, 3), dtype=np.uint8)
    crop = Crop(x=49.5, y=49.5, side=40)
    face = cut_face(frame, crop, recipe)
    assert np.array_equal(face, frame[20:80, 20:80])
    assert np.array_equal(without_border(face, recipe), crop.apply(frame, 40))
    assert without_border(face, flow_recipe("epir", ["flow.context=0"])) is not None


def test_the_context_keeps_the_border_true(pair_of):
    pair = pair_of("expansion", 2.0)
    errors = []
    for context in (0.0, 0.125):
        recipe = flow_recipe("epir", [f"flow.context={context}"])
        seen = face_map(cut_face(pair.onset, pair.crop, recipe), cut_face(pair.apex, pair.crop, recipe), recipe)
        true = flow_to_map(pair.truth(168), recipe)
        rim = np.ones((28, 28), bool)
        rim[2:-2, 2:-2] = False
        errors.append(np.abs(seen - true)[:2, rim].mean())
    assert errors[1] < errors[0] / 2


@pytest.mark.parametrize("name", ["epir", "ststnet-like", "htnet-like"])
def test_the_map_of_an_expression_is_close_to_the_true_one(pair_of, name):
    pair, recipe = pair_of("bump", 2.0, noise=0.5), flow_recipe(name)
    seen = face_map(cut_face(pair.onset, pair.crop, recipe), cut_face(pair.apex, pair.crop, recipe), recipe)
    true = flow_to_map(pair.truth(168), recipe)
    alike = [np.corrcoef(a.ravel(), b.ravel())[0, 1] for a, b in zip(seen, true, strict=True)]
    assert min(alike[:2]) > 0.85, alike
    assert alike[2] > 0.5, alike


def test_faces_of_another_size_are_brought_to_the_recipes(pair_of):
    pair, recipe = pair_of("bump", 3.0), flow_recipe()
    exact = face_map(cut_face(pair.onset, pair.crop, recipe), cut_face(pair.apex, pair.crop, recipe), recipe)
    wide = pair.crop.widen(210 / 168)
    larger = face_map(wide.apply(pair.onset, 420), wide.apply(pair.apex, 420), recipe)
    assert np.abs(larger - exact)[:2].max() < 0.15
    assert np.corrcoef(larger[1].ravel(), exact[1].ravel())[0, 1] > 0.99


def test_what_gives_no_map_is_refused():
    with pytest.raises(
        ShapeError, match=r"a flow of shape \(4, 5, 2\) cannot be made into a map\n  fix: give a square flow"
    ):
        flow_to_map(np.zeros((4, 5, 2), np.float32), flow_recipe())
    with pytest.raises(ShapeError, match=r"a face of shape \(4, 5, 3\) is not square"):
        face_map(np.zeros((4, 5, 3), np.uint8), np.zeros((4, 5, 3), np.uint8), flow_recipe())


def gradient_flow(u_x, u_y, v_x, v_y, size=12):
    """The flow u = u_x x + u_y y, v = v_x x + v_y y about an arbitrary centre."""
    y, x = np.mgrid[0:size, 0:size].astype(np.float32)
    return np.stack([u_x * x + u_y * y + 3, v_x * x + v_y * y - 2], axis=-1)


@pytest.mark.parametrize(
    ("gradients", "paper", "tensor"),
    [
        ((0, 0, 0, 0), 0, 0),  # a shift
        ((0, -0.1, 0.1, 0), 0.1, 0),  # a pure turn: sqrt((0.1^2 + 0.1^2) / 2) in the paper's reading
        ((0.2, 0, 0, 0), 0.2, 0.2),  # stretching along one axis
        ((0, 0, 0, -0.2), 0.2, 0.2),
        ((0.3, 0, 0, 0.3), 0.3 * np.sqrt(2), 0.3 * np.sqrt(2)),  # growing evenly
        ((0, 0.4, 0, 0), np.sqrt(0.08), np.sqrt(0.08)),  # shear
        ((0, 0.4, 0.4, 0), 0.4, 0.4 * np.sqrt(2)),
    ],
)
def test_the_strain_of_a_linear_flow_by_hand(gradients, paper, tensor):
    flow = gradient_flow(*gradients)
    assert optical_strain(flow, "paper") == pytest.approx(paper, abs=1e-5)
    assert optical_strain(flow, "tensor") == pytest.approx(tensor, abs=1e-5)
    assert optical_strain(flow, "magnitude") == pytest.approx(np.linalg.norm(flow, axis=-1), abs=1e-5)


def test_derivatives_of_a_parabola_are_exact_also_at_the_border():
    y, x = np.mgrid[0:9, 0:7].astype(float)
    across, down = derivatives(x**2 - 3 * y**2 + x * y)
    np.testing.assert_allclose(across, 2 * x + y, atol=1e-9)
    np.testing.assert_allclose(down, -6 * y + x, atol=1e-9)


def test_strain_does_not_change_with_resolution():
    # The same motion seen at twice the size: displacements double, and so does the distance between points.
    coarse, fine = (optical_strain(gradient_flow(0.1, 0.05, -0.02, 0.2, size), "paper") for size in (10, 20))
    assert coarse.mean() == pytest.approx(fine.mean(), rel=1e-5)
