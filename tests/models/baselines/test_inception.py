import torch
from torch.nn import functional

from epir.models.registry import create_model


def small(**changes):
    torch.manual_seed(0)
    return create_model("featref", width=16, own_width=4, dropout=0.0, **changes)


def test_every_branch_learns_whether_its_expression_is_shown():
    """The proposals add a yes or no for each class to the cross-entropy; without them that is all there is."""
    maps, labels = torch.randn(6, 3, 28, 28), torch.tensor([0, 1, 2, 0, 1, 2])
    model, plain = small(), small(proposal=0.0)
    logits, proposals = model.module.head(model.forward_features(model.normalise(maps)))
    classified = functional.cross_entropy(logits, labels)
    torch.testing.assert_close(plain.loss(maps, labels), classified)
    shown = torch.eye(3)[labels]
    expected = functional.binary_cross_entropy_with_logits(proposals, shown)
    torch.testing.assert_close(model.loss(maps, labels), classified + expected)


def test_strain_is_not_looked_at():
    model, maps = small().eval(), torch.randn(2, 3, 28, 28)
    other = maps.clone()
    other[:, 2] = torch.randn(2, 28, 28)
    torch.testing.assert_close(model(maps), model(other))
