import numpy as np
import pytest

from epir.synthetic.drawing.curve import Curve


def test_a_curve_goes_through_its_points_and_stays_level_beyond_them():
    curve = Curve([0, 1, 2.5, 4], [1, 3, 2, 5])
    np.testing.assert_allclose(curve(np.array([0, 1, 2.5, 4])), [1, 3, 2, 5], atol=1e-6)
    np.testing.assert_allclose(curve(np.array([-3, 9])), [1, 5])


def test_it_is_smooth():
    curve = Curve([0, 1, 2.5, 4], [1, 3, 2, 5])
    fine = np.arange(0, 4, 0.01)
    bend = np.diff(curve(fine).astype(float), 2) / 0.01**2
    assert np.abs(np.diff(bend)).max() < 1.0, "the second derivative has no jump"
    assert abs(curve(np.array([0.01]))[0] - 1) < 1e-3, "level at its ends"


def test_the_table_agrees_with_the_curve():
    curve = Curve([0, 2, 3], [1, 0, 2], level=False)
    x = np.linspace(0, 3, 77)
    np.testing.assert_allclose(np.interp(x, *curve.table()), curve(x), atol=1e-4)


def test_points_out_of_order_are_a_mistake():
    with pytest.raises(AssertionError, match="left to right"):
        Curve([0, 2, 1], [0, 0, 0])
