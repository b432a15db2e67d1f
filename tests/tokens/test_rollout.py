import torch

from epir.tokens.merging import Merger
from epir.tokens.rollout import best_token_per_head, class_row, gather_selected, token_scores


def test_the_vector_rollout_equals_the_full_product_of_matrices():
    torch.manual_seed(0)
    batch, heads, counts = 2, 3, [9, 7, 6, 6]  # tokens entering each block
    attentions = [torch.rand(batch * heads, n, n).softmax(-1) for n in counts]
    merges = [Merger(9, 2)(torch.randn(batch, 9, 4)).matrix, Merger(7, 1)(torch.randn(batch, 7, 4)).matrix, None, None]
    product = torch.eye(9).expand(batch, heads, 9, 9)
    for attention, merge in zip(attentions, merges, strict=True):
        product = attention.view(heads, batch, *attention.shape[1:]).transpose(0, 1) @ product
        if merge is not None:
            product = merge.unsqueeze(1) @ product
    row = class_row(attentions, merges, heads)
    assert row.shape == (batch, heads, 9)
    assert torch.allclose(row, product[:, :, 0], atol=1e-6)
    assert torch.allclose(
        row.sum(2), torch.ones(batch, heads), atol=1e-5
    )  # rows of a product of row-stochastic matrices


def test_a_token_scores_the_sum_over_its_patches():
    row = torch.tensor([[[9.0, 0.1, 0.2, 0.3, 0.4]]])  # the class token's own share does not count
    scores = token_scores(row, torch.tensor([[1, 2, 2, 1]]), tokens=2)
    assert torch.allclose(scores, torch.tensor([[[0.0, 0.5, 0.5]]]))


def test_the_hand_worked_selection_of_a_four_token_example():
    # three patch tokens and the class token; head 0 attends most to token 2, head 1 to token 0
    scores = torch.tensor([[[0, 0.2, 0.1, 0.7], [0, 0.5, 0.3, 0.2]]])
    selected = best_token_per_head(scores)
    assert selected.tolist() == [[2, 0]]
    tokens = torch.arange(4.0).view(1, 4, 1)
    assert gather_selected(tokens, selected).flatten().tolist() == [0, 3, 1]


def test_the_class_token_is_never_selected_even_when_all_else_scores_zero():
    assert best_token_per_head(torch.tensor([[[5.0, 0, 0]]])).tolist() == [[0]]
