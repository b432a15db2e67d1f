from importlib import import_module
from types import SimpleNamespace

import pytest

from epir.bench import suite
from epir.core.errors import ConfigError


@pytest.mark.parametrize("area", [*suite.AREAS, *suite.ON_REQUEST])
def test_every_area_can_be_measured(area):
    assert callable(import_module(f"epir.bench.{area}").measure)


def test_an_unknown_area_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"there is no benchmark 'modle'\n  fix: did you mean 'model'\?"):
        suite.measure(["modle"])


def test_the_machine_is_described_without_naming_its_owner():
    assert set(suite.machine()) == {"python", "torch", "processor"}


def test_areas_of_accuracy_run_only_when_named(monkeypatch):
    ran = []

    def module(name):
        def measure(**given):
            ran.append((name.rpartition(".")[2], given))
            return []

        return SimpleNamespace(measure=measure)

    monkeypatch.setattr(suite, "import_module", module)
    suite.measure()
    assert [area for area, _ in ran] == list(suite.AREAS)
    ran.clear()
    suite.measure(["flow"], quick=True, inputs=["corpus"], changes=["flow.context=0"])
    assert ran == [("flow", {"quick": True, "inputs": ["corpus"], "changes": ["flow.context=0"]})]


@pytest.mark.parametrize("areas", [(), ("model",), ("flow", "robustness")])
def test_inputs_and_settings_belong_to_one_area(areas):
    for given in ({"inputs": ["maps"]}, {"changes": ["a=1"]}):
        with pytest.raises(ConfigError, match=r"belong to one area\n  fix: name it with --only: flow, spotting"):
            suite.measure(areas, **given)
