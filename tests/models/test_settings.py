import dataclasses
from itertools import pairwise

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from epir.core.config import from_dict, to_dict
from epir.core.errors import ConfigError
from epir.models.epir import Epir
from epir.models.settings import PRESETS, ModelSettings, preset


def test_the_papers_schedule_merges_one_pair_in_each_of_six_blocks():
    settings = ModelSettings()
    assert settings.pairs == (1,) * 6
    assert (settings.integration_blocks, settings.extractor_blocks) == (6, 6)


@pytest.mark.parametrize(("rate", "merged"), [(0.0, 0), (0.3, 5), (0.6, 10), (0.8, 13)])
def test_the_rates_of_the_papers_figure_are_spread_over_the_blocks(rate, merged):
    pairs = ModelSettings(integration=rate).pairs
    assert sum(pairs) == merged
    assert max(pairs) - min(pairs) <= 1


@pytest.mark.parametrize("blocks", range(7, 16))
def test_only_the_last_block_stays_when_the_number_of_blocks_changes(blocks):
    settings = ModelSettings(blocks=blocks)
    assert settings.integration_blocks + settings.extractor_blocks + 1 == blocks


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"patch": 8},
            r"a 28 px map cannot be cut into 8 px patches\n  fix: set model.patch to a divisor of 28: .*7, 14 or 28",
        ),
        ({"classes": 0}, r"model.classes must be at least 2, not 0\n  fix: set model.classes=3"),
        (
            {"integration": 0.95},
            r"merges 2 pairs in block 6, which has only 3 patch tokens\n  fix: set model.integration to 0.8\d? or less",
        ),
        ({"integration": 1.2}, r"model.integration is 1.2\n  fix: give a share from 0 up to"),
        ({"heads": 300}, r"300 heads do not fit in a width of 256"),
        ({"blocks": 2}, r"model.blocks is 2\n  fix: use 3 or more"),
        ({"dropout": 1.0}, r"model.dropout is 1.0"),
        ({"width": 0}, r"model.width is 0\n  fix: give a whole number of 1 or more"),
    ],
)
def test_impossible_combinations_are_refused_when_built(changes, words):
    with pytest.raises(ConfigError, match=words):
        ModelSettings(**changes)


def test_what_the_fix_for_too_much_integration_says_works():
    with pytest.raises(ConfigError) as refused:
        ModelSettings(integration=0.99)
    rate = float(refused.value.fix.split("integration to ")[1].split(" ")[0])
    assert sum(ModelSettings(integration=rate).pairs) > 0


def test_settings_survive_the_way_through_plain_values():
    settings = ModelSettings(map_size=112, integration=0.3)
    assert from_dict(ModelSettings, to_dict(settings)) == settings


PARAMETERS = {
    "vit": 6_872_835,
    "vit+dtsm": 6_872_835,
    "vit+dtsm+itals": 6_872_874,  # 13 blocks of 3 temperatures more
    "vit+dtsm+itals+spt": 7_024_872,
    "vit+dtsm+itals+dnspt": 7_025_384,
    "epir": 7_025_384,
}


@pytest.mark.parametrize(("name", "parameters"), PARAMETERS.items())
def test_each_preset_has_its_count_of_parameters(name, parameters):
    assert sum(p.numel() for p in Epir(preset(name)).parameters()) == parameters


def test_the_papers_model_has_its_count_of_multiply_accumulates():
    model = Epir().eval()
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(torch.randn(1, 3, 28, 28))
    assert 83e6 <= counter.get_total_flops() / 2 <= 86e6


def test_neighbours_on_the_ladder_differ_in_one_setting():
    rungs = [dataclasses.asdict(settings) for settings in PRESETS.values()]
    for below, above in pairwise(rungs):
        assert len([name for name in above if name != "name" and above[name] != below[name]]) == 1
    assert [*PRESETS][:: len(PRESETS) - 1] == ["vit", "epir"]


def test_an_unknown_preset_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"there is no model 'vit\+dtms'\n  fix: did you mean 'vit\+dtsm'\?"):
        preset("vit+dtms")
