import numpy as np
import pytest

from epir.core.errors import ShapeError
from epir.flow.map import cut_face
from epir.flow.optical import ESTIMATORS, flow_between, to_grey
from epir.flow.recipe import METHODS, get_recipe


def recipe_of(method, *changes):
    return get_recipe("epir", [f"flow.method={method}", "flow.size=112", *changes])


def error_of(pair, recipe):
    """Mean endpoint error inside the face, px of the frame."""
    faces = [cut_face(frame, pair.crop, recipe) for frame in (pair.onset, pair.apex)]
    border, size = recipe.flow.border, recipe.flow.size
    flow = flow_between(faces[0], faces[1], recipe)[border : border + size, border : border + size]
    wrong = flow - pair.truth(size)
    return np.hypot(wrong[..., 0], wrong[..., 1]).mean() * pair.crop.side / size


def test_every_method_has_an_estimator():
    assert set(ESTIMATORS) == set(METHODS)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["translation", "rotation", "expansion", "bump"])
def test_a_known_motion_is_seen(pair_of, method, kind):
    assert error_of(pair_of(kind, 1.0, noise=0.5), recipe_of(method)) < 0.12


@pytest.mark.parametrize("method", METHODS)
def test_signs_right_and_down_are_positive(pair_of, method):
    pair = pair_of("translation", 2.0)  # to the right and, less, downwards
    recipe = recipe_of(method)
    faces = [cut_face(frame, pair.crop, recipe) for frame in (pair.onset, pair.apex)]
    u, v = np.median(flow_between(faces[0], faces[1], recipe), axis=(0, 1))
    assert u > v > 0


@pytest.mark.parametrize("method", METHODS)
def test_the_same_picture_twice_does_not_move(head, method):
    face = head[20:132, 40:152]
    flow = flow_between(face, face.copy(), recipe_of(method))
    assert flow.shape == (112, 112, 2)
    assert flow.dtype == np.float32
    assert np.abs(flow[8:-8, 8:-8]).max() < 0.02  # at its very border farneback sees ghosts: hence the context


@pytest.mark.parametrize("method", METHODS)
def test_the_flow_is_the_same_each_time(pair_of, method):
    pair = pair_of("bump", 1.0)
    recipe = recipe_of(method)
    assert np.array_equal(flow_between(pair.onset, pair.apex, recipe), flow_between(pair.onset, pair.apex, recipe))


def test_colour_and_grey_give_the_same_flow(pair_of):
    pair, recipe = pair_of("bump", 1.0), recipe_of("farneback")
    grey = flow_between(to_grey(pair.onset), to_grey(pair.apex), recipe)
    assert np.array_equal(grey, flow_between(pair.onset, pair.apex, recipe))


def test_unequal_pictures_are_refused(head):
    recipe = get_recipe()
    with pytest.raises(
        ShapeError, match=r"two uint8 pictures of one shape, not uint8 .* and uint8 .*\n  fix: cut both out"
    ):
        flow_between(head, head[1:], recipe)
    with pytest.raises(ShapeError, match=r"float32"):
        flow_between(head.astype(np.float32), head.astype(np.float32), recipe)
