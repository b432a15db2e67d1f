"""Results as data: what is recorded of a run and of a benchmark."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from epir.cli.verbs import app
from epir.core.errors import OutputError, RunError
from epir.evaluation.scores import accuracy, confusion_matrix, uar, uf1
from epir.reports.leaderboard import read_results
from epir.reports.record import FORMAT, clean_command, record_bench, record_result

ROOT = Path(__file__).parents[2]
QUICK = ("training.epochs=2", "training.batch=16")  # of the run in `home`


def recomputed(result, answers):
    """The scores of one seed from the compact predictions."""
    classes = [str(number) for number in range(len(result["classes"]))]
    confusion = confusion_matrix(result["predictions"]["truth"], answers, classes)
    return [float(score(confusion)) for score in (uf1, uar, accuracy)]


def check(result):
    """Scores, conventions and the curve of a result say what its predictions say."""
    own = result["scores"][result["main"]]
    predictions = result["predictions"]
    if predictions is not None:
        assert len(predictions["clips"]) == len(set(predictions["clips"])) == result["clips"]
        scores = np.mean([recomputed(result, answers) for answers in predictions["answers"]], axis=0)
        assert scores == pytest.approx([own["uf1"], own["uar"], own["accuracy"]], abs=1e-5)
    first = result["conventions"][0]
    assert first["uf1"] == pytest.approx(own["uf1"], abs=1e-5)
    if result["epochs"]:
        assert result["epochs"][-1][1] == pytest.approx(own["uf1"], abs=1e-5)
        assert result["epochs"][-1][2] == pytest.approx(result["scores"]["best_epoch"]["uf1"], abs=1e-5)


def test_a_result_is_recomputed_from_its_own_predictions(result):
    check(result)
    assert (result["protocol"], result["seeds"], len(result["uf1_by_seed"])) == ("sde", 2, 2)
    assert result["settings"]["training"]["epochs"] == 2 and len(result["epochs"]) == 2


def test_a_result_names_no_path_and_no_host(result, home):
    import platform

    text = json.dumps(result)
    assert str(home) not in text and platform.node() not in text.replace(result["versions"].get("commit", ""), "")
    assert result["command"] == "epir evaluate maps --protocol sde"
    assert all("folder" not in each and each["digest"] for each in result["maps"])


@pytest.mark.parametrize(
    ("command", "clean"),
    [
        ("epir evaluate a/b c --protocol cde --out x --seeds 3", "epir evaluate b c --protocol cde --seeds 3"),
        ("epir evaluate m --record=results --engine ray --folds 10", "epir evaluate m --folds 10"),
        ("epir evaluate m --force --json --zero-shot --weights /w/mine", "epir evaluate m --zero-shot --weights mine"),
        ("epir evaluate m --nested 'training.lr=1e-4 training.epochs=2'",) * 2,
    ],
)
def test_commands_keep_what_decides_the_scores(command, clean):
    assert clean_command(command) == clean


def test_the_command_line_records_a_finished_run(home, tmp_path):
    words = ["evaluate", home / "maps", "--protocol", "sde", "--model", "ststnet", "--folds", 2, "--seeds", 2]
    words += ["--out", home / "run", "--record", tmp_path / "results", "--workers", 1]
    outcome = CliRunner().invoke(app, [*map(str, words), *(word for each in QUICK for word in ("--set", each))])
    assert outcome.exit_code == 0, outcome.output
    assert f"recorded: {tmp_path / 'results' / 'run.json'} (new)" in outcome.output
    (result,) = read_results(tmp_path / "results")
    settings = " ".join(f"--set {each}" for each in QUICK)
    assert result["command"] == f"epir evaluate maps --protocol sde --model ststnet --folds 2 --seeds 2 {settings}"


def test_a_refused_record_does_not_hide_the_scores(home, tmp_path):
    (tmp_path / "run.json").write_text(json.dumps({"format": FORMAT, "protocol": "cde", "clips": 325}))
    words = ["evaluate", home / "maps", "--protocol", "sde", "--model", "ststnet", "--folds", 2, "--seeds", 2]
    words += ["--out", home / "run", "--record", tmp_path, "--workers", 1]
    outcome = CliRunner().invoke(app, [*map(str, words), *(word for each in QUICK for word in ("--set", each))])
    assert isinstance(outcome.exception, OutputError) and "(cde, 325 clips)" in str(outcome.exception)
    assert "best epoch (leaks)" in outcome.stdout and f"run: {home / 'run'}" in outcome.stdout


def test_a_file_in_place_of_the_folder_of_results_is_refused_before_anything_is_trained(home, tmp_path):
    (tmp_path / "results").write_text("mine")
    words = [
        "evaluate",
        home / "maps",
        "--protocol",
        "sde",
        "--out",
        tmp_path / "run",
        "--record",
        tmp_path / "results",
    ]
    outcome = CliRunner().invoke(app, list(map(str, words)))
    assert str(outcome.exception).endswith("results is not a folder\n  fix: name a folder: --record results")
    assert not (tmp_path / "run").exists()


def test_recording_again_replaces_the_result_and_nothing_else(home, tmp_path):
    from epir.evaluation.store import open_run

    run = open_run(home / "run")
    first = record_result(run, tmp_path, "epir evaluate one")[0].read_text()
    assert record_result(run, tmp_path, "epir evaluate one")[0].read_text() == first
    other = tmp_path / "run.json"
    other.write_text('{"mine": 1}')
    with pytest.raises(OutputError, match="is not a result of epir"):
        record_result(run, tmp_path, "epir evaluate one")
    with pytest.raises(RunError, match="is not a result of epir"):
        read_results(tmp_path)
    assert other.read_text() == '{"mine": 1}'


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda result: None, "none of 48 answers differs from those of abc"),
        (lambda result: result["predictions"]["answers"].reverse(), r"\d+ of 48 answers differ from those of abc"),
        (lambda result: result["predictions"].update(answers=["0" * 24] * 2), r"\d+ of 48 answers differ from"),
        (lambda result: result["predictions"]["answers"].pop(), "other seeds than those of abc"),
        (lambda result: result["predictions"].clear(), "not compared with the answers of abc"),
        (
            lambda result: [result.pop(key) for key in ("versions", "classes")],
            "not compared with the answers of no known",
        ),
        (lambda result: result.update(predictions=None), "not compared with the answers of abc"),
        (lambda result: result["versions"].pop("commit"), "none of 48 answers differs from those of no known commit"),
    ],
)
def test_recording_again_says_how_many_answers_changed(home, tmp_path, change, words):
    from epir.evaluation.store import open_run

    run = open_run(home / "run")
    path, _ = record_result(run, tmp_path, "epir evaluate one")
    before = json.loads(path.read_text())
    before["versions"]["commit"] = "abc"
    change(before)
    path.write_text(json.dumps(before))
    assert re.fullmatch(f"{words}.*", record_result(run, tmp_path, "epir evaluate one")[1])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda result: result.update(clips=325, protocol="cde48", predictions=None), "cde48, 325 clips"),
        (lambda result: result["predictions"]["clips"].__setitem__(0, "synthetic/s1/other"), "sde, 24 clips"),
        (lambda result: result["classes"].reverse(), "sde, 24 clips"),
    ],
)
def test_a_result_of_other_clips_is_not_replaced(home, tmp_path, change, words):
    from epir.evaluation.store import open_run

    run = open_run(home / "run")
    path, _ = record_result(run, tmp_path, "epir evaluate one")
    before = json.loads(path.read_text())
    change(before)
    path.write_text(json.dumps(before))
    fix = f"choose another folder for --record, or another name for --out; the run {home / 'run'} is finished"
    words = rf"run.json is a result of other clips \({words}\) than this run \(sde, 24 clips\)\n  fix: {fix}"
    with pytest.raises(OutputError, match=words):
        record_result(run, tmp_path, "epir evaluate one")
    assert json.loads(path.read_text()) == before


def test_a_result_of_the_same_clips_under_another_name_of_the_protocol_is_replaced(home, tmp_path):
    from epir.evaluation.store import open_run

    run = open_run(home / "run")
    path, _ = record_result(run, tmp_path, "epir evaluate one")
    path.write_text(path.read_text().replace('"protocol": "sde"', '"protocol": "mine"'))
    record_result(run, tmp_path, "epir evaluate one")
    assert json.loads(path.read_text())["protocol"] == "sde"


def test_a_run_without_its_environment_is_not_recorded(home, tmp_path):
    from epir.evaluation.store import open_run

    run = replace(open_run(home / "run"), environment={})
    words = r"environment.json is missing, and with it the versions, .*\n  fix: run the evaluation again with --force"
    with pytest.raises(RunError, match=words):
        record_result(run, tmp_path / "results", "epir evaluate one")
    assert not (tmp_path / "results").exists()


def test_a_benchmark_replaces_nothing_but_a_benchmark(tmp_path):
    with pytest.raises(OutputError, match=r"is not a \.json file"):
        record_bench({}, tmp_path / "results", "epir bench")
    (tmp_path / "run.json").write_text('{"format": "epir-result/1"}')
    with pytest.raises(OutputError, match="is not a benchmark of epir"):
        record_bench({}, tmp_path / "run.json", "epir bench")


def test_a_place_that_cannot_be_is_refused_before_anything_is_measured(monkeypatch, tmp_path):
    from epir.bench import suite

    monkeypatch.setattr(suite, "measure", lambda *_, **__: pytest.fail("measured"))
    outcome = CliRunner().invoke(app, ["bench", "--only", "flow", "--record", str(tmp_path / "results")])
    assert isinstance(outcome.exception, OutputError)


def test_large_runs_are_recorded_without_predictions(home, monkeypatch):
    from epir.evaluation.store import open_run
    from epir.reports import record

    monkeypatch.setattr(record, "MOST_ANSWERS", 10)
    result = record.result_of(replace(open_run(home / "run")), "epir evaluate one")
    assert result["predictions"] is None and result["predictions_digest"]


def test_every_published_result_says_what_its_predictions_say():
    for result in read_results(ROOT / "results"):
        if result["format"] == FORMAT:
            check(result)
