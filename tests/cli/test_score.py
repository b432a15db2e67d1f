"""`epir score` of runs and of printed scores; test_spot.py covers spotted videos."""

import json

import pytest

from epir.core.errors import ConfigError, RunError
from epir.evaluation.conventions import LAST, PERSON_POOLED


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    from epir import synthetic_maps
    from epir.core.engines import Engine
    from epir.evaluation.run import evaluate

    out = tmp_path_factory.mktemp("score") / "run"
    changes = ("training.epochs=2", "training.batch=16")
    maps = synthetic_maps(24, "direct")
    evaluate(maps, protocol="sde", model="ststnet", folds=2, out=out, changes=changes, engine=Engine(workers=1))
    return out


@pytest.fixture
def call(invoke):
    return lambda *words: invoke("score", *words)


def test_a_run_is_scored_by_every_convention(call, run_folder, tmp_path):
    scores = json.loads((run_folder / "scores.json").read_text())
    result = call(run_folder, "--out", tmp_path / "scores")
    assert result.exit_code == 0 and f"{scores['strict']['uf1']:.4f}" in result.stdout and "CapsuleNet" in result.stdout
    assert (tmp_path / "scores" / "conventions.csv").read_text().startswith("as others would print it,")
    values = json.loads(call(run_folder, "--json").stdout)["runs"][str(run_folder)]
    rows = {row["name"]: row for row in values["conventions"]}
    assert rows[LAST]["uf1"] == scores["strict"]["uf1"] and not rows[LAST]["leaks"]
    assert rows[PERSON_POOLED]["uf1"] == scores["best_epoch"]["uf1"] and rows[PERSON_POOLED]["leaks"]
    assert [row["epoch"] for row in values["epochs"]] == [1, 2]


def test_printed_scores_are_explained(call):
    result = call("--explain-printed", "casme2 0.9882 0.9896", "--explain-printed", "smic 0.8279 0.8363")
    assert "88/31/25" in result.stdout and "52/45/38; 55/44/37" in result.stdout
    values = json.loads(call("--explain-printed", "4:+DNSPT", "--tolerance", "1e-4", "--json").stdout)
    assert values["together"] == [{"casme2": [88, 30, 25], "samm": [88, 18, 11], "smic": [56, 41, 37]}]


def test_conflicting_options_are_refused(call, run_folder, tmp_path):
    with pytest.raises(ConfigError, match="there is nothing to score"):
        call()
    with pytest.raises(ConfigError, match=r"no folders\n  fix: quote a pair of scores: '0.88 0.89', or leave out 0.8"):
        call("--explain-printed", "0.9", "0.8")
    with pytest.raises(ConfigError, match="are for spotted videos"):
        call(run_folder, "--challenge", "2025")
    with pytest.raises(ConfigError, match=r"is a run and .* is not"):
        call(run_folder, tmp_path)


def test_a_missing_folder_and_a_folder_of_runs_are_told_apart(call, run_folder, tmp_path):
    home = run_folder.parent
    for folders, words in (
        ((home,), rf"{home} is a folder of runs\n  fix: score the runs in it: {run_folder}$"),
        (
            (tmp_path / "no",),
            r"no run or spotted folder .*/no\n  fix: check the path, or create one with epir evaluate or",
        ),
        ((run_folder, tmp_path / "no"), "there is no run or spotted folder"),
        ((tmp_path,), r"holds no spotted videos\n"),
    ):
        with pytest.raises(RunError, match=words):
            call(*folders)
