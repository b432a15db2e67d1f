from importlib import import_module
from types import SimpleNamespace

import pytest

from epir.bench import suite
from epir.core.errors import ConfigError


@pytest.mark.parametrize("home", [*suite.SPEED.values(), *suite.ON_REQUEST.values()])
def test_every_area_can_be_measured(home):
    module, _, name = home.partition(":")
    assert callable(getattr(import_module(f"epir.bench.{module}"), name))


def test_an_unknown_area_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match=r"there is no benchmark 'modle'\n  fix: did you mean 'model'\?"):
        suite.measure(["modle"])


def test_the_machine_is_described_without_naming_its_owner():
    summary = suite.summary({"flow": [suite.Ratio("error", 0.2, 0.1, "of the map")]})
    assert set(summary["versions"]) - {"commit"} == {"epir", "python", "torch"}
    assert set(summary["machine"]) == {"processor", "cores"}
    ratio = {"name": "error", "value": 0.2, "target": 0.1, "detail": "of the map", "reached": True}
    assert summary["ratios"] == [{"area": "flow", **ratio}]


def test_areas_of_accuracy_run_only_when_named(monkeypatch):
    ran = []

    def module(name):
        def measuring(area):
            return lambda **options: ran.append((area, options)) or []

        names = ("measure_model", "measure_onnx", "measure_preparation", "measure_folds")
        return SimpleNamespace(**{each: measuring(each) for each in names}, measure=measuring(name.rpartition(".")[2]))

    monkeypatch.setattr(suite, "import_module", module)
    suite.measure()
    assert [area for area, _ in ran] == [f"measure_{area}" for area in suite.SPEED]
    ran.clear()
    suite.measure(["flow"], quick=True, inputs=["corpus"], changes=["flow.context=0"])
    assert ran == [("flow", {"quick": True, "inputs": ["corpus"], "changes": ["flow.context=0"]})]


@pytest.mark.parametrize("areas", [(), ("model",), ("flow", "robustness")])
def test_inputs_and_settings_belong_to_one_area(areas):
    for options in ({"inputs": ["maps"]}, {"changes": ["a=1"]}):
        with pytest.raises(ConfigError, match=r"belong to one area\n  fix: name it with --only: flow, spotting"):
            suite.measure(areas, **options)


@pytest.mark.parametrize(("value", "target", "reached"), [(1.0, 1.0, True), (0.9, 1.0, False), (5.0, None, None)])
def test_a_ratio_knows_whether_it_reaches_its_target(value, target, reached):
    assert suite.Ratio("x", value, target, "").reached is reached
