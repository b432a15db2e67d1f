import numpy as np
import pytest

from epir.core.errors import ConfigError
from epir.core.seeds import generator
from epir.datasets.protocols import get_protocol
from epir.synthetic.expressions import Action, Expression, draw_expression, emotions, expression_table
from epir.synthetic.units import BLINK, action_units


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
    assert Expression("x", (Action(4, 0.9, 0.9), Action(14, 0.8, 0.1))).units == "4+L14"
    assert Expression("x", (Action(12, 0.1, 0.8),)).units == "R12"
    assert Expression("x", (Action(12, 0.1, 0.8),)).amplitudes == "0.80"


def test_what_lies_on_the_midline_has_no_side():
    random = generator(0, "sides")
    for _ in range(300):
        for action in draw_expression(3, "negative", random).actions:
            if not any(push.both for push in action_units()[action.unit].pushes):
                assert action.left == action.right
