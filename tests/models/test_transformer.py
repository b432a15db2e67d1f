import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from epir.core.errors import ShapeError
from epir.models.presets import PRESETS, preset
from epir.models.transformer import Epir

SMALL = {"width": 24, "heads": 3, "feed_forward": 32}


def small(name="epir", **changes):
    torch.manual_seed(0)
    return Epir(preset(name, **SMALL, **changes)).eval()


@pytest.mark.parametrize("name", PRESETS)
def test_maps_go_in_and_logits_come_out(name):
    assert small(name, classes=5)(torch.randn(2, 3, 28, 28)).shape == (2, 5)


@pytest.mark.parametrize(
    "changes",
    [
        {"map_size": 35, "integration": 0.6},  # 25 patches: an odd number
        {"map_size": 21, "integration": 0.5},
        {"map_size": 56, "patch": 14},
        {"blocks": 7},
        {"blocks": 15, "integration": 0.8},
        {"rollout": "extractor"},
        {"merge": "weighted", "integration": 0.6},
        {"shift": "patch"},
        {"integration": 0.0},
        {"selection": False},
    ],
)
def test_other_sizes_and_choices_work_and_say_what_they_did(changes):
    model = small(**changes)
    maps = torch.randn(3, 3, model.settings.map_size, model.settings.map_size)
    logits, record = model.explain(maps)
    assert torch.allclose(logits, model(maps), atol=1e-6)
    assert record.rollout.shape == (3, 3, model.settings.patches)
    assert len(record.history) == model.settings.integration_blocks
    assert (record.selected >= 0).all()
    assert (record.selected < record.provenance.shape[1]).all()


@pytest.mark.parametrize("integration", [0.3, 0.6, 0.8])
def test_provenance_is_a_partition_of_the_patches_after_every_block(integration):
    _, record = small(integration=integration).explain(torch.randn(4, 3, 28, 28))
    left = 16
    for pairs, provenance in zip(preset("epir", integration=integration).pairs, record.history, strict=True):
        left -= pairs
        assert provenance.shape == (4, left, 16)
        assert (provenance.sum(1) == 1).all()  # every patch is held once
        assert (provenance.sum(2) >= 1).all()  # every token holds something
    assert torch.equal(record.provenance, record.history[-1])


def test_a_map_gives_the_same_alone_and_in_a_batch():
    model, maps = small(), torch.randn(9, 3, 28, 28)
    together = model(maps)
    for number in range(9):
        assert torch.allclose(model(maps[number : number + 1])[0], together[number], atol=1e-5)


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
                block.attention.to_qkv.weight[:, :48] = (
                    0  # equal attention to all: only the class token could tell how many
                )
                block.attention.to_qkv.weight[:, 48:] = 0
    maps = torch.zeros(1, 3, 28, 28)
    assert torch.allclose(merging(maps), whole(maps), atol=1e-6)


def test_the_loss_is_cross_entropy_plus_contrastive_only_with_selection():
    maps, labels = torch.randn(6, 3, 28, 28), torch.tensor([0, 1, 2, 0, 1, 2])
    for name, more in (("vit", False), ("vit+dtsm", True), ("epir", True)):
        model = small(name)
        plain = torch.nn.functional.cross_entropy(model(maps), labels)
        assert (model.loss(maps, labels) > plain + 1e-4).item() is more


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("changes", [{}, {"map_size": 35, "rollout": "extractor"}, {"blocks": 3}])
def test_what_training_leaves_out_changes_neither_the_features_nor_a_gradient(name, changes):
    model = small(name, **changes).double()
    maps = torch.randn(4, 3, model.settings.map_size, model.settings.map_size, dtype=torch.double)
    towards = torch.randn(4, model.settings.width, dtype=torch.double)
    results = []
    for features in (model.represent(maps), model.represent_to_learn(maps)):
        gradients = torch.autograd.grad(features, list(model.parameters()), towards, allow_unused=True)
        results.append([features, *(each for each in gradients if each is not None)])
    for whole, lean in zip(*results, strict=True):
        assert torch.allclose(lean, whole, atol=1e-9)


@pytest.mark.parametrize("name", PRESETS)
def test_training_leaves_out_tokens_that_nothing_reads_and_answering_does_not(name):
    model, maps, multiply_adds = small(name), torch.randn(4, 3, 28, 28), []
    for way in (model.represent, model.represent_to_learn):
        with FlopCounterMode(display=False) as counter:
            way(maps)
        multiply_adds.append(counter.get_total_flops() / 2)
    settings = model.settings
    unread = settings.patches  # of the last block all but the class token
    if settings.selection:
        unread = settings.heads + settings.patches - sum(settings.pairs) - settings.heads  # and those not selected
    inner = settings.width // settings.heads * settings.heads + 1  # with the bias
    each = settings.width * (inner + 2 * settings.feed_forward)
    assert multiply_adds[0] - multiply_adds[1] == 4 * unread * each


@pytest.mark.parametrize("name", PRESETS)
def test_every_parameter_receives_gradient(name):
    model = small(name).train()
    model.loss(torch.randn(8, 3, 28, 28), torch.arange(8) % 3).backward()
    # the class token's own key in a masked or unselected place may be idle, a whole tensor never
    assert [n for n, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0] == []


@pytest.mark.parametrize("name", PRESETS)
def test_every_rung_learns_sixteen_random_maps(name):
    torch.manual_seed(1)
    model = Epir(preset(name, width=48, heads=3, feed_forward=64)).train()
    maps, labels = torch.randn(16, 3, 28, 28), torch.arange(16) % 3
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(80):
        optimiser.zero_grad()
        model.loss(maps, labels).backward()
        optimiser.step()
    assert torch.nn.functional.cross_entropy(model.eval()(maps), labels) < 0.05


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


@pytest.mark.parametrize("changes", [{}, {"map_size": 35, "integration": 0.6, "merge": "weighted"}])
def test_it_can_be_exported_with_any_number_of_clips(changes):
    model = small(**changes)
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
