import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epir.core.errors import RunError
from epir.reports.tokens import (
    Tokens,
    borders,
    head_overlay,
    heat_limit,
    heat_overlay,
    heat_range,
    heat_shares,
    merged_overlay,
    numbered_overlay,
    outline,
    read_tokens,
)

TOKENS = Tokens(groups=((0, 1), (2,), (3,)), selected=(0, 0, 2), rollout=((0.7, 0.1, 0.1, 0.1),) * 3)


def test_a_record_is_read_and_counted():
    tokens = read_tokens({"groups": [[0, 1], [2], [3]], "selected": [1], "rollout": [[0.25] * 4]}, "here")
    assert (tokens.grid, tokens.patches, tokens.merged, tokens.rate) == (2, 4, ((0, 1),), 0.25)


@pytest.mark.parametrize(
    "record",
    [
        {},
        None,
        {"groups": [[0], [0], [1], [2]], "selected": [0], "rollout": []},
        {"groups": [[0], [1], [2], [3]], "selected": [4], "rollout": []},
        {"groups": [["x"]], "selected": [0], "rollout": []},
    ],
)
def test_a_damaged_record_is_named_with_its_place(record):
    with pytest.raises(RunError, match=r"the fold f has damaged token records\n  fix: remove that file"):
        read_tokens(record, "the fold f")


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
    assert outline((0,), 2).count("M") == 4


def test_patches_of_one_token_share_colour_and_letter():
    drawn = merged_overlay(TOKENS)
    assert drawn.count('class="tint g0"') == 1
    assert drawn.count(">A</text>") == 2
    assert "g1" not in drawn


def test_many_small_patches_have_no_letters():
    groups = ((0, 1), *((patch,) for patch in range(2, 256)))
    assert "<text" not in merged_overlay(Tokens(groups, (), ()))


def test_the_most_looked_at_patch_is_darkest_and_even_attention_has_no_colour():
    def shares(weights):
        return [float(value) for value in re.findall(r'fill-opacity="([\d.]+)"', heat_overlay(weights, 2))]

    assert shares([0.4, 0.1, 0.2, 0.3]) == pytest.approx([0.8, 0.27, 0.53])  # the least is left clear
    assert shares([0.25] * 4) == []
    assert heat_shares([0.25] * 4) == [0.0] * 4
    assert heat_range([0.1, 0.2, 0.305, 0.395]) == "10–40 %"
    assert heat_limit([0.5, 0.5, 0, 0]) == 1.0


def test_the_selected_token_is_outlined_for_its_head_and_numbered_for_all():
    assert outline((0, 1), 2) in head_overlay(TOKENS, 0)
    assert outline((3,), 2) in head_overlay(TOKENS, 2)
    assert outline((0, 1), 2) not in head_overlay(TOKENS, 2)
    numbered = numbered_overlay(TOKENS)
    assert numbered.count(">1 2</text>") == 2
    assert numbered.count(">3</text>") == 1


def test_a_model_that_selects_nothing_has_heat_only():
    drawn = head_overlay(Tokens(((0,), (1,), (2,), (3,)), (), ((0.1, 0.2, 0.3, 0.4),)), 0)
    assert "chosen" not in drawn
    assert "heat" in drawn
