import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

QUICK = ("--model", "bi-woof", "--folds", "2", "--workers", "1")


def test_it_prints_the_table_and_writes_the_run(epir, noise, tmp_path):
    code, out, err = epir("evaluate", noise(), "--protocol", "cde", "--out", tmp_path / "run", *QUICK)
    assert code == 0
    assert "cde: 24 clips of 4 people, 2 folds (grouped by person), 1 seed" in out
    assert "best epoch (leaks)" in out and "EPIR" in out and f"run: {tmp_path / 'run'}" in out
    assert "bi-woof on cde, folds: 2/2" in err
    assert {path.name for path in (tmp_path / "run").iterdir()} >= {"config.toml", "predictions.csv", "scores.json"}


def test_the_recorded_command_of_each_model_of_a_series_can_be_run_again(epir, noise, tmp_path, monkeypatch):
    """Its own reference, and only the options that apply to it."""
    noise()
    monkeypatch.chdir(tmp_path)
    epir("new", "method", "my_net.py")
    words = "--folds 2 --workers 1 --training paper --set training.epochs=1 --record results"
    start = "evaluate maps --protocol cde --model"
    code, _, err = epir(*f"{start} my_net.py:MyNet,bi-woof --out runs {words}".split())
    assert code == 0, err
    commands = {path.stem: json.loads(path.read_text())["command"] for path in Path("results").iterdir()}
    assert commands == {
        "MyNet": f"epir {start} my_net.py:MyNet --folds 2 --training paper --set training.epochs=1",
        "bi-woof": f"epir {start} bi-woof --folds 2",
    }
    for name, command in commands.items():
        code, _, err = epir(*command.split()[1:], "--workers", 1, "--out", f"again/{name}", "--record", "results")
        assert code == 0, err


def test_what_a_protocol_leaves_out_is_said_once(epir, noise, tmp_path):
    maps, protocol = noise(corpora=("casme2", "samm")), tmp_path / "mine.toml"
    text = 'classes = ["negative", "positive", "surprise"]\ncorpora = ["casme2", "{}"]\n'
    protocol.write_text(text.format("smic"))
    words = ("evaluate", maps, "--protocol", protocol, "--model", "bi-woof,mdmo", "--folds", 2, "--workers", 1)
    code, _, err = epir(*words, "--out", tmp_path / "runs")
    assert code == 0 and err.count("note: the protocol mine leaves out 12 of 24 clips\n") == err.count("note: ") == 1
    protocol.write_text(text.format("sammm"))
    code, _, err = epir(*words, "--out", tmp_path / "runs")
    assert code == 2 and err.endswith("fix: did you mean 'samm'? If not, remove 'sammm' from the protocol\n")


def test_json_is_the_last_thing_on_stdout(epir, noise, tmp_path):
    maps = noise()
    code, out, _ = epir("evaluate", maps, "--protocol", "cde", "--out", tmp_path / "run", "--json", *QUICK)
    values = json.loads(out)
    extra = {"run": str(tmp_path / "run"), "training": None, "first_weights": None}  # an estimator has neither
    assert code == 0 and values == extra | json.loads((tmp_path / "run/scores.json").read_text())
    words = ("--model", "bi-woof,mdmo", "--folds", "2", "--workers", "1", "--json")
    _, out, _ = epir("evaluate", maps, "--protocol", "cde", "--out", tmp_path / "runs", *words)
    assert set(json.loads(out)["runs"]) == {"bi-woof", "mdmo"}


def test_several_models_end_in_one_table(epir, noise, tmp_path):
    """Differences in training are announced before the first line of progress."""
    words = ("--model", "vit,ststnet", "--folds", "2", "--workers", "1", "--out", tmp_path / "runs")
    maps = noise(size=28, people=2)
    code, out, err = epir("evaluate", maps, "--protocol", "sde", "--set", "training.epochs=1", *words)
    assert code == 0 and out.count("strict") == 2 and str(tmp_path / "runs" / "ststnet") in out
    assert err.startswith("note: the models are trained differently (vit: ") and err.count("note: ") == 1


def test_the_default_recipe_learns_classes_that_the_shipped_weights_do_not_know(epir, noise, tmp_path):
    """The paper's model, the shipped weights, teachers and a new head, on any emotions."""
    labels = ("disgust", "happiness", "others", "repression", "surprise")
    maps = noise(size=28, labels=labels, people=2)
    words = ("--folds", "2", "--workers", "1", "--set", "training.epochs=1", "--set", "training.teachers=1")
    code, out, _ = epir("evaluate", maps, "--protocol", "sde", "--out", tmp_path / "run", *words)
    assert code == 0 and "sde: 12 clips of 2 people" in out
    lines = (tmp_path / "run/predictions.csv").read_text().splitlines()
    assert lines[0].endswith(",".join(labels)) and len(lines) == 13


def test_settings_are_changed_by_their_dotted_names(epir, noise, tmp_path):
    words = ("--set", "training.epochs=1", "--set", "model.dropout=0.25", "--training", "paper", "--model", "ststnet")
    maps = noise()
    code, _, _ = epir(
        "evaluate", maps, "--protocol", "cde", "--out", tmp_path / "run", "--workers", 1, "--folds", 2, *words
    )
    config = (tmp_path / "run" / "config.toml").read_text()
    assert code == 0 and "dropout = 0.25" in config and "epochs = 1\n" in config and "lr = 5e-05" in config


@pytest.mark.parametrize(
    ("words", "problem", "fix"),
    [
        (("--workers", "0"), "--workers must be at least 1, not 0", "leave it out"),
        (("--engine", "slurm"), "there is no engine 'slurm'", "--engine local"),
        (("--folds", "9"), "9 folds need at least 9 people, but there are 4", "--folds 4 or fewer"),
        (("--model", "epri"), "there is no model 'epri'", "did you mean 'epir'?"),
        (("--set", "training.epoch=2"), "[training] has no setting 'epoch'", "did you mean 'epochs'?"),
        (("--weights", "model"), "--weights needs --zero-shot", "--set training.start=MODEL"),
        (("--zero-shot",), "they belong to 'epir', not to 'ststnet'", "leave out --model"),
        (("--zero-shot", "--seeds", "2"), "--zero-shot does not train: --seeds has no effect", "leave out --seeds"),
        (("--code", "nowhere.py:Net"), "there is no file nowhere.py", "check the path"),
        (("--protocol", "sde-casme2"), "none of 24 clips takes part in the protocol sde-casme2", "--protocol"),
    ],
)
def test_mistakes_take_two_lines_and_exit_2(epir, noise, tmp_path, words, problem, fix):
    start = ("evaluate", noise(), "--protocol", "cde", "--model", "ststnet", "--out", tmp_path / "run")
    code, out, err = epir(*start, *words)
    lines = err.splitlines()
    assert code == 2 and not out and len(lines) == 2
    assert problem in lines[0] and lines[1].startswith("fix: ") and fix in lines[1]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("choices", "problem"),
    [
        ([{"people": 1}], "folds need at least two people, but all clips are of smic/0"),
        ([{"labels": ("negative",)}], "no clip is positive or surprise"),
        (
            [{"labels": ("negative", "positve", "surprise")}],
            "labelled 'positve', which the protocol cde does not know",
        ),
        ([{}, {"name": "b", "size": 14, "corpora": ("samm",)}], "the map sets differ in size"),
    ],
)
def test_maps_that_cannot_be_evaluated_are_refused(epir, noise, tmp_path, choices, problem):
    maps = [noise(**each) for each in choices]
    code, _, err = epir("evaluate", *maps, "--protocol", "cde", "--model", "ststnet", "--out", tmp_path / "run")
    assert code == 2 and problem in err and "\nfix: " in err


def test_the_shipped_weights_predict_without_training(epir, noise, tmp_path):
    call = ("evaluate", noise(size=28), "--protocol", "cde", "--zero-shot", "--workers", "1", "--out", tmp_path / "run")
    code, out, _ = epir(*call, "--json")
    assert code == 0 and json.loads(out)["training"] == "none"


def test_an_interruption_exits_130(epir, noise, tmp_path, monkeypatch):
    from epir.core.engines import Engine

    def interrupted(self, *rest, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(Engine, "run", interrupted)
    code, _, _ = epir("evaluate", noise(), "--protocol", "cde", "--out", tmp_path / "run", *QUICK)
    assert code == 130


WITH_BLOCKED_WORKERS = """
import os, sys, time
from pathlib import Path
from epir.cli.main import main
from epir.evaluation import run as module
real, pids = module.run_job, Path(sys.argv.pop(1))
def run(job, inputs):
    if job.fold != "smic/0":
        (pids / str(os.getpid())).touch()
        time.sleep(600)
    return real(job, inputs)
module.run_job = run
main()
"""


def is_running(pid):
    """Whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    assert condition()


@pytest.mark.slow
@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_leaves_finished_folds_and_no_workers(noise, tmp_path, way):
    """Ctrl-C and SIGTERM, which reach the workers too, and the death of the parent alone."""
    out, pids = tmp_path / "run", tmp_path / "pids"
    pids.mkdir()
    words = ["evaluate", str(noise()), *f"--protocol cde --model bi-woof --workers 2 --out {out}".split()]
    process = subprocess.Popen(
        [sys.executable, "-c", WITH_BLOCKED_WORKERS, str(pids), *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with process:
        wait_until(lambda: process.poll() is not None or len(list(pids.iterdir())) == 2)
        (os.kill if way == signal.SIGKILL else os.killpg)(process.pid, way)
        if way != signal.SIGKILL:
            printed = process.stderr.read()
    workers = [int(path.name) for path in pids.iterdir()]
    wait_until(lambda: not any(map(is_running, workers)))
    assert len(workers) == 2 and [path.name for path in out.glob("folds/[!.]*")] == ["smic+0__seed0.json"]
    if way != signal.SIGKILL:
        assert process.returncode == 128 + way
        word = "Interrupted" if way == signal.SIGINT else "Terminated"
        assert printed.endswith(f"{word}.\nRun the same command to resume.\n") and "Warning" not in printed
        assert "Traceback" not in printed and "KeyboardInterrupt" not in printed
