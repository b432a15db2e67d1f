import pytest
import torch

from epir.models.baselines.resnet import LARGE, lengths_of, margin_loss, route, squash
from epir.models.registry import create_model


def capsules(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_squash_keeps_directions_and_brings_lengths_below_one():
    before = capsules(50, 16) * torch.logspace(-2, 3, 50)[:, None]
    after = squash(before)
    lengths = before.norm(dim=-1)
    assert (after.norm(dim=-1) < 1).all()
    torch.testing.assert_close(after.norm(dim=-1), lengths**2 / (1 + lengths**2), rtol=1e-2, atol=1e-5)
    torch.testing.assert_close(torch.cosine_similarity(before, after), torch.ones(50))


def test_squash_of_nothing_is_nothing_and_has_a_gradient():
    still = torch.zeros(2, 8, requires_grad=True)
    squash(still).sum().backward()
    assert torch.isfinite(still.grad).all() and not squash(still).any()


def test_one_round_of_routing_is_the_even_mean_of_the_votes():
    votes = capsules(2, 3, 10, LARGE)
    torch.testing.assert_close(route(votes, 1), squash(votes.sum(dim=2) / 3))


def test_routing_does_not_depend_on_the_order_of_the_primary_capsules():
    votes = capsules(2, 3, 10, LARGE)
    order = torch.randperm(10, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(route(votes, 3), route(votes[:, :, order], 3))


def test_classes_are_treated_alike():
    votes = capsules(2, 3, 10, LARGE)
    order = torch.tensor([2, 0, 1])
    torch.testing.assert_close(route(votes, 3)[:, order], route(votes[:, order], 3))


def test_routing_strengthens_the_class_whose_votes_agree():
    votes = capsules(1, 3, 40, LARGE) * 0.3
    votes[:, 1] = votes[:, 1, :1]  # all vote the same
    once, thrice = lengths_of(route(votes, 1)), lengths_of(route(votes, 3))
    assert once.argmax() == thrice.argmax() == 1
    assert thrice[0, 1] > once[0, 1] and thrice[0, 0] < once[0, 0] and thrice[0, 2] < once[0, 2]


def test_gradients_pass_through_the_votes_not_the_agreement():
    votes = capsules(1, 3, 4, LARGE).requires_grad_()
    route(votes, 3).sum().backward()
    assert votes.grad.abs().sum(dim=-1).gt(0).all()


def test_margin_loss_by_hand():
    truth = torch.tensor([[1.0, 0.0, 0.0]])
    assert margin_loss(torch.tensor([[0.95, 0.05, 0.1]]), truth) == 0
    by_hand = (0.9 - 0.5) ** 2 + 0.5 * (0.6 - 0.1) ** 2
    torch.testing.assert_close(margin_loss(torch.tensor([[0.5, 0.6, 0.0]]), truth), torch.tensor(by_hand))


def test_margin_loss_weighs_clips():
    lengths, truth = torch.tensor([[0.5, 0.0], [0.0, 0.9]]), torch.eye(2)
    torch.testing.assert_close(margin_loss(lengths, truth, torch.tensor([1.0, 3.0])), torch.tensor(0.16 / 4))


def test_logits_give_the_lengths_back():
    torch.manual_seed(0)
    model = create_model("capsulenet", width=4).eval()
    features = squash(capsules(5, 3, LARGE)).flatten(1)
    torch.testing.assert_close(
        model.forward_head(features).sigmoid(), features.unflatten(1, (3, LARGE)).norm(dim=-1), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_the_models_loss_is_the_margin_loss(smoothing):
    torch.manual_seed(0)
    model = create_model("capsulenet", width=4).eval()
    maps, labels = torch.randn(4, 3, 28, 28), torch.tensor([0, 2, 1, 1])
    truth = torch.eye(3)[labels] * (1 - smoothing) + smoothing / 3
    expected = margin_loss(model(maps).sigmoid(), truth)
    torch.testing.assert_close(model.loss(maps, labels, smoothing=smoothing), expected, rtol=1e-3, atol=1e-4)
