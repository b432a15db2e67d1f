import csv
import errno
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from epir.core.errors import ConfigError, EpirError, EpirWarning, MachineError, RunError
from epir.core.output import locked
from epir.evaluation.experiment import Experiment, read_experiment
from epir.evaluation.fold import ClipRecord, FoldRecord, from_json
from epir.evaluation.store import open_run, open_store
from epir.models.registry import model_settings
from epir.training.recipe import training_recipe

CLASSES = ("negative", "positive", "surprise")
EXPERIMENT = Experiment("cde", CLASSES, model_settings("ststnet"), training_recipe("paper"), maps=("d1",), clips="d2")

HELD_OUT = {fold: [f"{fold}/c{number}" for number in range(3)] for fold in ("casme2/1", "samm/2")}


def record(fold, *, seed=0, count=3):
    corpus, subject = fold.split("/")
    clips = tuple(
        ClipRecord(
            *(corpus, subject, f"c{n}", CLASSES[n % 3], CLASSES[n % 2], CLASSES[n % 3]),
            *(seed, fold, (0.5, 0.3, 0.2)),
            by_epoch=(n % 3,),
        )
        for n in range(count)
    )
    return FoldRecord(fold, seed, "", clips, loss=(1.0,), best_epoch=1, seconds=1.25)


def finished(folder, experiment=EXPERIMENT):
    with open_store(folder, experiment) as store:
        for seed in range(experiment.seeds):
            for fold in ("casme2/1", "samm/2"):
                store.add(record(fold, seed=seed))
        store.describe({"engine": "local"})
        return store.finish(HELD_OUT)


def test_a_run_is_what_the_design_says(tmp_path):
    run = finished(tmp_path / "run")
    files = {".epir", "config.toml", "folds", "predictions.csv", "scores.json", "environment.json"}
    assert {path.name for path in (tmp_path / "run").iterdir()} == files
    rows = list(csv.reader((tmp_path / "run" / "predictions.csv").read_text().splitlines()))
    assert rows[0] == ["corpus", "subject", "clip", "truth", "strict", "best_epoch", "seed", *CLASSES]
    assert rows[1] == ["casme2", "1", "c0", "negative", "negative", "negative", "0", "0.500000", "0.300000", "0.200000"]
    assert len(rows) == 7
    scores = json.loads((tmp_path / "run" / "scores.json").read_text())
    assert run.scores == scores
    head = {name: scores[name] for name in ("protocol", "model", "clips", "people", "folds", "seeds", "seconds")}
    counts = {"clips": 6, "people": 2, "folds": 2, "seeds": 1, "seconds": 2.5}
    assert head == {"protocol": "cde", "model": "ststnet", **counts}
    for column in ("strict", "best_epoch"):
        assert set(scores[column]) == {"uf1", "uar", "accuracy", "uf1_interval", "confusion", "parts"}
        assert set(scores[column]["parts"]) == {"casme2", "samm"}
    assert set(scores["by_seed"]) == {"0"}


def test_a_run_opens_as_it_was_written(tmp_path):
    experiment = replace(EXPERIMENT, seeds=2)
    finished(tmp_path, experiment)
    run = open_run(tmp_path)
    assert run.experiment == experiment and read_experiment(tmp_path / "config.toml") == experiment
    assert len(run.folds) == 4 and len(run.predictions) == 12
    assert [(each.seed, each.key) for each in run.predictions] == sorted(
        (each.seed, each.key) for each in run.predictions
    )
    assert run.environment == {"engine": "local"} and run.name == "ststnet"


def test_the_store_knows_what_is_missing(tmp_path):
    with open_store(tmp_path, EXPERIMENT) as store:
        store.add(record("casme2/1"))
    with open_store(tmp_path, EXPERIMENT) as store:
        assert store.has("casme2/1", 0) and not store.has("casme2/1", 1) and not store.has("samm/2", 0)


def test_an_unfinished_run_says_so(tmp_path):
    with open_store(tmp_path, EXPERIMENT) as store:
        store.add(record("casme2/1"))
    words = "is not finished: 1 fold done\n  fix: run the command that began this run again to resume"
    with pytest.raises(RunError, match=words):
        open_run(tmp_path)


def test_other_settings_are_refused_with_the_difference(tmp_path):
    finished(tmp_path)
    changed = replace(EXPERIMENT, training=replace(EXPERIMENT.training, epochs=7), maps=("d9",))
    words = r"other settings or maps \(maps: \['d1'\] -> \['d9'\]; training.epochs: 300 -> 7\)\n  fix: choose another"
    with pytest.raises(RunError, match=words), open_store(tmp_path, changed):
        pass
    assert len(open_run(tmp_path).folds) == 2  # nothing is lost


def test_the_refusal_names_no_training_of_a_method_that_has_none(tmp_path):
    finished(tmp_path)
    with (
        pytest.raises(RunError, match=r"maps \(model.name: ststnet -> bi-woof; .*\)\n") as error,
        open_store(tmp_path, replace(EXPERIMENT, model=model_settings("bi-woof"), training=training_recipe("scratch"))),
    ):
        pass
    assert "training." not in error.value.problem


def test_more_seeds_go_on_with_what_is_done(tmp_path):
    finished(tmp_path)
    more = replace(EXPERIMENT, seeds=3)
    with open_store(tmp_path, more) as store:
        assert store.has("casme2/1", 0) and not store.has("casme2/1", 1)
        store.add(record("casme2/1", seed=1))
    with pytest.raises(RunError, match="is not finished: 3 folds done"):
        open_run(tmp_path)  # no scores of fewer seeds are left
    run = finished(tmp_path, more)
    assert run.experiment == more and run.scores["seeds"] == 3
    assert len(run.folds) == 6 and set(run.scores["by_seed"]) == {"0", "1", "2"}


def test_too_many_seeds_are_taken_back_until_they_are_finished(tmp_path):
    once = finished(tmp_path)
    with open_store(tmp_path, replace(EXPERIMENT, seeds=30)) as store:
        store.add(record("casme2/1", seed=1, count=2))
    run = finished(tmp_path)  # with one seed again
    assert run.experiment == EXPERIMENT and run.scores == once.scores and run.folds == once.folds
    with open_store(tmp_path, replace(EXPERIMENT, seeds=2)) as store:
        assert store.has("casme2/1", 1) and not store.has("samm/2", 1)  # what was done is not lost


def test_more_seeds_keep_settings_that_an_older_version_did_not_write(tmp_path):
    finished(tmp_path)
    path = tmp_path / "config.toml"
    lines = path.read_text().splitlines(keepends=True)
    assert any(line.startswith("teachers") for line in lines)
    path.write_text("".join(line for line in lines if not line.startswith("teachers")))
    with open_store(tmp_path, EXPERIMENT) as store:
        for fold in ("casme2/1", "samm/2"):
            store.add(record(fold))
    run = finished(tmp_path, replace(EXPERIMENT, seeds=2))
    assert len(run.folds) == 4 and "teachers" not in path.read_text()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (replace(EXPERIMENT, seeds=1), "seeds: 2 -> 1"),
        (replace(EXPERIMENT, seeds=3, folds="5"), "folds: loso -> 5; seeds: 2 -> 3"),
    ],
)
def test_fewer_seeds_than_finished_or_other_settings_besides_are_refused_and_nothing_is_lost(tmp_path, changed, words):
    before = finished(tmp_path, replace(EXPERIMENT, seeds=2))
    with pytest.raises(RunError, match=words), open_store(tmp_path, changed):
        pass
    assert open_run(tmp_path).scores == before.scores


def test_a_fold_of_another_experiment_is_refused(tmp_path):
    finished(tmp_path / "a", replace(EXPERIMENT, seeds=2))
    finished(tmp_path / "b", replace(EXPERIMENT, folds="5"))
    strange = next((tmp_path / "b" / "folds").glob("casme2*"))
    (tmp_path / "a" / "folds" / strange.name).write_bytes(strange.read_bytes())
    with pytest.raises(RunError, match=r"belongs to another experiment\n  fix: delete that file"):
        open_run(tmp_path / "a")


def test_force_starts_over(tmp_path):
    finished(tmp_path)
    changed = replace(EXPERIMENT, folds="5")
    with open_store(tmp_path, changed, force=True) as store:
        assert not store.has("casme2/1", 0)
    assert read_experiment(tmp_path / "config.toml") == changed and not (tmp_path / "scores.json").exists()


def test_lost_settings_are_written_again_if_the_folds_are_of_the_same_experiment(tmp_path):
    before = finished(tmp_path, replace(EXPERIMENT, seeds=2))
    (tmp_path / "config.toml").unlink()
    with open_store(tmp_path, EXPERIMENT) as store:
        assert store.has("casme2/1", 0) and store.has("samm/2", 1)
        assert store.finish(HELD_OUT).folds == before.folds[::2]
    assert read_experiment(tmp_path / "config.toml") == EXPERIMENT


@pytest.mark.parametrize("is_damaged", [False, True])
def test_lost_settings_do_not_cost_the_folds_of_another_experiment(tmp_path, is_damaged):
    finished(tmp_path)
    (tmp_path / "config.toml").unlink()
    changed = replace(EXPERIMENT, classes=("a", "b"))
    if is_damaged:
        changed = EXPERIMENT
        (tmp_path / "folds" / "samm+2__seed0.json").write_text("{")
    words = (
        r"has 2 finished folds but no config.toml, and not all are of this command\n"
        r"  fix: restore config.toml, choose another folder with --out, or start over with --force"
    )
    with pytest.raises(RunError, match=words), open_store(tmp_path, changed):
        pass
    assert len(list((tmp_path / "folds").iterdir())) == 2 and not (tmp_path / "config.toml").exists()
    with open_store(tmp_path, changed, force=True) as store:
        assert not store.has("casme2/1", 0)


def test_what_a_killed_force_leaves_is_removed(tmp_path, monkeypatch):
    finished(tmp_path)
    monkeypatch.setattr("epir.evaluation.store.shutil.rmtree", lambda folder: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt), open_store(tmp_path, EXPERIMENT, force=True):
        pass
    monkeypatch.undo()
    assert len(list(tmp_path.glob(".given-up-*/folds/*.json"))) == 2
    changed = replace(EXPERIMENT, folds="5")
    with open_store(tmp_path, changed) as store:
        assert not store.has("casme2/1", 0) and not list(tmp_path.glob(".given-up-*"))
    assert read_experiment(tmp_path / "config.toml") == changed


def test_force_does_not_reach_through_a_link_onto_a_run_of_another_protocol(tmp_path):
    finished(tmp_path / "theirs")
    (tmp_path / "mine").symlink_to(tmp_path / "theirs")
    other = replace(EXPERIMENT, protocol="sde")
    with (
        pytest.raises(EpirError, match=rf"mine is a link to {tmp_path / 'theirs'}, a run of the protocol cde, not sde"),
        open_store(tmp_path / "mine", other, force=True),
    ):
        pass
    assert open_run(tmp_path / "theirs").experiment == EXPERIMENT
    with open_store(tmp_path / "mine", EXPERIMENT, force=True) as store:  # the same protocol starts over
        assert not store.has("casme2/1", 0)


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_of_something_else_is_left_alone(tmp_path, force):
    (tmp_path / "thesis.tex").write_text("precious")
    with (
        pytest.raises(EpirError, match="that epir made\n  fix: choose another"),
        open_store(tmp_path, EXPERIMENT, force=force),
    ):
        pass
    assert (tmp_path / "thesis.tex").read_text() == "precious"


def test_half_a_file_of_a_killed_process_is_removed(tmp_path):
    with open_store(tmp_path, EXPERIMENT) as store:
        store.add(record("casme2/1"))
    (tmp_path / "folds" / ".samm+2__seed0.json.tmp-x.json").write_text('{"half')
    with open_store(tmp_path, EXPERIMENT):
        assert [path.name for path in (tmp_path / "folds").iterdir()] == ["casme2+1__seed0.json"]


def test_a_damaged_fold_is_named(tmp_path):
    finished(tmp_path)
    (tmp_path / "folds" / "samm+2__seed0.json").write_text("{")
    with pytest.raises(
        RunError, match=r"samm\+2__seed0.json is damaged: .*\n  fix: delete that file, then run the command that began"
    ):
        open_run(tmp_path)


def test_a_full_disk_loses_nothing(tmp_path, monkeypatch):
    from epir.evaluation import store as module

    with open_store(tmp_path, EXPERIMENT) as store:
        store.add(record("casme2/1"))

        def no_room(path, text):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(module, "write_text", no_room)
        with pytest.raises(MachineError, match=r"samm\+2__seed0.json: the disk is full\n  fix: free disk space"):
            store.add(record("samm/2"))
        monkeypatch.undo()
        assert store.has("casme2/1", 0) and not store.has("samm/2", 0)
        store.add(record("samm/2"))
        assert len(store.finish(HELD_OUT).predictions) == 6


def test_a_call_from_elsewhere_is_added_to_the_environment(tmp_path):
    with open_store(tmp_path, EXPERIMENT) as store:
        store.describe({"engine": "local", "workers": 1})
        store.describe({"engine": "local", "workers": 1})
        store.describe({"engine": "local", "workers": 4})
        store.describe({"engine": "local", "workers": 4})
    environment = json.loads((tmp_path / "environment.json").read_text())
    assert environment == {"engine": "local", "workers": 1, "continued": [{"workers": 4}]}


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(RunError, match=r"there is no run .*\n  fix: check the path"):
        open_run(tmp_path / "nowhere")
    with pytest.raises(RunError, match=r"is not a run: it has no config.toml\n  fix: create one with epir evaluate"):
        open_run(tmp_path)
    finished(tmp_path / "ststnet")
    with pytest.raises(RunError, match="fix: use one of the runs in it: ststnet"):
        open_run(tmp_path)


HOLD = """
import fcntl, sys
with open(sys.argv[1], "a") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    print(1, flush=True)
    input()
"""


def test_a_folder_in_use_is_refused_and_a_killed_process_leaves_no_lock(tmp_path):
    command = [sys.executable, "-S", "-c", HOLD, str(tmp_path.with_name(f".{tmp_path.name}.lock"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "1\n"
        words = r"another process is writing .*\n  fix: wait for it, stop it"
        with pytest.raises(EpirError, match=words), locked(tmp_path):
            pass
        other.kill()
    for _ in range(2):  # and a process may lock it again and again
        with locked(tmp_path):
            pass


STRAYS = ("samm+2__seed0 (conflicted copy).json", "samm+2__seed0 2.json", "samm+3__seed0.json", "notes.json")


@pytest.mark.parametrize("name", STRAYS)
def test_a_stray_copy_of_a_fold_is_told_of_and_not_counted(tmp_path, name):
    before = finished(tmp_path)
    folds = tmp_path / "folds"
    (folds / name).write_bytes((folds / "samm+2__seed0.json").read_bytes())
    with pytest.warns(EpirWarning, match="is not a fold of this run and is not counted; delete it"):
        run = open_run(tmp_path)
    assert run.predictions == before.predictions
    with pytest.warns(EpirWarning), open_store(tmp_path, EXPERIMENT) as store:
        assert store.finish(HELD_OUT).scores == before.scores


def test_missing_folds_never_give_the_old_headline(tmp_path):
    finished(tmp_path, replace(EXPERIMENT, seeds=2))
    (tmp_path / "folds" / "samm+2__seed1.json").unlink()
    words = r"is not finished: seed 1 has 1 of 2 folds\n  fix: run the command that began this run again to resume"
    with pytest.raises(RunError, match=words):
        open_run(tmp_path)


def test_scores_of_other_folds_are_refused_until_they_are_made_again(tmp_path):
    finished(tmp_path)
    with open_store(tmp_path, EXPERIMENT) as store:
        other = record("samm/2")
        store.add(replace(other, clips=(replace(other.clips[0], strict="surprise"), *other.clips[1:])))
    with pytest.raises(
        RunError, match=r"scores.json does not belong to the folds beside it\n  fix: run the command that began"
    ):
        open_run(tmp_path)
    with open_store(tmp_path, EXPERIMENT) as store:
        assert store.finish(HELD_OUT).predictions == open_run(tmp_path).predictions


@pytest.mark.parametrize("change", [{"uf1": 9.4}, {"uf1": None}])
def test_scores_that_were_edited_are_refused_until_they_are_made_again(tmp_path, change):
    before = finished(tmp_path).scores
    edited = {**before, "strict": {**before["strict"], **change}}
    (tmp_path / "scores.json").write_text(json.dumps(edited))
    with pytest.raises(
        RunError, match=r"scores.json was changed after it was written\n  fix: run the command that began"
    ):
        open_run(tmp_path)
    unsigned = {name: value for name, value in before.items() if name != "digest"}
    for scores in ({**edited, "digest": None}, unsigned):
        (tmp_path / "scores.json").write_text(json.dumps(scores))
        with pytest.raises(RunError, match=r"scores.json was changed after it was written"):
            open_run(tmp_path)
    with open_store(tmp_path, EXPERIMENT) as store:
        assert store.finish(HELD_OUT).scores == before


def test_a_setting_that_does_not_exist_is_named_with_its_file(tmp_path):
    finished(tmp_path)
    with (tmp_path / "config.toml").open("a") as file:
        file.write("colour = 1\n")
    with pytest.raises(ConfigError, match=r"config.toml: .*has no setting 'colour'"):
        open_run(tmp_path)


def test_a_fold_with_other_clips_is_refused(tmp_path):
    with open_store(tmp_path, EXPERIMENT) as store:
        store.add(record("casme2/1", count=2))
        with pytest.raises(RunError, match=r"casme2\+1__seed0.json has other clips than its fold\n  fix: delete"):
            store.check(HELD_OUT)
        with pytest.raises(RunError, match="belongs to no fold of this run"):
            store.check({"samm/2": []})


@pytest.mark.parametrize(
    "change", [{"scores": (float("nan"), 0.5, 0.5)}, {"scores": (0.5, 0.5)}, {"strict": "anger"}, {"truth": None}]
)
def test_answers_that_the_experiment_cannot_give_are_refused(tmp_path, change):
    with open_store(tmp_path, EXPERIMENT) as store:
        good = record("casme2/1")
        store.add(replace(good, clips=(replace(good.clips[0], **change), *good.clips[1:])))
        with pytest.raises(RunError, match=r"casme2.1__seed0.json is damaged: "):
            store.check(HELD_OUT)


def test_an_edited_table_of_predictions_is_noticed(tmp_path):
    finished(tmp_path)
    table = tmp_path / "predictions.csv"
    before = table.read_text()
    table.write_text(before.replace("positive", "negative", 1))
    assert table.read_text() != before
    with pytest.raises(RunError, match=r"predictions.csv was changed after it was written\n  fix: delete that file"):
        open_run(tmp_path)
    table.unlink()
    assert open_run(tmp_path).folds  # it can be made again


def test_the_unfinished_runs_of_the_project_can_be_continued(tmp_path):
    for folder in (Path(__file__).parents[2] / "results" / "unfinished").glob("*"):
        copy = shutil.copytree(folder, tmp_path / folder.name)
        records = [from_json(path.read_text()) for path in (copy / "folds").glob("*.json")]
        with open_store(copy, read_experiment(copy / "config.toml")) as store:
            assert records and all(store.has(record.fold, record.seed) for record in records)
            assert {record.experiment for record in records} == {store.digest}
