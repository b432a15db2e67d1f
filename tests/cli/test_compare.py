import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from epir.cli.compare import compare
from epir.core.engines import Engine
from epir.core.errors import RunError
from epir.core.records import Clip
from epir.evaluation.run import evaluate
from epir.maps.mapset import save_maps


@pytest.fixture
def two_runs(tmp_path):
    """Two runs of the same clips and one of others."""
    random = np.random.default_rng(0)
    for name, people in (("maps", 5), ("others", 4)):
        clips = [Clip("smic", str(n), f"c{k}", "ab"[k % 2]) for n in range(people) for k in range(4)]
        maps = random.normal(size=(len(clips), 3, 12, 12)).astype(np.float32)
        save_maps(tmp_path / name, maps, clips, recipe={"name": "noise"})
    call = dict(protocol="sde", folds=2, engine=Engine(workers=1))
    evaluate(tmp_path / "maps", model="bi-woof", out=tmp_path / "first", **call)
    evaluate(tmp_path / "maps", model="mdmo", out=tmp_path / "second", **call)
    evaluate(tmp_path / "others", model="mdmo", out=tmp_path / "third", **call)
    return tmp_path


@pytest.fixture
def run_compare():
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(compare)

    def call(*words):
        result = CliRunner().invoke(app, [str(word) for word in words])
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


def test_runs_stand_side_by_side(run_compare, two_runs):
    out = run_compare(two_runs / "first", two_runs / "second").stdout
    assert f"Difference to {two_runs / 'first'} (training –, first weights –)" in out and "exact: all swaps" in out
    assert out.count("best epoch (leaks)") == 3 and "model.name: bi-woof -> mdmo" in out
    assert "unset" not in out


def test_json_has_scores_and_comparisons(run_compare, two_runs):
    found = json.loads(run_compare(two_runs / "first", two_runs / "second", "--json").stdout)
    strict = found["comparisons"][0]
    assert strict["column"] == "strict" and 0 < strict["p"] <= 1 and strict["is_exact"]
    assert strict["first_training"] == {"recipe": None, "first_weights": None}
    assert found["runs"][str(two_runs / "first")]["first_weights"] is None
    first, second = (found["runs"][str(two_runs / name)]["strict"]["uf1"] for name in ("first", "second"))
    assert strict["difference"] == pytest.approx(second - first, abs=1e-5)


def test_what_cannot_be_compared_is_told(run_compare, two_runs):
    with pytest.raises(RunError, match="they differ in their clips, for example smic/"):
        run_compare(two_runs / "first", two_runs / "third")
    with pytest.raises(RunError, match="one run cannot be compared\n  fix: name two run folders"):
        run_compare(two_runs / "first")
    with pytest.raises(RunError, match="is not a run"):
        run_compare(two_runs / "first", two_runs / "maps")
