import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from epir.tokens.merging import (
    Merger,
    holds,
    largest_at_once,
    largest_one_by_one,
    most_similar_pairs,
    patches_held,
    plan_pairs,
    positions,
)


def keys_of(*vectors):
    """One clip: a class token, then these keys."""
    return torch.tensor([[[0.0] * len(vectors[0]), *map(list, vectors)]])


def test_the_hand_worked_pairs_of_a_five_token_example():
    # patch tokens 0, 2, 4 against 1, 3: token 4 equals token 1, then 0 is nearer to 3 than 2 is
    keys = keys_of((1, 0.4), (0, 1), (-1, 0), (1, 0), (0, 2))
    first, second = positions(most_similar_pairs(keys, 2), 2)
    assert first.tolist() == [[5, 1]]  # places count the class token
    assert second.tolist() == [[2, 4]]


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 12), st.integers(0, 10**6), st.data())
def test_pairs_are_disjoint_and_greedily_the_most_similar(patches, seed, data):
    pairs = data.draw(st.integers(1, patches // 2))
    keys = torch.randn(1, 1 + patches, 7, generator=torch.Generator().manual_seed(seed))
    first, second = (part[0].tolist() for part in positions(most_similar_pairs(keys, pairs), patches // 2))
    assert len({*first, *second}) == 2 * pairs
    assert 0 not in (*first, *second)  # the class token never takes part

    free = set(itertools.product(range(1, 1 + patches, 2), range(2, 1 + patches, 2)))
    for a, b in zip(first, second, strict=True):  # a loop written from the definition
        cosine = {pair: torch.cosine_similarity(keys[0, pair[0]], keys[0, pair[1]], dim=0).item() for pair in free}
        assert cosine[a, b] == pytest.approx(max(cosine.values()), abs=1e-6)
        free = {pair for pair in free if pair[0] != a and pair[1] != b}


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 4), st.integers(1, 9), st.integers(0, 1), st.integers(0, 10**6), st.data())
def test_one_by_one_and_at_once_the_same_values_are_the_largest(clips, columns, more, seed, data):
    pairs = data.draw(st.integers(1, columns))
    size = (clips, columns + more, columns)
    values = torch.randint(0, 6, size, generator=torch.Generator().manual_seed(seed)).float()  # many are equal
    values[values == 5] = torch.nan  # of a key of length zero
    at_once = largest_at_once(values.clone(), pairs)
    assert torch.from_numpy(largest_one_by_one(values.clone().numpy(), pairs)).equal(at_once)


def test_many_tokens_are_paired_as_in_an_exported_graph():
    keys = torch.randn(2, 81, 6)
    unit = functional.normalize(keys, dim=-1)
    expected = largest_at_once(unit[:, 1::2] @ unit[:, 2::2].mT, 9)
    assert torch.equal(most_similar_pairs(keys, 9), expected)


@pytest.mark.parametrize("sizes", [None, torch.tensor([[1.0, 3, 1, 2, 1, 1]])])
def test_rows_of_a_merge_matrix_sum_to_1_and_columns_are_used_once(sizes):
    plan = plan_pairs(torch.tensor([[1, 5]]), torch.tensor([[4, 2]]), 6, sizes)
    assert plan.matrix.shape == (1, 4, 6)
    assert torch.allclose(plan.matrix.sum(2), torch.ones(1, 4))
    assert ((plan.matrix > 0).sum(1) == 1).all()
    assert torch.equal(plan.matrix.argmax(1), plan.into)


def test_a_merged_token_is_the_mean_of_its_two_and_stands_where_the_first_stood():
    tokens = torch.tensor([[[0.0], [10], [20], [30], [40]]])
    plan = plan_pairs(torch.tensor([[1]]), torch.tensor([[4]]), 5)
    assert (plan.matrix @ tokens).flatten().tolist() == [0, 25, 20, 30]


def test_weighting_counts_the_patches_that_each_token_holds():
    plan = plan_pairs(torch.tensor([[1]]), torch.tensor([[2]]), 3, torch.tensor([[1.0, 3, 1]]))
    assert (plan.matrix @ torch.tensor([[[0.0], [8], [4]]])).flatten().tolist() == [0, 7]


def test_merging_two_equal_tokens_gives_that_token_and_leaves_the_others():
    torch.manual_seed(0)
    tokens = torch.randn(1, 7, 5)
    tokens[0, 4] = tokens[0, 1]
    plan = Merger(7, 1)(tokens)
    after = plan.matrix @ tokens
    assert torch.allclose(after, tokens[:, [0, 1, 2, 3, 5, 6]])


@pytest.mark.parametrize("tokens", [3, 4, 6, 17])
def test_the_table_says_what_working_the_plan_out_says(tokens):
    merger = Merger(tokens, 1)
    keys = torch.randn(20, tokens, 8)
    expected = plan_pairs(*positions(most_similar_pairs(keys, 1), merger.columns), tokens)
    assert merger.has_table
    plan = merger(keys)
    assert torch.equal(plan.into, expected.into)
    assert torch.equal(plan.matrix, expected.matrix)


@pytest.mark.parametrize("weighted", [False, True])
def test_many_tokens_are_merged_without_a_table_and_by_indices_to_the_same_result(weighted):
    torch.manual_seed(0)
    merger = Merger(101, 9)
    assert not merger.has_table
    keys, tokens = torch.randn(3, 101, 8), torch.randn(3, 101, 5)
    plan = merger(keys, torch.randint(1, 5, (3, 101)).float() if weighted else None)
    assert torch.allclose(plan.merge(tokens), plan.matrix @ tokens, atol=1e-5)
    assert not Merger(257, 1).has_table  # it would be large


def test_keys_of_length_zero_do_not_spoil_the_choice():
    assert torch.isfinite(Merger(5, 2)(torch.zeros(1, 5, 3)).matrix).all()


def test_a_token_without_a_key_is_merged_first():
    keys = torch.ones(1, 7, 3)  # every other pair is as similar as can be
    keys[0, 4] = 0
    into = Merger(7, 1)(keys).into[0].tolist()
    assert into.count(into[4]) == 2


def test_provenance_as_0_and_1():
    holder = torch.tensor([[1, 2, 1, 3]])
    assert holds(holder, 3).tolist() == [[[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]]]
    assert patches_held(holder, 4).tolist() == [[1, 2, 1, 1]]
