import torch

from epir.models.baselines.shallow import RecurrentConvolution, class_attention
from epir.models.registry import create_model


def test_attention_by_hand():
    maps = torch.tensor([[[[1.0, 2.0], [3.0, 5.0]]]])  # one clip, one channel, 2 x 2 places
    weights = torch.tensor([[1.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0]])  # two classes
    first, second = torch.tensor([[0.0, 0.25], [0.5, 1.0]]), torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    torch.testing.assert_close(class_attention(maps, weights)[0, 0], (first + second) / 2)


def test_attention_lies_between_0_and_1_and_does_not_mind_scale():
    torch.manual_seed(0)
    maps, weights = torch.randn(4, 8, 5, 5), torch.randn(3, 8 * 25)
    attention = class_attention(maps, weights)
    assert attention.shape == (4, 1, 5, 5) and attention.min() >= 0 and attention.max() <= 1
    torch.testing.assert_close(class_attention(7 * maps, weights), attention)


def test_attention_of_a_constant_map_is_finite():
    assert not class_attention(torch.zeros(1, 2, 3, 3), torch.ones(3, 18)).any()


def test_the_recurrent_convolution_is_one_convolution_used_twice():
    torch.manual_seed(0)
    block = RecurrentConvolution(4, dropout=0.0).eval()
    maps = torch.randn(2, 4, 8, 8)
    state = block.forward_step(maps)
    state = block.recurrent_step(maps + block.recurrent_step(maps + state))
    torch.testing.assert_close(block(maps), torch.nn.functional.max_pool2d(state, 2))


def test_features_follow_the_classifiers_weights():
    torch.manual_seed(0)
    model = create_model("rcn-a").eval()
    maps = torch.randn(2, 3, 28, 28)
    before = model.forward_features(maps)
    with torch.no_grad():
        model.module.head.weight.copy_(torch.randn_like(model.module.head.weight))
    assert not torch.allclose(model.forward_features(maps), before)
