from epir.synthetic.units import BLINK, action_units


def test_each_unit_of_the_table_pushes_something():
    units = action_units()
    assert len(units) == 22 and BLINK in units
    for unit in units.values():
        assert unit.pushes and max(push.weight for push in unit.pushes) > 0.5
        for push in unit.pushes:
            assert push.weight > 0 and push.radius_x > 0.5 and push.radius_y > 0.5
            assert -1 <= push.right <= 1 and -1 <= push.down <= 1
            assert push.both or (push.x == 0 and push.right == 0), "a push on the midline has no side"


def test_the_smile_pulls_the_mouth_corner_up_and_out_and_the_frown_pulls_the_brow_down_and_in():
    corner = action_units()[12].pushes[0]
    assert corner.x > 5 and corner.y > 17 and corner.right > 0 and corner.down < 0
    brow = action_units()[4].pushes[0]
    assert brow.y < 5 and brow.right < 0 and brow.down > 0
