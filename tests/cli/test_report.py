"""The verbs `report` and `compare`."""

import json
from pathlib import Path

import pytest

from epir.core.engines import Engine
from epir.core.errors import OutputError, RunError
from epir.evaluation.run import evaluate


@pytest.fixture
def runs(noise, tmp_path):
    """Two runs of the same clips and one of others."""
    call = dict(protocol="sde", folds=2, engine=Engine(workers=1))
    maps = [noise("maps", people=5, clips=4, labels="ab"), noise("others", people=4, clips=4, labels="ab")]
    for name, model, each in (("first", "bi-woof", 0), ("second", "mdmo", 0), ("third", "mdmo", 1)):
        evaluate(maps[each], model=model, out=tmp_path / name, **call)
    return tmp_path


def test_report_prints_its_path_and_replaces_no_page(invoke, runs):
    printed = invoke("report", runs / "first").stdout
    assert printed.endswith(f"report: {runs / 'first' / 'report.html'}\n")
    with pytest.raises(OutputError, match="exists already"):
        invoke("report", runs / "first")
    assert invoke("report", runs / "first", "--force").exit_code == 0
    with pytest.raises(RunError, match="is not a run"):
        invoke("report", runs / "maps")


def test_json_names_everything_that_was_written(invoke, runs, tmp_path):
    further = ("--latex", "--markdown", "--figures", tmp_path / "figures", "--no-faces", "--json")
    written = json.loads(invoke("report", runs / "first", "--out", tmp_path / "r.html", *further).stdout)
    assert written.keys() == {"report", "latex", "markdown", "figures"}
    assert all(Path(path).exists() for path in written.values())


def test_compare_prints_runs_side_by_side(invoke, runs):
    out = invoke("compare", runs / "first", runs / "second").stdout
    assert f"Difference to {runs / 'first'} (training –, first weights –)" in out and "exact: all swaps" in out
    assert out.count("best epoch (leaks)") == 3 and "model.name: bi-woof -> mdmo" in out and "unset" not in out
    values = json.loads(invoke("compare", runs / "first", runs / "second", "--json").stdout)
    strict = values["comparisons"][0]
    assert strict["column"] == "strict" and 0 < strict["p"] <= 1 and strict["is_exact"]
    assert strict["first_training"] == {"recipe": None, "first_weights": None}
    assert values["runs"][str(runs / "first")]["first_weights"] is None
    first, second = (values["runs"][str(runs / name)]["strict"]["uf1"] for name in ("first", "second"))
    assert strict["difference"] == pytest.approx(second - first, abs=1e-5)


def test_compare_explains_what_it_cannot_compare(invoke, runs):
    for names, words in (
        (("first", "third"), "they differ in their clips, for example smic/"),
        (("first",), "epir compare needs at least two runs\n  fix: name two run folders"),
        (("first", "maps"), "is not a run"),
    ):
        with pytest.raises(RunError, match=words):
            invoke("compare", *(runs / name for name in names))
