import numpy as np
import pytest

from epir.core.errors import ConfigError
from epir.core.seeds import generator
from epir.datasets.protocols import get_protocol
from epir.synthetic.expressions import (
    BLINK,
    Action,
    Expression,
    action_units,
    certainty,
    draw_expression,
    emotions,
    expression_table,
)


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


def test_chances_add_up_and_units_exist():
    for lists in expression_table().values():
        for combinations in lists.values():
            assert sum(combination.chance for combination in combinations) == pytest.approx(1, abs=0.003)
            for combination in combinations:
                assert 0 <= combination.one_sided <= 1
                for unit, low, high in combination.units:
                    assert unit in action_units() and unit != BLINK and 0 < low < high <= 1


@pytest.mark.parametrize(("classes", "protocol"), [(3, "cde"), (5, "sde-casme2"), (7, "sde-casme3-7")])
def test_the_words_are_those_of_the_protocol_with_as_many_classes(classes, protocol):
    assert sorted(emotions(classes)) == sorted(get_protocol(protocol).classes)


@pytest.mark.parametrize("classes", [0, 1, 4])
def test_other_numbers_of_classes_are_refused(classes):
    with pytest.raises(ConfigError, match=rf"there is no list of {classes} classes\n  fix: use one of: 3, 5, 7"):
        emotions(classes)


def test_combinations_come_as_often_as_the_table_says():
    random = generator(0, "count")
    drawn = [draw_expression(3, "surprise", random) for _ in range(800)]
    both_brows = np.mean([{1, 2} <= {action.unit for action in one.actions} for one in drawn])
    expected = sum(c.chance for c in expression_table()[3]["surprise"] if {1, 2} <= {unit for unit, _, _ in c.units})
    assert both_brows == pytest.approx(expected, abs=4 * (expected * (1 - expected) / 800) ** 0.5)


def test_one_sided_expressions_are_written_with_their_side():
    assert Expression("x", (Action(4, 0.9, 0.9), Action(14, 0.8, 0.1))).units == "4+R14"
    assert Expression("x", (Action(12, 0.1, 0.8),)).units == "L12"
    assert Expression("x", (Action(12, 0.1, 0.8),)).amplitudes == "0.80"


def test_what_lies_on_the_midline_has_no_side():
    random = generator(0, "sides")
    for _ in range(300):
        for action in draw_expression(3, "negative", random).actions:
            if not any(push.both for push in action_units()[action.unit].pushes):
                assert action.left == action.right


def test_how_often_units_mean_an_emotion_worked_by_hand():
    rows = {row.numbers: row for row in expression_table()[3]["negative"]}
    dimple = certainty(3, "negative", rows[frozenset({14})])
    assert dimple == pytest.approx(0.083 / (0.083 + 0.057), abs=0.01)
    assert certainty(3, "positive", rows[frozenset({14})]) == pytest.approx(1 - dimple)
    assert certainty(3, "negative", rows[frozenset({4})]) == 1  # nobody else only lowers the brows
    assert certainty(3, "positive", rows[frozenset({14})]) < 0.5  # a dimple is negative more often than positive


def test_an_expression_says_how_certain_its_units_are():
    random = np.random.default_rng(0)
    drawn = [draw_expression(3, "negative", random) for _ in range(200)]
    assert {round(each.certainty, 2) for each in drawn} >= {0.59, 1.0}
