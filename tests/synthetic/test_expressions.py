import numpy as np
import pytest

from epir.core.errors import ConfigError
from epir.core.seeds import generator
from epir.datasets.protocols import get_protocol
from epir.synthetic.expressions import (
    BLINK,
    ActiveUnit,
    Expression,
    certainty,
    draw_expression,
    emotions,
    expression_table,
    unit_pushes,
)


def test_each_unit_of_the_table_pushes_something():
    units = unit_pushes()
    assert len(units) == 22 and BLINK in units
    for pushes in units.values():
        assert pushes and max(push.weight for push in pushes) > 0.5
        for push in pushes:
            assert push.weight > 0 and push.radius_x > 0.5 and push.radius_y > 0.5
            assert -1 <= push.right <= 1 and -1 <= push.down <= 1
            assert push.both or (push.x == 0 and push.right == 0), "a push on the midline has no side"


def test_the_smile_pulls_the_mouth_corner_up_and_out_and_the_frown_pulls_the_brow_down_and_in():
    corner = unit_pushes()[12][0]
    assert corner.x > 5 and corner.y > 17 and corner.right > 0 and corner.down < 0
    brow = unit_pushes()[4][0]
    assert brow.y < 5 and brow.right < 0 and brow.down > 0


def test_probabilities_add_up_and_units_exist():
    for lists in expression_table().values():
        for combinations in lists.values():
            assert sum(combination.chance for combination in combinations) == pytest.approx(1, abs=0.003)
            for combination in combinations:
                assert 0 <= combination.one_sided <= 1
                for unit, low, high in combination.units:
                    assert unit in unit_pushes() and unit != BLINK and 0 < low < high <= 1


@pytest.mark.parametrize(("classes", "protocol"), [(3, "cde"), (5, "sde-casme2"), (7, "sde-casme3-7")])
def test_the_words_are_those_of_the_protocol_with_as_many_classes(classes, protocol):
    assert sorted(emotions(classes)) == sorted(get_protocol(protocol).classes)


@pytest.mark.parametrize("classes", [0, 1, 4])
def test_other_numbers_of_classes_are_refused(classes):
    with pytest.raises(ConfigError, match=rf"there is no list of {classes} classes\n  fix: use one of: 3, 5, 7"):
        emotions(classes)


def test_combinations_are_as_frequent_as_in_the_table():
    random = generator(0, "count")
    drawn = [draw_expression(3, "surprise", random) for _ in range(800)]
    both_brows = np.mean([{1, 2} <= {action.unit for action in one.active_units} for one in drawn])
    expected = sum(c.chance for c in expression_table()[3]["surprise"] if {1, 2} <= {unit for unit, _, _ in c.units})
    assert both_brows == pytest.approx(expected, abs=4 * (expected * (1 - expected) / 800) ** 0.5)


@pytest.mark.parametrize(
    ("emotion", "units", "share"),
    [
        ("surprise", {5}, 0.445),
        ("surprise", {1, 2, 5}, 0.325),
        ("positive", {6}, 0.373),
        ("negative", {9}, 0.060),
        ("negative", {12}, 0.039),
    ],
)
def test_units_occur_half_way_between_the_composite_and_other_peoples_annotations(emotion, units, share):
    random = generator(1, "priors", emotion, len(units))
    drawn = [{action.unit for action in draw_expression(3, emotion, random).active_units} for _ in range(1500)]
    extra = 0.1 / 20  # the chance that the further weak unit is this one
    bound = 4 * (share * (1 - share) / 1500) ** 0.5
    assert share - bound < np.mean([units <= each for each in drawn]) < share + extra + bound


def test_one_sided_expressions_are_written_with_their_side():
    assert Expression("x", (ActiveUnit(4, 0.9, 0.9), ActiveUnit(14, 0.8, 0.1))).units == "4+R14"
    assert Expression("x", (ActiveUnit(12, 0.1, 0.8),)).units == "L12"
    assert Expression("x", (ActiveUnit(12, 0.1, 0.8),)).amplitudes == "0.80"


def test_units_on_the_midline_have_no_side():
    random = generator(0, "sides")
    for _ in range(300):
        for action in draw_expression(3, "negative", random).active_units:
            if not any(push.both for push in unit_pushes()[action.unit]):
                assert action.left == action.right


def test_how_often_units_mean_an_emotion_worked_by_hand():
    rows = {row.numbers: row for row in expression_table()[3]["negative"]}
    dimple = certainty(3, "negative", rows[frozenset({14})])
    assert dimple == pytest.approx(0.083 / (0.083 + 0.053), abs=0.01)
    assert certainty(3, "positive", rows[frozenset({14})]) == pytest.approx(1 - dimple)
    assert certainty(3, "negative", rows[frozenset({4})]) == 1  # nobody else only lowers the brows
    assert certainty(3, "negative", rows[frozenset({12})]) < 0.05  # a smile


def test_an_expression_says_how_certain_its_units_are():
    random = np.random.default_rng(0)
    drawn = [draw_expression(3, "negative", random) for _ in range(200)]
    assert {round(each.certainty, 2) for each in drawn} >= {0.61, 1.0}


@pytest.mark.parametrize("tables", ["annotated", "textbook"])
def test_every_table_is_whole(tables):
    for emotions_of in expression_table(tables).values():
        for rows in emotions_of.values():
            assert sum(row.chance for row in rows) == pytest.approx(1, abs=0.005)
            assert {unit for row in rows for unit in row.numbers} <= set(unit_pushes(tables)) - {BLINK}


def test_the_textbook_differs_in_three_classes_and_in_the_size_of_patches():
    ours, theirs = expression_table(), expression_table("textbook")
    assert ours[3] != theirs[3] and ours[5] == theirs[5] and ours[7] == theirs[7]

    def area(tables):
        return np.mean([push.radius_x * push.radius_y for pushes in unit_pushes(tables).values() for push in pushes])

    assert area("textbook") < area("annotated")
