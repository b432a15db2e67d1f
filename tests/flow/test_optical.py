import sys

import numpy as np
import pytest

from epir.core.errors import ConfigError, MissingExtra, ShapeError
from epir.flow.map import cut_face
from epir.flow.optical import flow_between, to_grey
from epir.flow.recipe import METHODS, flow_recipe


def recipe_of(method, *changes):
    return flow_recipe("epir", [f"flow.method={method}", "flow.size=112", *changes])


def error_of(pair, recipe):
    """Mean endpoint error inside the face, px of the frame."""
    faces = [cut_face(frame, pair.crop, recipe) for frame in (pair.onset, pair.apex)]
    border, size = recipe.flow.border, recipe.flow.size
    flow = flow_between(faces[0], faces[1], recipe)[border : border + size, border : border + size]
    wrong = flow - pair.truth(size)
    return np.hypot(wrong[..., 0], wrong[..., 1]).mean() * pair.crop.side / size


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["translation", "rotation", "expansion", "bump"])
def test_a_known_motion_is_seen(pair_of, method, kind):
    assert error_of(pair_of(kind, 1.0, noise=0.5), recipe_of(method)) < 0.12


@pytest.mark.parametrize("method", METHODS)
def test_signs_right_and_down_are_positive(pair_of, method):
    pair = pair_of("translation", 2.0)  # to the right and, less, downwards
    recipe = recipe_of(method)
    faces = [cut_face(frame, pair.crop, recipe) for frame in (pair.onset, pair.apex)]
    flow = flow_between(faces[0], faces[1], recipe)
    u, v = np.median(flow, axis=(0, 1))
    assert u > v > 0
    assert np.array_equal(flow, flow_between(faces[0], faces[1], recipe)), "the same each time"


@pytest.mark.parametrize("method", METHODS)
def test_the_same_picture_twice_does_not_move(head, method):
    face = head[20:132, 40:152]
    flow = flow_between(face, face.copy(), recipe_of(method))
    assert flow.shape == (112, 112, 2)
    assert flow.dtype == np.float32
    assert np.abs(flow[8:-8, 8:-8]).max() < 0.02  # at its very border farneback sees ghosts: hence the context


def test_colour_and_grey_give_the_same_flow(pair_of):
    pair, recipe = pair_of("bump", 1.0), recipe_of("farneback")
    grey = flow_between(to_grey(pair.onset), to_grey(pair.apex), recipe)
    assert np.array_equal(grey, flow_between(pair.onset, pair.apex, recipe))


def test_unequal_pictures_are_refused(head):
    recipe = flow_recipe()
    with pytest.raises(
        ShapeError, match=r"two uint8 pictures of one shape, not uint8 .* and uint8 .*\n  fix: cut both out"
    ):
        flow_between(head, head[1:], recipe)
    with pytest.raises(ShapeError, match=r"float32"):
        flow_between(head.astype(np.float32), head.astype(np.float32), recipe)


def test_tvl1_keeps_a_sharp_edge_of_motion_sharp():
    # Total variation allows jumps: the left half stands still, the right half moves by 2 px.
    draw = np.random.default_rng(1)
    texture = np.kron(draw.integers(40, 220, (32, 40)), np.ones((3, 3))).astype(np.uint8)
    before, after = texture[:, :108].copy(), texture[:, :108].copy()
    after[:, 54:] = texture[:, 52:106]
    flow = flow_between(before, after, recipe_of("tvl1"))
    assert np.median(np.abs(flow[10:-10, 8:44, 0])) < 0.1
    assert np.median(flow[10:-10, 64:98, 0]) == pytest.approx(2.0, abs=0.2)


def test_less_attachment_is_smoother(pair_of):
    pair = pair_of("bump", 2.0, noise=2.0)
    flows = [flow_between(pair.onset, pair.apex, recipe_of("tvl1", f"flow.attachment={a}")) for a in (0.6, 0.03)]
    rough, smooth = (np.abs(np.diff(flow, axis=0)).mean() for flow in flows)
    assert smooth < rough


def test_tvl1_without_its_extra_says_what_to_install(head, monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage.registration", None)
    with pytest.raises(
        MissingExtra, match=r'flow method tvl1, is not installed\n  fix: pip install -c constraints.txt ".\[tvl1\]"'
    ):
        flow_between(head, head, recipe_of("tvl1"))


SHIFT = """import numpy as np
def shift(onset, apex):
    return np.full((*onset.shape[:2], 2), 0.5)
"""
FACE = np.zeros((24, 24, 3), np.uint8)


@pytest.fixture
def method(tmp_path, monkeypatch):
    def written(text=SHIFT):
        (tmp_path / "my_flow.py").write_text(text)
        monkeypatch.chdir(tmp_path)
        return recipe_of("my_flow.py:shift")

    return written


def test_a_function_of_one_s_own(method, monkeypatch):
    recipe = method()
    monkeypatch.chdir("/")  # as in a worker
    flow = flow_between(FACE, FACE, recipe)
    assert flow.dtype == np.float32 and flow.shape == (24, 24, 2) and (flow == 0.5).all()
    meta = recipe.to_meta()["flow"]
    assert meta["method"] == "my_flow.py:shift" and len(meta["code"]) == 16
    assert method(SHIFT.replace("0.5", "0.25")).digest != recipe.digest
    with pytest.raises(ConfigError, match=r"my_flow\.py:shift has changed since this command started\n  fix: run"):
        flow_between(FACE, FACE, recipe)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "*onset.shape[:2], 2",
            "24, 24",
            r"shift returned float64 \(24, 24\), not float \(24, 24, 2\)\n  fix: return u and v",
        ),
        ("0.5", "np.nan", r"shift returned values that are not finite\n  fix: return numbers"),
        ("0.5", "1 / 0", r"shift, line 3, failed: ZeroDivisionError: division by zero\n  fix: correct that function"),
        ("np.full((*onset.shape[:2], 2), 0.5)", "'a'", r"shift returned <U1 \(\), not float"),
    ],
)
def test_a_function_that_gives_no_flow(method, old, new, message):
    recipe = method(SHIFT.replace(old, new))
    with pytest.raises(ShapeError, match=message):
        flow_between(FACE, FACE, recipe)


def test_a_function_that_is_not_there(method):
    method()
    with pytest.raises(ConfigError, match=r"there is no 'shft' in it\n  fix: did you mean 'shift'\?"):
        recipe_of("my_flow.py:shft")
