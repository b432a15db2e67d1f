import numpy as np
import pytest

from epir.flow.strain import derivatives, optical_strain


def linear_flow(u_x, u_y, v_x, v_y, size=12):
    """The flow u = u_x x + u_y y, v = v_x x + v_y y about an arbitrary centre."""
    y, x = np.mgrid[0:size, 0:size].astype(np.float32)
    return np.stack([u_x * x + u_y * y + 3, v_x * x + v_y * y - 2], axis=-1)


def test_a_pure_turn_has_no_tensor_strain_but_some_in_the_papers_reading():
    turn = linear_flow(0, -0.1, 0.1, 0)
    assert optical_strain(turn, "tensor") == pytest.approx(0, abs=1e-6)
    assert optical_strain(turn, "paper") == pytest.approx(0.1, abs=1e-6)  # sqrt((0.1^2 + 0.1^2) / 2)


def test_a_shift_has_no_strain():
    for kind in ("paper", "tensor"):
        assert not optical_strain(linear_flow(0, 0, 0, 0), kind).any()


@pytest.mark.parametrize("kind", ["paper", "tensor"])
def test_stretching_along_one_axis_is_itself(kind):
    assert optical_strain(linear_flow(0.2, 0, 0, 0), kind) == pytest.approx(0.2, abs=1e-6)
    assert optical_strain(linear_flow(0, 0, 0, -0.2), kind) == pytest.approx(0.2, abs=1e-6)


@pytest.mark.parametrize("kind", ["paper", "tensor"])
def test_growing_evenly_worked_by_hand(kind):
    assert optical_strain(linear_flow(0.3, 0, 0, 0.3), kind) == pytest.approx(0.3 * np.sqrt(2), abs=1e-5)


def test_shear_counts_differently():
    shear = linear_flow(0, 0.4, 0, 0)
    assert optical_strain(shear, "paper") == pytest.approx(np.sqrt(0.08), abs=1e-6)
    assert optical_strain(shear, "tensor") == pytest.approx(np.sqrt(0.08), abs=1e-6)
    both = linear_flow(0, 0.4, 0.4, 0)
    assert optical_strain(both, "paper") == pytest.approx(0.4, abs=1e-6)
    assert optical_strain(both, "tensor") == pytest.approx(0.4 * np.sqrt(2), abs=1e-6)


def test_magnitude_is_the_length_of_the_flow():
    flow = np.zeros((4, 5, 2), np.float32)
    flow[..., 0], flow[..., 1] = 3, 4
    assert (optical_strain(flow, "magnitude") == 5).all()


def test_derivatives_of_a_parabola_are_exact_also_at_the_border():
    y, x = np.mgrid[0:9, 0:7].astype(float)
    across, down = derivatives(x**2 - 3 * y**2 + x * y)
    np.testing.assert_allclose(across, 2 * x + y, atol=1e-9)
    np.testing.assert_allclose(down, -6 * y + x, atol=1e-9)


def test_strain_does_not_change_with_resolution():
    # The same motion seen at twice the size: displacements double, and so does the distance between points.
    coarse, fine = (optical_strain(linear_flow(0.1, 0.05, -0.02, 0.2, size), "paper") for size in (10, 20))
    assert coarse.mean() == pytest.approx(fine.mean(), rel=1e-5)
