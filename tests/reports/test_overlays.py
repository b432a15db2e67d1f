import pytest
from hypothesis import given
from hypothesis import strategies as st

from epir.models.predict import Tokens
from epir.reports.overlays import (
    COLD,
    DARK,
    HEADS,
    HEAT,
    attribution_overlay,
    borders,
    head_overlays,
    heat_overlay,
    heat_range,
    merged_overlay,
    outline_overlay,
    selected_overlay,
)

TOKENS = Tokens(groups=((0, 1), (2,), (3,)), selected=(0, 0, 2), rollout=((0.7, 0.1, 0.1, 0.1),) * 3)


@given(st.sets(st.integers(0, 15), min_size=1))
def test_the_border_closes_around_the_patches(patches):
    sides = borders(sorted(patches), 4)
    ends: dict = {}
    for side in sides:
        for corner in side:
            ends[corner] = ends.get(corner, 0) + 1
    assert all(count % 2 == 0 for count in ends.values())  # every corner is entered as often as it is left
    shared = sum((patch + 1 in patches and patch % 4 < 3) + (patch + 4 in patches) for patch in patches)
    assert len(sides) == 4 * len(patches) - 2 * shared


def test_two_neighbours_have_one_border_of_six_sides():
    assert len(borders((0, 1), 2)) == 6


def test_patches_of_one_token_share_colour_and_letter():
    (mark,) = merged_overlay(TOKENS).marks
    assert (mark.patches, mark.word) == ((0, 1), "A")
    several = merged_overlay(Tokens(((0, 3), (1, 2)), (), ())).marks
    assert [mark.word for mark in several] == ["A", "B"]
    assert several[0].colour != several[1].colour


def test_many_small_patches_have_no_words():
    groups = ((0, 1), *((patch,) for patch in range(2, 256)))
    tokens = Tokens(groups, (0,), ((1 / 256,) * 256,))
    overlays = (merged_overlay(tokens), selected_overlay(tokens), heat_overlay(tokens.attention, 16, words=True))
    assert not any(mark.word for overlay in overlays for mark in overlay.marks)


def tints(weights, **how):
    return [mark.tint for mark in heat_overlay(weights, 2, **how).marks]


def test_heat_by_range_goes_from_the_least_to_the_most_and_even_attention_has_no_colour():
    assert tints([0.4, 0.1, 0.2, 0.3]) == pytest.approx([0.8, 0.8 / 3, 1.6 / 3])  # the least is left clear
    assert tints([0.25] * 4) == []
    assert heat_range([0.1, 0.2, 0.305, 0.395]) == "10–40 %"


def test_heat_by_share_is_pale_for_even_attention():
    assert tints([1.0, 0.0, 0.0, 0.0], scale="share") == pytest.approx([0.85])
    assert tints([1 / 16] * 16, scale="share") == pytest.approx([0.85 / 4] * 16)
    words = [mark.word for mark in heat_overlay([0.5, 0.5, 0.25, 0.0], 2, scale="share", words=True).marks]
    assert words == ["40 %", "40 %", "20 %", "0 %"]


def test_a_head_outlines_its_token_over_its_heat():
    heat, selected = head_overlays(TOKENS, 2)
    assert [mark.patches for mark in heat.marks] == [(0,)]
    assert [(mark.patches, mark.colour) for mark in selected.marks] == [((3,), DARK)]
    unselected = Tokens(TOKENS.groups, (), TOKENS.rollout)
    assert len(head_overlays(unselected, 0)) == 1


def test_selected_tokens_have_the_numbers_of_their_heads_and_the_colour_of_the_first():
    first, second = selected_overlay(TOKENS).marks
    assert (first.patches, first.word, first.colour) == ((0, 1), "1 2", HEADS[0])
    assert (second.patches, second.word, second.colour) == ((3,), "3", HEADS[2])
    assert selected_overlay(TOKENS, tinted=False).marks[0].tint == 0


def test_every_token_has_an_outline():
    assert [mark.patches for mark in outline_overlay(TOKENS).marks] == list(TOKENS.groups)


def test_the_falls_of_a_probability_are_tinted_by_their_size():
    overlay = attribution_overlay([[0.3, 0.0], [0.1, -0.15]])
    assert overlay.grid == 2
    assert [(mark.patches, mark.colour, mark.word) for mark in overlay.marks] == [
        ((0,), HEAT, "75 %"),
        ((2,), HEAT, ""),
        ((3,), COLD, ""),
    ]
    assert [mark.tint for mark in overlay.marks] == pytest.approx([0.8, 0.8 / 3, 0.4])
    assert attribution_overlay([[1e-6, 0.0], [0.0, 0.0]]).marks == ()
