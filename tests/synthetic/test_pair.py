import numpy as np
import pytest

from epir.core.seeds import generator
from epir.flow.recipe import get_recipe
from epir.synthetic.expressions import Action
from epir.synthetic.movement import draw_movement
from epir.synthetic.pair import draw_crop, draw_states, photograph_pair


@pytest.mark.parametrize("context", [0.0, 0.125])
def test_faces_have_the_size_that_the_recipe_takes(person, context):
    recipe = get_recipe("epir", ["flow.size=56", f"flow.context={context}"])
    movement = draw_movement((Action(12, 1.0, 1.0),), person.geometry, generator(0))
    onset, apex = photograph_pair(draw_crop(person, recipe), person.geometry, movement, 0.5, 0.0, recipe, generator(1))
    side = 56 + 2 * recipe.flow.border
    assert onset.shape == apex.shape == (side, side, 3) and onset.dtype == np.uint8
    assert 0 < np.abs(onset.astype(int) - apex).mean() < 20


def test_only_the_apex_shows_the_expression_and_the_head_moves_a_little():
    for number in range(50):
        before, after = draw_states(0.4, 0.0, generator(0, number))
        assert before.intensity == 0 and after.intensity == 0.4
        assert abs(after.shift_x - before.shift_x) < 1 and abs(after.roll - before.roll) < 0.05
        assert before.closure == after.closure == 0


def test_lids_close_more_often_than_they_open():
    pairs = [draw_states(0.4, 1.0, generator(0, number)) for number in range(200)]
    closing = np.mean([after.closure > before.closure for before, after in pairs])
    assert 0.65 < closing < 0.85
    assert all(0 < max(before.closure, after.closure) < 0.95 for before, after in pairs)
