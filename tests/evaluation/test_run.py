import fcntl
import getpass
import json
import platform
import resource
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from epir.core.engines import Engine
from epir.core.errors import ConfigError, EpirError, EpirWarning, ProtocolError, RunError, TrainingError
from epir.core.records import Clip
from epir.evaluation import run as module
from epir.evaluation.run import describe_machine, evaluate, evaluate_zero_shot
from epir.evaluation.table import score_table
from epir.maps.mapset import MapSet, load_maps, save_maps
from epir.models.registry import create_model
from epir.training.recipe import BASELINE, SCRATCH

ONE = Engine(workers=1)


def predictions(folder):
    return (Path(folder) / "predictions.csv").read_bytes()


def folds_done(out):
    return len(list(Path(out).glob("folds/[!.]*.json")))


def test_every_clip_is_predicted_once_per_seed_also_if_seeds_are_added_later(finished, quick):
    call = dict(protocol="cde", model="ststnet", seeds=2, changes=quick, engine=ONE)
    run = evaluate(finished / "maps", out=finished / "other", **call)
    assert len(run.predictions) == 48 == len({(each.key, each.seed) for each in run.predictions})
    assert len(run.folds) == 8 and run.scores["folds"] == 4 and run.scores["seeds"] == 2
    assert all(each.person == each.fold for each in run.predictions)
    assert run.experiment.training.epochs == 2 and run.experiment.training.name == BASELINE
    assert run.environment["maps"][0]["folder"] == "../maps" and run.environment["clips_left_out"] == 0
    assert "notes" not in run.environment
    later = evaluate(finished / "maps", out=finished / "run", **call)
    assert predictions(later.folder) == predictions(run.folder)
    assert later.scores["strict"] == run.scores["strict"]


def test_a_second_call_repeats_nothing(finished, quick, monkeypatch):
    before = predictions(finished / "run")
    scores = json.loads((finished / "run" / "scores.json").read_text())
    monkeypatch.setattr(Engine, "run", lambda *_, **__: pytest.fail("nothing was missing"))
    call = dict(protocol="cde", model="ststnet", out=finished / "run", changes=quick, engine=ONE)
    assert evaluate(finished / "maps", **call).scores == scores
    assert predictions(finished / "run") == before


def test_a_person_joined_since_the_run_began_is_not_taken_for_two(make_maps, tmp_path, quick):
    plain = load_maps(make_maps())
    call = dict(protocol="cde", model="ststnet", folds="loco", out=tmp_path / "run", changes=quick, engine=ONE)
    assert evaluate(plain.folder, **call).scores["people"] == 4
    names = {"00": "Anna", "02": "Anna"}
    clips = [replace(clip, extra={"person": names.get(clip.subject, "")}) for clip in plain.clips]
    joined = save_maps(tmp_path / "joined", np.array(plain.maps), clips, recipe={"name": "noise"}).folder
    with pytest.raises(RunError, match="has other settings or maps"):
        evaluate(joined, **call)


def test_only_missing_folds_are_run(finished, quick, monkeypatch):
    before = predictions(finished / "run")
    (finished / "run" / "folds" / "samm+01__seed0.json").unlink()
    requested = []
    real = Engine.run

    def watched(self, work, jobs, *rest, **options):
        requested.extend(job.fold for job in jobs)
        return real(self, work, jobs, *rest, **options)

    monkeypatch.setattr(Engine, "run", watched)
    evaluate(finished / "maps", protocol="cde", model="ststnet", out=finished / "run", changes=quick, engine=ONE)
    assert requested == ["samm/01"] and predictions(finished / "run") == before


def test_a_processor_is_recorded_if_it_ran_folds(finished, quick, monkeypatch):
    call = dict(protocol="cde", model="ststnet", out=finished / "run", changes=quick, engine=ONE)
    monkeypatch.setattr(module, "processor", lambda: "another")
    assert "continued" not in evaluate(finished / "maps", **call).environment  # the run was finished
    (finished / "run" / "folds" / "samm+01__seed0.json").unlink()
    (entry,) = evaluate(finished / "maps", **call).environment["continued"]
    assert entry["machine"]["processor"] == "another"


@pytest.mark.slow
def test_workers_do_not_change_predictions(finished, quick):
    call = dict(protocol="cde", model="ststnet", changes=quick)
    evaluate(finished / "maps", out=finished / "two", engine=Engine(workers=2), **call)
    assert predictions(finished / "two") == predictions(finished / "run")


def test_the_order_of_map_sets_and_rows_changes_nothing(make_maps, tmp_path, quick):
    a, b = make_maps("a", corpora=("casme2",)), make_maps("b", corpora=("samm",), seed=1)
    for name, maps in (("ab", [a, b]), ("ba", [b, a])):
        evaluate(maps, protocol="cde", model="ststnet", out=tmp_path / name, folds=2, changes=quick, engine=ONE)
    assert predictions(tmp_path / "ab") == predictions(tmp_path / "ba")


KILLED_WHILE_WRITING = """
import os, signal, sys
from epir.core.engines import Engine
from epir.evaluation.run import evaluate
maps, out, *changes = sys.argv[1:]
real = os.replace
def replace(source, target):
    if "samm+01" in str(target):
        os.kill(os.getpid(), signal.SIGKILL)
    real(source, target)
os.replace = replace
evaluate(maps, protocol="cde", model="ststnet", out=out, changes=changes, engine=Engine(workers=1))
"""


@pytest.mark.slow
def test_killed_while_it_writes_a_fold_it_resumes_with_the_same_predictions(finished, quick):
    maps, out = finished / "maps", finished / "killed"
    killed = subprocess.run([sys.executable, "-c", KILLED_WHILE_WRITING, str(maps), str(out), *quick])
    assert killed.returncode == -signal.SIGKILL and folds_done(out) == 2
    assert list(out.glob("folds/.*")) and not (out / "scores.json").exists()
    evaluate(maps, protocol="cde", model="ststnet", out=out, changes=quick, engine=ONE)
    assert predictions(out) == predictions(finished / "run") and not list(out.glob("folds/.*"))


def test_two_processes_cannot_use_one_run_folder(make_maps, tmp_path, quick):
    maps = make_maps()
    with (tmp_path / ".run.lock").open("a") as other, pytest.raises(EpirError, match="another process is writing"):
        fcntl.flock(other, fcntl.LOCK_EX)
        evaluate(maps, protocol="cde", model="ststnet", out=tmp_path / "run", changes=quick, engine=ONE)


def test_a_disk_that_fills_up_loses_nothing(finished, quick):
    """A real limit on the size of files stands for the full disk; the same command then resumes."""
    call = dict(protocol="cde", model="ststnet", out=finished / "full", changes=quick, engine=ONE)
    ignored, (soft, hard) = (
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
        resource.getrlimit(resource.RLIMIT_FSIZE),
    )
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1500, hard))
        with pytest.raises(EpirError, match=r"the file is too large for this disk\n  fix: write to another disk"):
            evaluate(finished / "maps", **call)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert not list((finished / "full").rglob(".*.json"))
    evaluate(finished / "maps", **call)
    assert predictions(finished / "full") == predictions(finished / "run")


def test_a_recipe_that_replaces_the_default_is_announced_and_recorded(make_maps, tmp_path):
    small = ("model.width=12", "model.heads=2", "model.feed_forward=12", "model.patch=3", "training.epochs=1")
    with pytest.warns(EpirWarning, match=f"the recipe {SCRATCH} .* instead of the default"):
        run = evaluate(make_maps(), protocol="cde", out=tmp_path / "run", folds=2, changes=small, engine=ONE)
    assert run.experiment.training.name == SCRATCH
    assert "model.width=12 (not 256)" in run.environment["notes"][0]
    assert json.loads((tmp_path / "run" / "environment.json").read_text())["notes"] == run.environment["notes"]


def test_provenance_has_versions_machine_and_maps_but_no_names(make_maps, tmp_path):
    mapset = load_maps(make_maps())
    environment = describe_machine([mapset], tmp_path / "runs" / "first", engine="local", workers=2, device="cpu")
    assert {"epir", "python", "torch", "numpy"} <= set(environment["versions"])
    assert environment["machine"]["cores"] >= 1 and environment["machine"]["system"] == platform.system()
    assert environment["maps"][0]["digest"] == mapset.digest and environment["maps"][0]["folder"] == "../../maps"
    words = json.dumps(environment)
    assert platform.node() not in words
    assert f"/{getpass.getuser()}/" not in words


def test_maps_may_come_from_memory(quick, tmp_path):
    random = np.random.default_rng(0)
    clips = tuple(Clip("own", f"{n % 3}", f"c{n}", "ab"[n // 6]) for n in range(12))
    maps = MapSet(random.normal(size=(12, 3, 12, 12)).astype(np.float32), clips, {"digest": "", "recipe": {}})
    run = evaluate(maps, protocol="sde", model="ststnet", out=tmp_path, folds="3", changes=quick, engine=ONE)
    assert run.experiment.classes == ("a", "b") and len(run.predictions) == 12


def test_errors_of_a_fold_name_what_is_wrong(make_maps, tmp_path):
    wild = {"lr": 1000, "weight_decay": 1000, "gradient_limit": 0, "warmup": 0, "batch": 4}
    changes = [f"training.{name}={value}" for name, value in wild.items()]
    with pytest.raises(TrainingError, match=r"fold casme2/00, seed 0: the loss became NaN or infinite in epoch"):
        evaluate(make_maps(), protocol="cde", model="ststnet", out=tmp_path / "run", changes=changes, engine=ONE)


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"folds": 10}, "10 folds need at least 10 people, but there are 4"),
        ({"folds": "lsoo"}, "--folds cannot be 'lsoo'\n  fix: use loso, loco, split or a number"),
        ({"folds": "1"}, "--folds cannot be '1'"),
        ({"seeds": 0}, "--seeds must be at least 1, not 0\n  fix: for example --seeds 3"),
        ({"model": "epirr"}, "there is no model 'epirr'\n  fix: did you mean 'epir'"),
        ({"training": "scrach"}, f"did you mean '{SCRATCH}'"),
        ({"changes": ["epochs=3"]}, "there is no setting 'epochs'\n  fix: did you mean training.epochs"),
        ({"protocol": "cd"}, "there is no protocol 'cd'\n  fix: did you mean 'cde'"),
    ],
)
def test_impossible_requests_are_refused_before_anything_is_written(make_maps, tmp_path, choices, words):
    request = {"protocol": "cde", "model": "ststnet", "out": tmp_path / "run", "engine": ONE} | choices
    with pytest.raises((ConfigError, ProtocolError), match=words):
        evaluate(make_maps(), **request)
    assert not (tmp_path / "run").exists()


def test_no_map_set_is_refused():
    with pytest.raises(ConfigError, match="no map set given\n  fix: give one or more folders"):
        evaluate([], protocol="cde")


def test_the_default_folder_has_protocol_and_model():
    assert str(module.default_out("cde", "vit+dtsm")) == "runs/cde-vit+dtsm"


def labelled(folder, rows):
    """A run's map set of clips of any corpus: (corpus, subject, emotion, split)."""
    rng = np.random.default_rng(0)
    clips = [
        Clip(corpus, subject, f"c{number}", word, extra={"split": part} if part else {})
        for number, (corpus, subject, word, part) in enumerate(rows)
    ]
    return save_maps(folder, rng.normal(size=(len(clips), 3, 12, 12)).astype("float32"), clips, recipe={}).folder


def test_the_split_of_dfme_is_used_unless_other_folds_are_asked_for(tmp_path, quick):
    words = ["anger", "contempt", "disgust", "fear", "happiness", "sadness", "surprise"]
    parts = {"train": ("1", "2"), "test-a": ("3",), "test-b": ("4",)}
    rows = [("dfme", subject, word, part) for part, people in parts.items() for subject in people for word in words]
    maps = labelled(tmp_path / "maps", rows)
    options = {"protocol": "sde-dfme", "model": "ststnet", "changes": quick, "engine": ONE}
    run = evaluate(maps, out=tmp_path / "run", **options)
    assert run.experiment.folds == "split"
    assert {each.fold for each in run.predictions} == {"test-a", "test-b"}
    assert {each.subject for each in run.predictions} == {"3", "4"}
    assert set(run.scores["strict"]["parts"]) == {"test-a", "test-b"}
    assert "test A" in score_table([run]).text()


def test_a_corpus_whose_name_begins_with_test_is_one_part(make_maps, tmp_path, quick):
    maps = make_maps(corpora=("home", "test-lab"), people=4)
    run = evaluate(maps, protocol="sde", model="ststnet", out=tmp_path / "run", changes=quick, engine=ONE)
    assert set(run.scores["strict"]["parts"]) == {"home", "test-lab"}


def test_one_corpus_out_across_corpora(tmp_path, quick):
    words = {
        "dfme": ("contempt", "happiness", "surprise"),
        "mmew": ("anger", "happiness", "surprise"),
        "casme3": ("sad", "happy", "surprise"),
    }
    rows = [(corpus, subject, word, "") for corpus, three in words.items() for subject in "12" for word in three]
    maps = labelled(tmp_path / "maps", rows)
    options = {"protocol": "cde-all", "model": "ststnet", "folds": "loco", "changes": quick, "engine": ONE}
    run = evaluate(maps, out=tmp_path / "run", **options)
    assert [record.fold for record in run.folds] == sorted(words)
    assert run.experiment.classes == ("negative", "positive", "surprise")


def test_maps_replaced_while_it_runs_stop_the_run(finished, quick, monkeypatch):
    """The folds that are done stay; nothing of the new maps is mixed with them."""
    real, mapset = Engine.run, load_maps(finished / "maps")
    other = np.array(mapset.maps)[::-1].copy()

    def replaced(self, *rest, **options):
        for number, one in enumerate(real(self, *rest, **options)):
            if number == 0:
                save_maps(finished / "maps", other, mapset.clips, recipe={}, force=True)
            yield one

    monkeypatch.setattr(Engine, "run", replaced)
    call = dict(protocol="cde", model="ststnet", out=finished / "new", changes=quick, engine=ONE)
    with pytest.raises(EpirError, match="was replaced or changed while it was in use"):
        evaluate(finished / "maps", **call)
    assert folds_done(finished / "new") == 1
    with pytest.raises(RunError, match=r"has other settings or maps \(maps: "):
        evaluate(finished / "maps", **call)


def test_weights_replaced_while_it_runs_stop_the_run(finished, monkeypatch):
    weights, real = create_model("ststnet", map_size=12).save_pretrained(finished / "weights"), Engine.run

    def replaced(self, *rest, **options):
        create_model("ststnet", map_size=12).save_pretrained(weights, force=True)
        return real(self, *rest, **options)

    monkeypatch.setattr(Engine, "run", replaced)
    with pytest.raises(EpirError, match="were replaced while the run used them\n  fix: restore the original"):
        evaluate_zero_shot(finished / "maps", protocol="cde", weights=weights, out=finished / "new", engine=ONE)
