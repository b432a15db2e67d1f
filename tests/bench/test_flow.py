import numpy as np
import pytest

from epir.bench.flow import by_amplitude, by_size, layout, main, measure
from epir.flow.recipe import get_recipe


@pytest.fixture(scope="module")
def results(pair_of):
    pairs = [pair_of(kind, 1.0, noise=1.0) for kind in ("translation", "rotation", "expansion", "bump")]
    recipes = [get_recipe("epir", [f"flow.method={method}"]) for method in ("farneback", "dis", "tvl1")]
    return measure(pairs, recipes)


def test_every_pair_is_measured_with_every_recipe(results):
    assert len(results) == 12
    assert all(0 < result.endpoint < 0.2 for result in results)
    assert all(result.share < 0.6 for result in results)
    assert {result.kind for result in results if np.isnan(result.strain)} == {"translation", "rotation", "expansion"}


def test_an_estimator_that_sees_nothing_has_the_whole_motion_as_error(pair_of, monkeypatch):
    monkeypatch.setitem(
        measure.__globals__, "flow_between", lambda a, b, recipe: np.zeros((*a.shape[:2], 2), np.float32)
    )
    (result,) = measure([pair_of("translation", 1.0)], [get_recipe()])
    assert result.endpoint == pytest.approx(1.0, abs=1e-3)
    assert result.share == pytest.approx(1.0, abs=1e-3)


def test_the_tables_have_a_row_per_method(results):
    rows = by_size(results)
    assert [row[0] for row in rows] == ["method", "farneback", "dis", "tvl1"]
    assert all(len(row) == len(rows[0]) for row in rows)
    rows = by_amplitude(results, 168)
    assert [row[:2] for row in rows[1:]] == [["farneback", "1"], ["dis", "1"], ["tvl1", "1"]]


def test_layouts():
    rows = [["a", "bb"], ["1", "2"]]
    assert layout(rows, markdown=True) == "| a | bb |\n|---|---|\n| 1 | 2 |\n"
    assert layout(rows, markdown=False) == "a  bb\n1   2\n"


@pytest.mark.slow
def test_the_command_writes_both_tables(capsys):
    main(["--quick", "--markdown"])
    out = capsys.readouterr().out
    assert out.count("| method |") == 2
    assert "| tvl1 | 168 |" in out
