import pytest

from epir.core.errors import RunError
from epir.models.tokens import Tokens, read_tokens


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


def test_attention_is_the_mean_of_the_heads():
    tokens = Tokens(((0,), (1,), (2,), (3,)), (), ((1.0, 0.0, 0.0, 0.0), (0.0, 0.5, 0.5, 0.0)))
    assert tokens.attention == (0.5, 0.25, 0.25, 0.0)
