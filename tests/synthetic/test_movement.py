import numpy as np
import pytest

from epir.core.seeds import generator
from epir.synthetic.expressions import ActiveUnit
from epir.synthetic.identity import Geometry, draw_identity
from epir.synthetic.movement import SkinMovement, SkinPatch, draw_movement, place

X = np.arange(-13.5, 14, 1, dtype=np.float32)[None, :]
Y = np.arange(0, 28, 1, dtype=np.float32)[:, None]


def means_around(unit, points, people=40):
    """The mean displacement around points of the face, over many people: (points, 2)."""
    total = np.zeros((len(points), 2))
    for number in range(people):
        geometry = draw_identity(1, str(number)).geometry
        movement = draw_movement((ActiveUnit(unit, 1.0, 1.0),), geometry, generator(1, "m", number))
        for row, point in enumerate(points):
            x, y = point(geometry)
            total[row] += movement.displacement(np.float32([[x]]), np.float32([[y]]))[0, 0] / people
    return total


def test_unit_12_moves_the_mouth_corners_up_and_out():
    left, right = means_around(12, [lambda g: (-g.mouth_half, g.mouth_y), lambda g: (g.mouth_half, g.mouth_y)])
    assert left[0] < -0.15 and right[0] > 0.15
    assert left[1] < -0.3 and right[1] < -0.3


def test_unit_4_lowers_the_brows_and_draws_them_together():
    left, right = means_around(4, [lambda g: (-4.5, g.brow_y + 0.3), lambda g: (4.5, g.brow_y + 0.3)])
    assert left[1] > 0.3 and right[1] > 0.3
    assert left[0] > 0.15 and right[0] < -0.15


def test_units_1_and_2_raise_the_brows_and_leave_the_mouth_alone():
    for unit, x in ((1, 3.4), (2, 8.8)):
        brow, mouth = means_around(unit, [lambda g, x=x: (x, g.brow_y + 0.3), lambda g: (0, g.mouth_y)], people=20)
        assert brow[1] < -0.4
        assert np.abs(mouth).max() < 0.02


def test_the_mirrored_movement_is_the_mirrored_field_with_u_negated(person):
    movement = draw_movement(
        (ActiveUnit(12, 1.0, 0.2), ActiveUnit(4, 0.7, 0.7)), person.geometry, generator(0, "mirror")
    )
    field, mirrored = movement.displacement(X, Y), movement.mirrored().displacement(X, Y)
    np.testing.assert_allclose(mirrored, field[:, ::-1] * np.float32([-1, 1]), atol=1e-5)
    assert np.abs(field - mirrored).max() > 0.1, "a one-sided smile is not its own mirror image"


def test_the_strongest_point_has_length_1_and_the_far_field_dies_away(person):
    for number in range(20):
        movement = draw_movement((ActiveUnit(12, 0.6, 0.6),), person.geometry, generator(0, "peak", number))
        lengths = np.linalg.norm(movement.on_lattice(), axis=-1)
        assert lengths.max() == pytest.approx(1, abs=1e-5)
        far = movement.displacement(np.float32([[0.0]]), np.float32([[-12.0]]))
        assert np.abs(far).max() < 0.1


def test_a_patch_is_strongest_at_its_centre_and_has_its_radii():
    movement = SkinMovement((SkinPatch(2, 10, 3, 1.5, 0, 0.6, -0.8),), power=2.0)
    at = lambda x, y: movement.displacement(np.float32([[x]]), np.float32([[y]]))[0, 0]  # noqa: E731
    np.testing.assert_allclose(at(5, 10), at(2, 11.5), atol=1e-6)  # one radius away in either direction
    np.testing.assert_allclose(at(5, 10) / at(2, 10), np.exp(-0.5), rtol=1e-5)
    assert at(2, 10)[0] > 0 > at(2, 10)[1]


def test_fields_do_not_depend_on_the_resolution(person):
    movement = draw_movement((ActiveUnit(9, 1.0, 1.0),), person.geometry, generator(0, "size"))
    fine = movement.displacement(np.arange(-14, 14, 0.25, dtype=np.float32)[None, :], Y)
    coarse = movement.displacement(np.arange(-14, 14, 1, dtype=np.float32)[None, :], Y)
    np.testing.assert_allclose(fine[:, ::4], coarse, atol=1e-6)


def test_points_keep_their_order_on_every_face():
    heights = np.linspace(-6, 29, 60)
    for number in range(50):
        geometry = draw_identity(2, str(number)).geometry
        placed = [place(geometry, 5.0, float(y))[1] for y in heights]
        assert (np.diff(placed) > 0).all()
    assert place(Geometry(), 6.2, 18.8) == pytest.approx((6.2, 18.8))


def test_unit_7_raises_the_lower_lid_and_not_the_cheek_and_draws_the_outer_corner_inwards():
    lower, upper, cheek, corner = means_around(
        7,
        [
            lambda g: (g.eye_x, g.eye_y + 1.4),
            lambda g: (g.eye_x, g.eye_y - 1.2),
            lambda g: (8.2, 11.5),
            lambda g: (g.eye_x + 2.7, g.eye_y - 1.0),
        ],
    )
    assert lower[1] < -0.4
    assert abs(upper[1]) < 0.25 * abs(lower[1])
    assert abs(cheek[1]) < 0.25 * abs(lower[1])  # a raised cheek is unit 6, and makes a smile of it
    assert corner[0] < -0.3


def test_unit_14_draws_the_mouth_corners_out_more_than_up_and_unit_12_does_not():
    corner = [lambda g: (g.mouth_half + 0.8, g.mouth_y)]
    dimple, smile = means_around(14, corner)[0], means_around(12, corner)[0]
    assert dimple[0] > 0.4 and dimple[0] > 1.3 * abs(dimple[1])
    assert smile[0] < 1.2 * abs(smile[1])


def test_unit_6_raises_the_cheeks_and_unit_25_lowers_lip_and_chin():
    cheek, lid = means_around(6, [lambda g: (8.2, 11.5), lambda g: (g.eye_x, g.eye_y + 1.6)])
    assert cheek[1] < -0.4 and lid[1] < -0.2
    lip, chin = means_around(25, [lambda g: (0, g.mouth_y + 1.8), lambda g: (0, g.mouth_y + 5)])
    assert lip[1] > 0.6 and 0.3 < chin[1] < lip[1]


def test_unit_23_narrows_the_lips():
    left, right, lower = means_around(
        23, [lambda g: (-g.mouth_half, g.mouth_y), lambda g: (g.mouth_half, g.mouth_y), lambda g: (0, g.mouth_y + 1.4)]
    )
    assert left[0] > 0.2 and right[0] < -0.2 and lower[1] < -0.2


@pytest.mark.parametrize("unit", [4, 6, 7, 10, 12, 14, 15, 20, 23, 25])
def test_a_unit_on_both_sides_is_its_own_mirror_image_on_average(unit):
    fields = [
        draw_movement((ActiveUnit(unit, 1, 1),), Geometry(), generator(2, "s", n)).displacement(X, Y) for n in range(60)
    ]
    mean = np.mean(fields, axis=0)
    mirrored = mean[:, ::-1] * np.float32([-1, 1])
    assert np.abs(mean - mirrored).mean() < 0.3 * np.abs(mean).mean()


def test_the_lower_face_moves_over_a_wider_area_than_the_lids():
    def area(unit):  # above half of the peak, in square face units
        lengths = [
            np.linalg.norm(
                draw_movement((ActiveUnit(unit, 1, 1),), Geometry(), generator(3, "a", n)).displacement(X, Y), axis=-1
            )
            for n in range(20)
        ]
        return np.mean([(length > 0.5 * length.max()).sum() for length in lengths])

    lids = area(5)
    assert all(area(unit) > 1.5 * lids for unit in (6, 12, 20, 25, 26))
