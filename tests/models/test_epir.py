import importlib.util
import itertools
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from epir.core.errors import ShapeError
from epir.models.epir import (
    Attention,
    BlockOutput,
    Epir,
    MergePlan,
    PatchTokens,
    class_row,
    contrastive_loss,
    into_patches,
    most_similar_pairs,
    plan_merge,
    provenance,
    with_shifted,
)
from epir.models.folder import load_network, shipped_folder
from epir.models.settings import LITERAL, PRESETS, ModelSettings, preset

_spec = importlib.util.spec_from_file_location("reference", Path(__file__).with_name("reference.py"))
reference = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(reference)

SMALL = {"width": 24, "heads": 3, "feed_forward": 32}


def small(name="epir", **changes):
    torch.manual_seed(0)
    return Epir(preset(name, **SMALL, **changes)).eval()


# ------------------------------------------------------------------------------------- the whole, against the equations


@pytest.fixture
def double():
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        *((name, {}) for name in PRESETS),
        ("paper", {}),
        ("paper", {"integration": 0.7}),
        *(("epir", {name: value}) for name, value in LITERAL.items()),
        *(("epir", {"blocks": blocks}) for blocks in (3, 4, 7)),
        *(("epir", {"integration": rate}) for rate in (0.0, 0.3, 0.6, 0.7)),
        ("epir", {"rollout": "extractor"}),
        ("epir", {"shift": "patch", "map_size": 35, "integration": 0.6}),  # 25 patches: an odd number
        ("vit+dtsm", {"map_size": 56, "patch": 14}),
        pytest.param("paper", {"blocks": 12, "integration": 0.8}, marks=pytest.mark.slow),
        pytest.param("epir", {"blocks": 15}, marks=pytest.mark.slow),
        pytest.param("epir", {"map_size": 56, "blocks": 10, "integration": 0.3}, marks=pytest.mark.slow),
        pytest.param("epir", {"map_size": 112, "blocks": 7, "integration": 0.3}, marks=pytest.mark.slow),
    ],
)
def test_it_agrees_with_the_equations_in_everything(double, name, changes):
    """Logits, selection, provenance, rollout, loss and every gradient of a slow model written from the paper."""
    model = small(name, **{"blocks": 5, **changes})
    with torch.no_grad():
        for parameter in model.parameters():  # no norm at 1 and 0, no two temperatures alike
            parameter.add_(0.05 * torch.randn_like(parameter))
    size = model.settings.map_size
    maps, labels = torch.randn(2, 3, size, size), torch.tensor([0, 1])
    weights = dict(model.named_parameters())
    expected = [reference.answer(clip, weights, model.settings) for clip in maps]
    tokens = [each[0] for each in expected]

    logits, record = model.explain(maps)
    slow_logits = torch.stack([reference.logits_of(each, weights, model.settings) for each in tokens]).detach()
    torch.testing.assert_close(logits, slow_logits, rtol=1e-9, atol=1e-9)
    assert record.selected.tolist() == [each[1] for each in expected]
    assert [record.groups(clip) for clip in range(2)] == [each[2] for each in expected]
    torch.testing.assert_close(record.rollout, torch.stack([each[3] for each in expected]), rtol=1e-9, atol=1e-12)

    slow, fast = reference.loss_of(tokens, labels, weights, model.settings), model.loss(maps, labels)
    torch.testing.assert_close(fast, slow, rtol=1e-9, atol=1e-9)
    parameters = list(weights.values())
    for theirs, mine in zip(torch.autograd.grad(slow, parameters), torch.autograd.grad(fast, parameters), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-7, atol=1e-9)


def test_the_preset_paper_reads_equations_21_and_22_literally():
    """A linear layer on Y_final without a norm; the contrastive loss on the class token as it is."""
    model = small("paper").eval()
    assert not any(name.startswith("head_norm") for name, _ in model.named_parameters())
    maps, labels = torch.randn(4, 3, 28, 28), torch.tensor([0, 1, 0, 1])
    tokens = model.forward_features(maps).view(4, 1 + model.settings.heads, -1)  # the class token, one per head
    torch.testing.assert_close(model(maps), model.head(tokens.mean(1)))  # linear: the order does not matter
    expected = contrastive_loss(tokens[:, 0], labels, margin=model.settings.margin)
    plain = torch.nn.functional.cross_entropy(model(maps), labels)
    torch.testing.assert_close(model.loss(maps, labels) - plain, model.settings.contrastive * expected)


@pytest.mark.parametrize("integration", [0.3, 0.6, 0.8])
def test_provenance_is_a_partition_of_the_patches_after_every_block(integration):
    _, record = small(integration=integration).explain(torch.randn(4, 3, 28, 28))
    left = 16
    for pairs, held in zip(preset("epir", integration=integration).pairs, record.history, strict=True):
        left -= pairs
        assert held.shape == (4, left, 16)
        assert (held.sum(1) == 1).all()  # every patch is held once
        assert (held.sum(2) >= 1).all()  # every token holds something
    assert torch.equal(record.provenance, record.history[-1])


def test_each_head_selects_the_token_with_the_largest_rollout_over_its_patches():
    _, record = small(integration=0.6).explain(torch.randn(5, 3, 28, 28))
    scores = record.rollout @ record.provenance.transpose(1, 2).float()
    assert torch.equal(scores.argmax(2), record.selected)


def test_two_tokens_that_are_equal_everywhere_change_nothing_when_merged():
    """With every patch and position alike all tokens stay equal, so merging them must not change the answer."""
    merging, whole = (
        small(integration=0.6, selection=False, attention="plain"),
        small(integration=0.0, selection=False, attention="plain"),
    )
    whole.load_state_dict(merging.state_dict())
    with torch.no_grad():
        for model in (merging, whole):
            model.positions[:, 1:] = model.positions[:, 1:2]
            for block in (*model.blocks, model.last_block):
                block.attention.to_qkv.weight.zero_()  # equal attention to all, of which nothing is mixed in
    maps = torch.zeros(1, 3, 28, 28)
    assert torch.allclose(merging(maps), whole(maps), atol=1e-6)


def test_the_loss_is_cross_entropy_plus_contrastive_only_with_selection():
    maps, labels = torch.randn(6, 3, 28, 28), torch.tensor([0, 1, 2, 0, 1, 2])
    for name, more in (("vit", False), ("vit+dtsm", True), ("epir", True)):
        model = small(name)
        plain = torch.nn.functional.cross_entropy(model(maps), labels)
        assert (model.loss(maps, labels) > plain + 1e-4).item() is more


def test_gradients_of_three_losses_have_the_bits_of_their_plain_sum():
    """`make weights` promises bits: nothing may come between the features and a loss that reads them."""
    model, labels = small(), torch.tensor([0, 1, 2, 0, 1, 2])
    features, unit_head = torch.randn(6, 24), torch.nn.Linear(24, 17)

    def gradient(loss_of):
        leaf = features.clone().requires_grad_()
        (token := leaf * 1.0).retain_grad()
        (loss_of(token) + unit_head(token).square().mean()).backward()
        return token.grad

    def plain(token):
        loss = functional.cross_entropy(model.forward_head(token), labels, label_smoothing=0.1)
        return loss + contrastive_loss(token, labels, margin=model.settings.margin)

    assert torch.equal(gradient(lambda token: model.loss_of_features(token, labels, 0.1, None)), gradient(plain))


@pytest.mark.parametrize(
    ("maps", "words"),
    [
        (
            torch.zeros(1, 2, 28, 28),
            r"takes maps \(B, 3, 28, 28\) but got \(1, 2, 28, 28\)\n  fix: stack u, v and strain",
        ),
        (torch.zeros(3, 28, 28), r"for one map add a first axis: maps\[None\]"),
        (torch.zeros(1, 3, 28, 20), r"must be square but are 28 x 20"),
        (torch.zeros(1, 3, 56, 56), r"built for 28 px maps but got 56 px\n  fix: prepare the maps with --size 28"),
        (torch.full((1, 3, 28, 28), float("nan")), r"a map holds NaN or infinity\n  fix: "),
    ],
)
def test_bad_maps_are_refused_with_what_to_do(maps, words):
    with pytest.raises(ShapeError, match=words):
        small()(maps)


@pytest.mark.parametrize(
    ("blocks", "changes"), [(3, {}), pytest.param(5, {"map_size": 35, "integration": 0.6}, marks=pytest.mark.slow)]
)
def test_it_can_be_exported_with_any_number_of_clips(blocks, changes):
    model = small(blocks=blocks, **changes)
    size = model.settings.map_size
    shapes = {"maps": {0: torch.export.Dim("clips", min=1, max=64)}}
    exported = torch.export.export(model, (torch.randn(3, 3, size, size),), dynamic_shapes=shapes).module()
    for clips in (1, 5):
        maps = torch.randn(clips, 3, size, size)
        assert torch.allclose(exported(maps), model(maps), atol=1e-6)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU on this machine")
def test_it_runs_on_a_gpu():
    model, maps = small(), torch.randn(4, 3, 28, 28)
    assert torch.allclose(model.cuda()(maps.cuda()).cpu(), small()(maps), atol=1e-3)


def test_it_runs_under_autocast():
    model, maps, labels = small().train(), torch.randn(4, 3, 28, 28), torch.tensor([0, 1, 2, 0])
    exact = model.loss(maps, labels)
    with torch.autocast("cpu", dtype=torch.float16):
        loss = model.loss(maps, labels)
        model.explain(maps)
    loss.backward()
    assert loss.item() == pytest.approx(exact.item(), rel=0.02)
    assert all(torch.isfinite(parameter.grad).all() for parameter in model.parameters())


def test_every_product_is_a_layer_that_tools_know():
    """LoRA, quantisation and profilers look for nn.Linear; the weights lie (out, in)."""
    layers = {name: module for name, module in small().named_modules() if isinstance(module, torch.nn.Linear)}
    weights = [name for name, parameter in small().named_parameters() if parameter.ndim == 2]
    assert weights == [f"{name}.weight" for name in layers]
    assert layers["blocks.0.widen"].weight.shape == (32, 24)


def test_no_weight_decay_for_what_is_no_weight_matrix():
    model = small()
    spared = model.no_weight_decay()
    assert {"class_token", "positions", "blocks.0.attention.temperature", "last_block.attention.temperature"} <= spared
    assert all(name in spared for name, parameter in model.named_parameters() if parameter.ndim > 2)


def test_positions_are_added_to_the_class_token_and_the_patches():
    model, maps = load_network(shipped_folder()), torch.randn(2, 3, 28, 28)
    patches = model.patch_tokens(model.normalise(maps))
    plain = torch.cat([model.class_token.expand(2, -1, -1), patches], dim=1) + model.positions
    assert torch.equal(model._tokens(model.normalise(maps)), plain)


# -------------------------------------------------------------------------------------------------------- tokenization


def test_patches_are_cut_row_by_row_and_hold_every_value_once():
    maps = torch.arange(2 * 3 * 4 * 4.0).view(2, 3, 4, 4)
    patches = into_patches(maps, 2)
    assert patches.shape == (2, 4, 12)
    assert torch.equal(patches[0, 1], maps[0, :, :2, 2:].flatten())  # the second patch lies to the right of the first
    assert torch.equal(patches.flatten().sort().values, maps.flatten())


def test_the_copies_are_shifted_along_the_four_diagonals_and_filled_with_zeros():
    maps = torch.zeros(1, 1, 5, 5)
    maps[0, 0, 2, 2] = 1
    copies = with_shifted(maps, 1)[0]  # (5, 5, 5)
    places = [tuple(copy.nonzero()[0].tolist()) for copy in copies]
    assert places == [(2, 2), (1, 3), (1, 1), (3, 1), (3, 3)]  # right-up, left-up, left-down, right-down
    assert with_shifted(maps, 3).sum() == 1  # shifted out of the map: zeros come in


def test_the_papers_patch_has_735_values_and_the_second_norm_gives_zero_mean_and_unit_deviation():
    module = PatchTokens(ModelSettings(width=64))
    assert module.project.weight.shape == (64, 735)
    tokens = module(torch.randn(2, 3, 28, 28))
    assert torch.allclose(tokens.mean(-1), torch.zeros(2, 16), atol=1e-5)
    assert torch.allclose(tokens.var(-1, unbiased=False), torch.ones(2, 16), atol=1e-2)


# ----------------------------------------------------------------------------------------------------------- attention


def test_plain_attention_is_torchs_own():
    torch.manual_seed(0)
    attention, tokens = Attention(12, 3, inter_token=False), torch.randn(2, 5, 12)
    q, k, v = attention.to_qkv(tokens).view(2, 5, 3, 3, 4).permute(2, 0, 3, 1, 4)
    expected = functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
    mixed, weights, keys = attention(tokens)
    assert torch.allclose(mixed, attention.to_out(expected), atol=1e-6)
    assert weights.shape == (2, 3, 5, 5)
    assert torch.allclose(keys, k.mean(1))


def test_a_token_never_sees_itself():
    _, weights, _ = Attention(12, 3, inter_token=True)(torch.randn(2, 5, 12))
    assert (weights.diagonal(dim1=2, dim2=3) == 0).all()
    assert torch.allclose(weights.sum(3), torch.ones(2, 3, 5), atol=1e-6)


def test_the_temperature_starts_at_the_root_of_the_head_width_and_receives_gradient():
    attention = Attention(256, 3, inter_token=True)
    assert attention.temperature.flatten().tolist() == pytest.approx([85**0.5] * 3, rel=1e-5)
    attention(torch.randn(2, 4, 256))[0].square().sum().backward()
    assert (attention.temperature.grad != 0).all()
    assert "temperature" not in Attention(256, 3, inter_token=False).state_dict()  # plain attention learns none


# --------------------------------------------------------------------------------------------------- token integration


def keys_of(*vectors):
    """One clip: a class token, then these keys."""
    return torch.tensor([[[0.0] * len(vectors[0]), *map(list, vectors)]])


def test_the_hand_worked_pairs_of_a_five_token_example():
    # patch tokens 0, 2, 4 against 1, 3: token 4 equals token 1, then 0 is nearer to 3 than 2 is
    first, second = most_similar_pairs(keys_of((1, 0.4), (0, 1), (-1, 0), (1, 0), (0, 2)), 2)
    assert first.tolist() == [[5, 1]]  # places count the class token
    assert second.tolist() == [[2, 4]]


@settings(max_examples=40, deadline=None)
@given(st.integers(3, 12), st.integers(0, 10**6), st.data())
def test_pairs_are_disjoint_and_greedily_the_most_similar(patches, seed, data):
    pairs = data.draw(st.integers(1, patches // 2))
    keys = torch.randn(1, 1 + patches, 7, generator=torch.Generator().manual_seed(seed))
    first, second = (part[0].tolist() for part in most_similar_pairs(keys, pairs))
    assert len({*first, *second}) == 2 * pairs
    assert 0 not in (*first, *second)  # the class token never takes part

    free = set(itertools.product(range(1, 1 + patches, 2), range(2, 1 + patches, 2)))
    for a, b in zip(first, second, strict=True):  # a loop written from the definition
        cosine = {pair: torch.cosine_similarity(keys[0, pair[0]], keys[0, pair[1]], dim=0).item() for pair in free}
        assert cosine[a, b] == pytest.approx(max(cosine.values()), abs=1e-6)
        free = {pair for pair in free if pair[0] != a and pair[1] != b}


def test_rows_of_a_merge_matrix_sum_to_1_and_columns_are_used_once():
    plan = plan_merge(torch.randn(1, 6, 4), 2)
    assert plan.matrix.shape == (1, 4, 6)
    assert torch.allclose(plan.matrix.sum(2), torch.ones(1, 4))
    assert ((plan.matrix > 0).sum(1) == 1).all()
    assert torch.equal(plan.matrix.argmax(1), plan.into)


def test_a_merged_token_is_the_mean_of_its_two_and_stands_where_the_first_stood():
    keys = keys_of((1, 0), (0, 1), (0.1, 1), (1, 0.1))  # patch tokens 0 and 3 are alike, and are of different halves
    plan = plan_merge(keys, 1)
    tokens = torch.tensor([[[0.0], [10], [20], [30], [40]]])
    assert (plan.matrix @ tokens).flatten().tolist() == [0, 25, 20, 30]


def test_keys_of_length_zero_do_not_spoil_the_choice():
    assert torch.isfinite(plan_merge(torch.zeros(1, 5, 3), 2).matrix).all()


def test_provenance_as_0_and_1():
    holder = torch.tensor([[1, 2, 1, 3]])
    assert provenance(holder, 4).tolist() == [[[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]]]


# ------------------------------------------------------------------------------------------------ rollout and the loss


def test_the_row_of_the_rollout_equals_the_full_product_of_matrices():
    torch.manual_seed(0)
    counts = [9, 7, 6, 6]  # tokens entering each block
    merges = [plan_merge(torch.randn(2, 9, 4), 2), plan_merge(torch.randn(2, 7, 4), 1), None, None]
    blocks = [
        BlockOutput(torch.empty(0), torch.rand(2, 3, count, count).softmax(-1), merge)
        for count, merge in zip(counts, merges, strict=True)
    ]
    product = torch.eye(9).expand(2, 3, 9, 9)
    for block in blocks:
        product = block.attention @ product
        if isinstance(block.merge, MergePlan):
            product = block.merge.matrix.unsqueeze(1) @ product
    row = class_row(blocks)
    assert torch.allclose(row, product[:, :, 0], atol=1e-6)
    assert torch.allclose(row.sum(2), torch.ones(2, 3), atol=1e-5)  # a product of row-stochastic matrices


def test_classes_apart_and_clips_of_one_class_alike_cost_nothing():
    tokens = torch.tensor([[1.0, 0], [2, 0], [0, 3]])
    assert contrastive_loss(tokens, torch.tensor([0, 0, 1]), margin=0.4).item() < 1e-6
    assert contrastive_loss(tokens[:2], torch.tensor([0, 1]), margin=0.4).item() == pytest.approx(0.3)  # 2 * 0.6 / 4
