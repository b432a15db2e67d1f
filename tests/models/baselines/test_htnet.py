import torch

from epir.models.baselines.htnet import Downsampling, Level
from epir.models.registry import create_model


def test_a_block_of_patches_sees_only_itself():
    torch.manual_seed(0)
    level = Level(12, 3, 2, splits=2, tokens=4, dropout=0.0)
    grid = torch.randn(1, 4, 4, 12)
    changed = grid.clone()
    changed[0, 0, 1] += 1.0  # in the first block, rows and columns 0 and 1
    moved = (level(grid) != level(changed)).any(dim=-1)[0]
    assert moved[:2, :2].all() and moved.sum() == 4


def test_every_patch_keeps_its_place():
    level = Level(6, 3, 1, splits=2, tokens=4, dropout=0.0)
    with torch.no_grad():
        level.position.zero_()
    level.blocks = torch.nn.Sequential()  # nothing mixes
    grid = torch.arange(2 * 16 * 6.0).reshape(2, 4, 4, 6)
    assert torch.equal(level(grid), grid)


def test_gathering_halves_the_grid_and_doubles_the_width():
    assert Downsampling(6)(torch.randn(2, 4, 4, 6)).shape == (2, 2, 2, 12)


def test_at_the_papers_sizes_attention_has_nothing_to_choose():
    torch.manual_seed(0)
    maps = torch.randn(2, 3, 28, 28)
    model = create_model("htnet", width=12, blocks=(1, 1, 1)).eval()
    before = model(maps)
    scramble_queries(model)
    assert torch.equal(model(maps), before)

    finer = create_model("htnet", width=12, blocks=(1, 1, 1), map_size=56).eval()
    maps = torch.randn(2, 3, 56, 56)
    before = finer(maps)
    scramble_queries(finer)
    assert not torch.allclose(finer(maps), before)


def scramble_queries(model):
    for name, weight in model.named_parameters():
        if "to_qkv" in name:
            with torch.no_grad():
                weight[: len(weight) // 3].normal_()
