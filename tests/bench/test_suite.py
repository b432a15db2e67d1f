from importlib import import_module

import pytest

from epir.bench import suite
from epir.core.errors import ConfigError


@pytest.mark.parametrize("area", suite.AREAS)
def test_every_area_can_be_measured(area):
    assert callable(import_module(f"epir.bench.{area}").measure)


def test_an_unknown_area_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"there is no benchmark 'modle'\n  fix: did you mean 'model'\?"):
        suite.measure(["modle"])


def test_the_machine_is_described_without_naming_its_owner():
    assert set(suite.machine()) == {"python", "torch", "processor"}
