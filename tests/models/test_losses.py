import torch

from epir.models.losses import contrastive_loss


def by_the_letter(tokens, labels, margin):
    """Eq. 22 as two loops."""
    total, batch = 0.0, len(labels)
    for i in range(batch):
        for j in range(batch):
            similarity = torch.dot(tokens[i] / tokens[i].norm(), tokens[j] / tokens[j].norm()).item()
            total += 1 - similarity if labels[i] == labels[j] else max(similarity - margin, 0)
    return total / batch**2


def test_it_equals_a_loop_written_from_the_equation():
    torch.manual_seed(0)
    tokens, labels = torch.randn(7, 5), torch.tensor([0, 1, 2, 0, 1, 0, 2])
    for margin in (0.0, 0.4):
        assert (
            abs(contrastive_loss(tokens, labels, margin=margin).item() - by_the_letter(tokens, labels, margin)) < 1e-6
        )


def test_classes_apart_and_clips_of_one_class_alike_cost_nothing():
    tokens = torch.tensor([[1.0, 0], [2, 0], [0, 3]])
    assert contrastive_loss(tokens, torch.tensor([0, 0, 1]), margin=0.4).item() < 1e-6
