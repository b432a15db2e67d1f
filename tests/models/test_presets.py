import dataclasses
from itertools import pairwise

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from epir.core.errors import ConfigError
from epir.models.presets import PRESETS, preset
from epir.models.transformer import Epir

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
