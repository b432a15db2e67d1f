import numpy as np
import pytest

from epir.synthetic.blink import SHUT, close_lids, open_lids
from epir.synthetic.drawing.eyes import Lids
from epir.synthetic.identity import Geometry

LIDS = Lids.of(Geometry())
X, Y = np.meshgrid(np.linspace(-11, 11, 180), np.linspace(1, 12, 150))


@pytest.mark.parametrize("closure", [0.1, 0.5, 0.9, 1.0])
def test_opening_takes_closing_back(closure):
    np.testing.assert_allclose(open_lids(LIDS, X, close_lids(LIDS, X, Y, closure), closure), Y, atol=1e-5)


def test_a_shut_eye_has_hardly_any_opening_left():
    a = np.array([6.8])
    upper, lower = LIDS.upper(a), LIDS.lower(a)
    shut = close_lids(LIDS, a, lower, 1.0) - close_lids(LIDS, a, upper, 1.0)
    np.testing.assert_allclose(shut, (1 - SHUT) * (lower - upper), rtol=1e-4)
    assert (close_lids(LIDS, a, upper, 1.0) - upper) > 0.8 * SHUT * (lower - upper), "the upper lid does the work"


def test_only_the_eyes_move_and_both_alike():
    moved = close_lids(LIDS, X, Y, 1.0) - Y
    assert np.abs(moved[:, np.abs(X[0]) < LIDS.inner]).max() == 0
    assert np.abs(moved[Y[:, 0] > 10.5]).max() == 0
    np.testing.assert_allclose(moved, moved[:, ::-1], atol=1e-5)
    assert moved.max() > 1.5
