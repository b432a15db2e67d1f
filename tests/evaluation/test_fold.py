import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from epir.evaluation import fold
from epir.evaluation.experiment import Experiment
from epir.evaluation.fold import ClipRecord, FoldInputs, FoldRecord, best_epoch, from_json, run_fold, to_json
from epir.evaluation.run import fold_jobs
from epir.evaluation.samples import gather, read_maps
from epir.maps.mapset import load_maps
from epir.models.registry import model_settings
from epir.training.recipe import TrainingSettings

TOKENS = {"groups": [[0, 1], [2]], "selected": [0, 1, 0], "rollout": [[0.5, 0.25, 0.25]]}
FOLD = "casme2/sub01"
RECORD = FoldRecord(
    fold=FOLD,
    seed=2,
    experiment="abc",
    clips=(
        ClipRecord("casme2", "sub01", "EP01", "b", "a", "b", 2, FOLD, (0.6, 0.4), "", (1, 1, 0), TOKENS),
        ClipRecord("casme2", "sub01", 'quote " and ü', "a", "a", "a", 2, FOLD, (0.9, 0.1), "", (0, 0, 0)),
    ),
    loss=(1.5, 1.0, 0.5),
    best_epoch=2,
    training_clips=7,
    training_seconds=1.5,
    seconds=2.0,
)
QUICK = TrainingSettings(epochs=3, batch=16, lr=0.01)
SMALL = {"width": 12, "heads": 2, "feed_forward": 12, "blocks": 5, "patch": 3}


@pytest.mark.parametrize("column", ["strict", "seen_in_training"])
def test_a_record_survives_its_file_which_is_plain_json_without_what_a_clip_lacks(column):
    text = to_json(RECORD, column)
    assert from_json(text) == RECORD and ('"strict"' in text) == (column == "strict")
    values = json.loads(text)
    assert values["format"] == "epir-fold/1" and values["clips"][0]["tokens"] == TOKENS
    assert "tokens" not in values["clips"][1]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "epir-fold/2"}', to_json(RECORD)[:-30]])
def test_anything_else_is_refused(text):
    with pytest.raises((ValueError, KeyError, TypeError)):
        from_json(text)


@pytest.mark.parametrize(
    "edit", [lambda values: values["clips"][0].update(strict="b"), lambda values: values.pop("digest")]
)
def test_a_record_that_was_edited_is_refused(edit):
    values = json.loads(to_json(RECORD))
    edit(values)
    with pytest.raises(ValueError, match="changed after it was written"):
        from_json(json.dumps(values))


def test_the_digest_does_not_depend_on_how_long_it_took():
    other = replace(RECORD, seconds=9.0, training_seconds=8.0)
    assert json.loads(to_json(other))["digest"] == json.loads(to_json(RECORD))["digest"]


@pytest.fixture
def make_task(make_maps):
    def make(model="ststnet", **changes):
        clips = gather([load_maps(make_maps())], "cde")
        settings = model_settings(model, map_size=clips.size, **changes)
        experiment = Experiment("cde", clips.classes, settings, QUICK)
        return FoldInputs(experiment, clips.samples).task(fold_jobs(clips, experiment)[1])

    return make


def without_time(record):
    return replace(record, seconds=0, training_seconds=0)


def test_a_fold_records_its_clips_and_predictions(make_task):
    task = make_task()
    record = run_fold(task)
    assert (record.fold, record.seed) == (task.fold, 0)
    assert [clip.clip for clip in record.clips] == [sample.clip.clip for sample in task.test]
    assert record.training_clips == 18 and len(record.loss) == 3 and 1 <= record.best_epoch <= 3
    assert record.seconds >= record.training_seconds > 0
    for clip in record.clips:
        assert sum(clip.scores) == pytest.approx(1, abs=1e-5) and len(clip.by_epoch) == 3
        assert task.experiment.classes[int(np.argmax(clip.scores))] == clip.strict
        assert task.experiment.classes[clip.by_epoch[-1]] == clip.strict  # the last epoch is the result
        assert task.experiment.classes[clip.by_epoch[record.best_epoch - 1]] == clip.best_epoch
        assert clip.tokens is None


def test_a_fold_is_the_same_whenever_it_runs(make_task):
    task = make_task()
    first = run_fold(task)
    torch.rand(5)
    torch.set_num_threads(2)
    assert without_time(run_fold(task)) == without_time(first)
    assert torch.get_num_threads() == 2
    torch.set_num_threads(1)


def test_seeds_and_folds_have_random_numbers_of_their_own(make_task):
    task = make_task()
    scores = {
        run_fold(each).clips[0].scores for each in (task, replace(task, seed=1), replace(task, fold="another name"))
    }
    assert len(scores) == 3


def test_training_is_not_touched_by_the_held_out_clips(make_task):
    """Whatever the held-out clips show and are called, a fold's training goes the same way."""
    task = make_task()

    def read_other(samples):
        maps = read_maps(samples)
        return maps if samples == task.train else np.roll(maps, 1, axis=0) + 1

    renamed = tuple(replace(sample, label="surprise") for sample in task.test)
    record, other = run_fold(task), run_fold(replace(task, test=renamed, read=read_other))
    assert record.loss == other.loss


def test_models_with_explain_record_their_tokens(make_task):
    record = run_fold(make_task("epir", **SMALL))
    for clip in record.clips:
        groups, selected, rollout = (clip.tokens[name] for name in ("groups", "selected", "rollout"))
        assert sorted(patch for group in groups for patch in group) == list(range(16))
        assert len(selected) == len(rollout) == 2 and all(0 <= number < len(groups) for number in selected)
        assert all(len(row) == 16 and round(row[0], 4) == row[0] for row in rollout)


def test_an_estimator_runs_through_the_same_fold(make_task):
    record = run_fold(make_task("bi-woof"))
    assert record.best_epoch == 0 and record.loss == ()
    assert all(clip.strict == clip.best_epoch and clip.by_epoch == () for clip in record.clips)


def test_the_best_epoch_by_hand():
    truth = np.array([0, 1])
    by_epoch = np.array([[1, 1], [0, 1], [1, 0], [0, 1], [0, 0]])
    assert best_epoch(by_epoch, truth) == 4  # the second is as good, but earlier


@given(st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=1, max_size=9))
def test_the_best_epoch_is_the_latest_of_the_best(rows):
    by_epoch, truth = np.array(rows), np.array([0, 1, 2, 0])
    hits = (by_epoch == truth).sum(1).tolist()
    best = best_epoch(by_epoch, truth)
    assert hits[best - 1] == max(hits) and max(hits) not in hits[best:]


def test_the_best_epoch_is_chosen_per_person_in_a_grouped_fold(make_task):
    """As for each person alone: the answers of one do not choose for another."""
    task = make_task()
    several = replace(task, test=task.test + tuple(task.train[:6]), train=task.train[6:])
    record = run_fold(several)
    assert len({clip.person for clip in record.clips}) == 2 and record.best_epoch == 0
    places = {name: number for number, name in enumerate(task.experiment.classes)}
    for person in {clip.person for clip in record.clips}:
        clips = [clip for clip in record.clips if clip.person == person]
        truth = np.array([places[clip.truth] for clip in clips])
        best = best_epoch(np.array([clip.by_epoch for clip in clips]).T, truth)
        assert [clip.best_epoch for clip in clips] == [
            task.experiment.classes[clip.by_epoch[best - 1]] for clip in clips
        ]


@pytest.mark.parametrize(("mirror", "shift"), [(True, 1), (False, 0)])
def test_every_epoch_is_predicted_with_the_same_test_time_copies_as_the_last(make_task, monkeypatch, mirror, shift):
    task, calls, original = make_task(), [], fold.predict_maps

    def recorded(network, maps, **options):
        calls.append((options["mirror"], options["shift"]))
        return original(network, maps, **options)

    monkeypatch.setattr(fold, "predict_maps", recorded)
    recipe = replace(QUICK, mirror_at_prediction=mirror, shift_at_prediction=shift)
    record = run_fold(replace(task, experiment=replace(task.experiment, training=recipe)))
    assert calls == [(mirror, shift)] * (QUICK.epochs + 1)
    assert len(record.loss) == QUICK.epochs
