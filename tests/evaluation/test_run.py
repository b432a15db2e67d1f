import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from epir.core.errors import ConfigError, ProtocolError, RunError
from epir.core.records import Clip
from epir.evaluation import run as module
from epir.evaluation.run import Engine, evaluate
from epir.maps.mapset import MapSet

ONE = Engine(workers=1)
PROGRAM = """
import sys
from epir.evaluation.run import Engine, evaluate
maps, out, workers = sys.argv[1:4]
evaluate(maps, protocol="cde", model="ststnet", out=out, changes=sys.argv[4:], engine=Engine(workers=int(workers)))
"""


def predictions(folder):
    return (Path(folder) / "predictions.csv").read_bytes()


def start(maps, out, *changes, workers=1, **options):
    command = [sys.executable, "-c", PROGRAM, str(maps), str(out), str(workers), *changes]
    return subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True, text=True, **options)


def folds_done(out):
    return len(list(Path(out).glob("folds/[!.]*.json")))


def test_every_clip_is_predicted_once_per_seed(make_maps, tmp_path, quick):
    run = evaluate(
        make_maps(), protocol="cde", model="ststnet", out=tmp_path / "run", seeds=2, changes=quick, engine=ONE
    )
    assert len(run.predictions) == 48 == len({(each.key, each.seed) for each in run.predictions})
    assert len(run.folds) == 8 and run.scores["folds"] == 4 and run.scores["seeds"] == 2
    assert all(each.person == each.fold for each in run.predictions)
    assert run.experiment.training.epochs == 2 and run.experiment.training.name == "peer"
    assert run.environment["maps"][0]["folder"] == "../maps" and run.environment["clips_left_out"] == 0


def test_a_second_call_does_nothing_again(make_maps, tmp_path, quick, monkeypatch):
    call = dict(protocol="cde", model="ststnet", out=tmp_path / "run", changes=quick, engine=ONE)
    maps = make_maps()
    first = evaluate(maps, **call)
    before = predictions(tmp_path / "run")
    monkeypatch.setattr(Engine, "run", lambda *_: pytest.fail("nothing was missing"))
    assert evaluate(maps, **call).scores == first.scores
    assert predictions(tmp_path / "run") == before


def test_more_seeds_later_give_what_they_give_at_once(make_maps, tmp_path, quick):
    maps = make_maps()
    call = dict(protocol="cde", model="ststnet", changes=quick, engine=ONE)
    evaluate(maps, **call, out=tmp_path / "run")
    later = evaluate(maps, **call, out=tmp_path / "run", seeds=2)
    at_once = evaluate(maps, **call, out=tmp_path / "other", seeds=2)
    assert predictions(later.folder) == predictions(at_once.folder)
    assert later.scores["strict"] == at_once.scores["strict"]


def test_only_what_is_missing_is_done(make_maps, tmp_path, quick, monkeypatch):
    call = dict(protocol="cde", model="ststnet", out=tmp_path / "run", changes=quick, engine=ONE)
    maps = make_maps()
    evaluate(maps, **call)
    before = predictions(tmp_path / "run")
    lost = sorted((tmp_path / "run" / "folds").iterdir())[2]
    lost.unlink()
    asked = []
    real = Engine.run

    def watched(self, tasks):
        asked.extend(task.fold for task in tasks)
        return real(self, tasks)

    monkeypatch.setattr(Engine, "run", watched)
    evaluate(maps, **call)
    assert asked == ["samm/01"] and predictions(tmp_path / "run") == before


@pytest.mark.slow
def test_workers_do_not_change_predictions(make_maps, tmp_path, quick):
    maps = make_maps()
    for workers in (1, 2, 3):
        engine = Engine(workers=workers)
        evaluate(maps, protocol="cde", model="ststnet", out=tmp_path / str(workers), changes=quick, engine=engine)
    assert predictions(tmp_path / "1") == predictions(tmp_path / "2") == predictions(tmp_path / "3")


def test_the_order_of_map_sets_and_rows_changes_nothing(make_maps, tmp_path, quick):
    a, b = make_maps("a", corpora=("casme2",)), make_maps("b", corpora=("samm",), seed=1)
    for name, maps in (("ab", [a, b]), ("ba", [b, a])):
        evaluate(maps, protocol="cde", model="ststnet", out=tmp_path / name, folds=2, changes=quick, engine=ONE)
    assert predictions(tmp_path / "ab") == predictions(tmp_path / "ba")


@pytest.mark.slow
def test_killed_at_any_moment_it_ends_the_same(make_maps, tmp_path):
    """kill -9 after ever more folds, each time the same command again; then the predictions are bit-identical."""
    maps, changes = make_maps(people=6), ("training.epochs=8", "training.batch=4")
    call = dict(protocol="cde", model="ststnet", changes=changes, engine=ONE)
    evaluate(maps, out=tmp_path / "undisturbed", **call)
    kills = 0
    for wanted in (0, 2, 4):  # before the first fold is done, and twice in the middle
        process = start(maps, tmp_path / "killed", *changes)
        while process.poll() is None:
            if (tmp_path / "killed" / "config.toml").exists() and folds_done(tmp_path / "killed") >= wanted:
                time.sleep(0.03 * (wanted + 1))
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        kills += process.returncode == -signal.SIGKILL
        process.stderr.close()
    assert kills == 3 and folds_done(tmp_path / "killed") < 6
    assert not (tmp_path / "killed" / "scores.json").exists()
    evaluate(maps, out=tmp_path / "killed", **call)
    assert predictions(tmp_path / "killed") == predictions(tmp_path / "undisturbed")


def running(pid):
    """Whether a process is alive (and not only waiting to be buried)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def workers_of(pid):
    commands = {int(path.name): path / "cmdline" for path in Path("/proc").glob("[0-9]*")}
    found = []
    for number, command in commands.items():
        try:
            parent = int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and "LokyProcess" in command.read_text():
                found.append(number)
        except OSError:
            continue  # it has just ended
    return found


@pytest.mark.slow
@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGKILL])
def test_an_end_in_the_middle_keeps_finished_folds_and_leaves_no_workers(make_maps, tmp_path, way):
    maps, changes = make_maps(people=6), ("training.epochs=40", "training.batch=4")
    process = start(maps, tmp_path / "run", *changes, workers=2)
    while process.poll() is None and folds_done(tmp_path / "run") < 2:
        time.sleep(0.05)
    workers = workers_of(process.pid)
    os.kill(process.pid, way)
    assert process.wait(timeout=20) != 0
    process.stderr.close()
    end = time.monotonic() + 15
    while any(running(pid) for pid in workers) and time.monotonic() < end:
        time.sleep(0.1)
    assert len(workers) == 2 and not any(running(pid) for pid in workers)
    assert 2 <= folds_done(tmp_path / "run") < 6
    for name in ("run", "undisturbed"):
        evaluate(maps, protocol="cde", model="ststnet", out=tmp_path / name, changes=changes, engine=ONE)
    assert predictions(tmp_path / "run") == predictions(tmp_path / "undisturbed")


def test_two_processes_do_not_spoil_a_run(make_maps, tmp_path, quick):
    from epir.evaluation.lock import locked

    (tmp_path / "run").mkdir()
    maps = make_maps()
    with locked(tmp_path / "run"), pytest.raises(RunError, match="another process is working in the run folder"):
        evaluate(maps, protocol="cde", model="ststnet", out=tmp_path / "run", changes=quick, engine=ONE)


def test_a_changed_setting_is_refused_with_the_difference(make_maps, tmp_path, quick):
    maps = make_maps()
    call = dict(protocol="cde", model="ststnet", out=tmp_path / "run", engine=ONE)
    evaluate(maps, changes=quick, **call)
    with pytest.raises(RunError, match=r"training.epochs: 2 -> 3\)\n  fix: give another folder with --out"):
        evaluate(maps, changes=(*quick, "training.epochs=3"), **call)
    with pytest.raises(RunError, match=r"\(clips: \w+ -> \w+; maps: .*\)\n  fix"):
        evaluate(make_maps("other", people=5), changes=quick, **call)
    evaluate(maps, changes=(*quick, "training.epochs=3"), force=True, **call)
    assert json.loads((tmp_path / "run" / "scores.json").read_text())["clips"] == 24


@pytest.mark.slow
def test_a_disk_that_fills_up_loses_nothing(make_maps, tmp_path, quick):
    """A real limit on the size of files stands for the full disk; the same command then goes on."""
    maps, out = make_maps(), tmp_path / "run"

    def small_files_only():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1500, resource.RLIM_INFINITY))

    process = start(maps, out, *quick, preexec_fn=small_files_only)
    _, words = process.communicate()
    assert process.returncode == 1 and "cannot write" in words and "File too large" in words
    assert "then the same command goes on, finished folds are kept" in words
    assert not list(out.rglob(".*.json"))
    evaluate(maps, protocol="cde", model="ststnet", out=out, changes=quick, engine=ONE)
    evaluate(maps, protocol="cde", model="ststnet", out=tmp_path / "other", changes=quick, engine=ONE)
    assert predictions(out) == predictions(tmp_path / "other")


def test_maps_may_come_from_memory(quick, tmp_path):
    random = np.random.default_rng(0)
    clips = tuple(Clip("own", f"{n % 3}", f"c{n}", "ab"[n // 6]) for n in range(12))
    maps = MapSet(random.normal(size=(12, 3, 12, 12)).astype(np.float32), clips, {"digest": "", "recipe": {}})
    run = evaluate(maps, protocol="sde", model="ststnet", out=tmp_path, folds="3", changes=quick, engine=ONE)
    assert run.experiment.classes == ("a", "b") and len(run.predictions) == 12


def test_errors_of_a_fold_name_what_is_wrong(make_maps, tmp_path):
    with pytest.raises(Exception, match=r"fold casme2/00, seed 0: the loss is not a number any more in epoch"):
        evaluate(
            make_maps(),
            protocol="cde",
            model="ststnet",
            out=tmp_path / "run",
            changes=["training.lr=1e30", "training.gradient_limit=0", "training.warmup=0"],
            engine=ONE,
        )


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"folds": 10}, "10 folds need at least 10 people, but there are 4"),
        ({"folds": "lsoo"}, "folds cannot be 'lsoo'\n  fix: use loso, loco or a number"),
        ({"folds": "1"}, "folds cannot be '1'"),
        ({"seeds": 0}, "seeds is 0\n  fix: give 1 or more"),
        ({"model": "epirr"}, "there is no model 'epirr'\n  fix: did you mean 'epir'"),
        ({"training": "strickt"}, "did you mean 'strict'"),
        ({"changes": ["epochs=3"]}, "there is no setting 'epochs'\n  fix: did you mean training.epochs"),
        ({"weights": "model"}, "--weights is for --zero-shot\n  fix: to train from weights use --set training.start"),
        ({"zero_shot": True, "seeds": 2}, "--zero-shot trains nothing\n  fix: leave out --set, --training and --seeds"),
        ({"protocol": "cd"}, "there is no protocol 'cd'\n  fix: did you mean 'cde'"),
    ],
)
def test_impossible_wishes_are_refused_before_anything_is_written(make_maps, tmp_path, choices, words):
    wishes = {"protocol": "cde", "model": "ststnet", "out": tmp_path / "run", "engine": ONE} | choices
    with pytest.raises((ConfigError, ProtocolError), match=words):
        evaluate(make_maps(), **wishes)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"workers": 0}, "0 workers cannot do anything\n  fix: give --workers 1 or more"),
        ({"name": "rai"}, "there is no engine 'rai'\n  fix: use --engine local or --engine ray"),
        ({"gpus": -1.0}, "-1 of a GPU is no share"),
    ],
)
def test_impossible_engines_are_refused(choices, words):
    with pytest.raises(ConfigError, match=words):
        Engine(**choices)


def test_one_person_is_refused(make_maps, tmp_path):
    with pytest.raises(ProtocolError, match="all clips are of casme2/00"):
        evaluate(make_maps(people=1), protocol="cde", model="ststnet", out=tmp_path / "run")


def test_no_map_set_is_refused():
    with pytest.raises(ConfigError, match="there is no map set to evaluate\n  fix: name one or more folders"):
        evaluate([], protocol="cde")


def test_the_default_folder_has_protocol_and_model():
    assert str(module.default_out("cde", "vit+dtsm")) == "runs/cde-vit+dtsm"
