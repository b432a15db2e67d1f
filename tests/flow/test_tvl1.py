import numpy as np
import pytest

from epir.flow.tvl1 import _divergence, _forward_gradient, tvl1_flow


def test_the_divergence_is_minus_the_adjoint_of_the_gradient():
    draw = np.random.default_rng(0)
    part, dual = draw.normal(size=(9, 7)), draw.normal(size=(2, 9, 7))
    assert (_forward_gradient(part) * dual).sum() == pytest.approx(-(part * _divergence(dual)).sum())


def test_a_sharp_edge_of_motion_stays_sharp():
    # Total variation allows jumps: the left half stands still, the right half moves by 2 px.
    draw = np.random.default_rng(1)
    texture = np.kron(draw.integers(40, 220, (32, 40)), np.ones((3, 3))).astype(np.uint8)
    before, after = texture[:, :108].copy(), texture[:, :108].copy()
    after[:, 54:] = texture[:, 52:106]
    flow = tvl1_flow(before, after, attachment=0.3)
    assert np.median(np.abs(flow[10:-10, 8:44, 0])) < 0.1
    assert np.median(flow[10:-10, 64:98, 0]) == pytest.approx(2.0, abs=0.2)


def test_a_small_picture_has_one_level_only():
    face = np.random.default_rng(2).integers(0, 256, (20, 20), dtype=np.uint8)
    assert tvl1_flow(face, face).shape == (20, 20, 2)
    assert np.abs(tvl1_flow(face, face)).max() < 1e-3


def test_less_attachment_is_smoother(pair_of):
    pair = pair_of("bump", 2.0, noise=2.0)
    before, after = pair.onset[..., 1].copy(), pair.apex[..., 1].copy()
    rough, smooth = (np.abs(np.diff(tvl1_flow(before, after, attachment=a), axis=0)).mean() for a in (0.6, 0.03))
    assert smooth < rough
