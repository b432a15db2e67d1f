import pytest

from epir.core.errors import ConfigError
from epir.flow.recipe import flow_recipe
from epir.maps.views import frame_pairs, pairs_text, read_views


def names(text):
    return [view.name for view in read_views(text)]


def pairs(text, numbers, onset, apex, offset):
    return frame_pairs(read_views(text), numbers, onset, apex, offset)


def test_views_are_named_in_the_order_of_time():
    assert names("apex") == ["apex"]
    assert names("rise2+return2") == ["rise1", "rise2", "return1", "return2"]
    assert names("neighbours") == ["before-apex", "apex", "after-apex"]
    assert names("apex + apex:dis") == ["apex", "apex:dis"]
    assert names("rise") == ["rise1"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", r"cannot read --views ''\n  fix: give apex, neighbours, rise2\+return2"),
        ("risen2", r"cannot read --views 'risen2'"),
        ("rise0", r"a rise cannot be cut into 0 pieces\n  fix: give 1 to 16"),
        ("rise2+rise2", r"--views rise2\+rise2 has rise1 twice\n  fix: name each view once"),
        ("rise16+return16+apex", r"are 33 maps per clip\n  fix: give 32 or fewer"),
        ("apex:farnebeck", r"flow method 'farnebeck'.*\n  fix: did you mean 'farneback'"),
    ],
)
def test_views_that_cannot_be_are_refused(text, words):
    with pytest.raises(ConfigError, match=words):
        read_views(text)


def test_pieces_are_of_equal_time_and_go_from_less_to_more():
    """Onset 10, apex 30, offset 50: the return is read backwards, so that its signs are those of the rise."""
    assert pairs("rise2+return2", range(1, 99), 10, 30, 50) == ((10, 20), (20, 30), (40, 30), (50, 40))
    assert pairs("apex", range(1, 99), 10, 30, None) == ((10, 30),)
    assert pairs("neighbours", range(1, 99), 10, 30, 50) == ((10, 29), (10, 30), (10, 31))


def test_pieces_end_at_frames_that_are_there():
    assert pairs("rise2", (1, 4, 5, 9), 1, 9, None) == ((1, 5), (5, 9))
    assert pairs("neighbours", (10, 20, 30, 40), 10, 30, 40) == ((10, 20), (10, 30), (10, 40))


def test_a_missing_offset_lies_as_far_after_the_apex_as_the_onset_before_it():
    assert pairs("return2", range(1, 99), 10, 30, None) == ((40, 30), (50, 40))
    assert pairs("return2", range(1, 41), 10, 30, None) == ((35, 30), (40, 35))  # as far as there are frames


def test_a_return_that_was_not_filmed_is_that_of_the_rise():
    assert pairs("return2", range(1, 31), 10, 30, None) == ((20, 30), (10, 20))
    assert pairs("neighbours", range(10, 31), 10, 30, None)[2] == (10, 30)


def test_a_piece_without_motion_becomes_its_whole_phase():
    assert pairs("rise3+return2", (4, 5, 7), 4, 5, 7) == ((4, 5), (4, 5), (4, 5), (7, 5), (7, 5))


def test_no_pair_is_of_one_frame_twice():
    for numbers, apex in ((range(0, 12), 3), ((0, 1, 2), 1), ((0, 9), 9), (range(0, 100, 7), 49)):
        for first, second in pairs("rise5+return4+neighbours", numbers, 0, apex, numbers[-1]):
            assert first != second
            assert {first, second} <= set(numbers)


def test_a_view_may_have_a_flow_method_of_its_own():
    recipe = flow_recipe()
    plain, other = read_views("apex+apex:dis")
    assert plain.recipe(recipe) is recipe
    assert other.recipe(recipe).flow.method == "dis"
    assert other.recipe(recipe).flow.size == recipe.flow.size


def test_pairs_are_written_with_nothing_where_they_are_not_known():
    assert pairs_text([(12, 20), None, (31, 20)]) == "12-20;;31-20"
