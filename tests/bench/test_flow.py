import numpy as np
import pytest

from epir.bench import flow
from epir.bench.flow import accuracies, by_amplitude, by_size
from epir.core.errors import ConfigError
from epir.flow.recipe import get_recipe


@pytest.fixture(scope="module")
def results(pair_of):
    pairs = [pair_of(kind, 1.0, noise=1.0) for kind in ("translation", "rotation", "expansion", "bump")]
    recipes = [get_recipe("epir", [f"flow.method={method}"]) for method in ("farneback", "dis", "tvl1")]
    return accuracies(pairs, recipes)


def test_every_pair_is_measured_with_every_recipe(results):
    assert len(results) == 12
    assert all(0 < result.endpoint < 0.2 for result in results)
    assert all(result.share < 0.6 for result in results)
    assert {result.kind for result in results if np.isnan(result.strain)} == {"translation", "rotation", "expansion"}


def test_an_estimator_that_sees_nothing_has_the_whole_motion_as_error(pair_of, monkeypatch):
    monkeypatch.setitem(
        accuracies.__globals__, "flow_between", lambda a, b, recipe: np.zeros((*a.shape[:2], 2), np.float32)
    )
    (result,) = accuracies([pair_of("translation", 1.0)], [get_recipe()])
    assert result.endpoint == pytest.approx(1.0, abs=1e-3)
    assert result.share == pytest.approx(1.0, abs=1e-3)


def test_there_is_a_line_per_method_and_size(results):
    lines = by_size(results)
    assert [line.name.split(":")[0] for line in lines] == [f"{m}, 168 px" for m in ("farneback", "dis", "tvl1")]
    mine = [result.share for result in results if result.recipe.flow.method == "dis"]
    assert lines[1].value == pytest.approx(np.mean(mine))
    assert lines[1].detail.startswith(f"translation {mine[0]:.3f}, rotation {mine[1]:.3f}, ")


def test_there_is_a_line_per_method_and_amplitude(results):
    lines = by_amplitude(results, 168)
    assert [line.name.split(":")[0] for line in lines] == [
        f"{method}, 168 px, motion 1 px" for method in ("farneback", "dis", "tvl1")
    ]
    mine = [result.endpoint for result in results if result.recipe.flow.method == "farneback"]
    assert lines[0].value == pytest.approx(np.mean(mine))
    assert by_amplitude(results, 84) == []


def test_the_area_takes_a_flow_recipe_and_at_most_one_corpus(pair_of, monkeypatch):
    monkeypatch.setattr(flow, "astronaut_pairs", lambda *given: [pair_of("bump", 1.0)])
    monkeypatch.setattr(flow, "METHODS", ("dis",))
    monkeypatch.setattr(flow, "MOTIONS", ("bump",))
    lines = flow.measure(quick=True, changes=["flow.size=96"])
    assert [line.name.split(":")[0] for line in lines] == ["dis, 84 px", "dis, 96 px", "dis, 96 px, motion 1 px"]
    with pytest.raises(ConfigError, match=r"flow takes one corpus, not 2\n  fix: "):
        flow.measure(inputs=["a", "b"])
