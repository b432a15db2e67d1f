import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest

from epir.core.errors import CheckpointError, ConfigError, LeakError
from epir.core.records import Clip
from epir.evaluation.leaks import temperature_note
from epir.evaluation.samples import EvaluationSet, Sample, gather
from epir.evaluation.scores import uf1
from epir.final.calibration import calibration_error, with_temperature
from epir.final.real_people import (
    calibrate_on_real_people,
    measure_calibration,
    quotable,
    reliability,
)
from epir.maps.mapset import load_maps, save_maps
from epir.models.folder import read_config
from epir.recognition.recognizer import Recognizer
from epir.synthetic.maps import synthetic_maps

CLASSES = ("negative", "positive", "surprise")


def clips_and_scores(count=3000, sharpness=2.0):
    """Clips of three corpora whose truth is drawn from scores; the model's are too sharp by that factor."""
    random = np.random.default_rng(0)
    logits = random.normal(0, 1.5, (count, 3))
    truth = [random.choice(3, p=row) for row in np.exp(logits) / np.exp(logits).sum(1, keepdims=True)]
    samples = tuple(
        Sample(Clip(f"corpus {number % 3}", f"{number % 30}", f"{number}", ""), CLASSES[label], "", 0)
        for number, label in enumerate(truth)
    )
    sharp = np.exp(sharpness * logits)
    return EvaluationSet("cde", CLASSES, samples, 28, ()), sharp / sharp.sum(1, keepdims=True), np.array(truth)


def test_scores_that_are_too_sure_are_softened_and_the_check_leaves_a_corpus_out():
    clips, scores, truth = clips_and_scores()
    calibration = measure_calibration(scores, clips, before=1.0)
    # 30 people: the prior and Laplace hold the scores back, so that the temperatures are a little above 2
    assert calibration.temperature == pytest.approx(2.0, abs=0.15)
    assert calibration.error_before == pytest.approx(calibration_error(scores, truth), abs=1e-4)
    assert calibration.error_after < 0.03 < calibration.error_before
    assert set(calibration.by_corpus) == {"corpus 0", "corpus 1", "corpus 2"}
    assert all(each["temperature"] == pytest.approx(2.0, abs=0.4) for each in calibration.by_corpus.values())
    assert calibration.mean_score == pytest.approx(calibration.right, abs=0.03) and calibration.people == 30
    confusion = np.zeros((3, 3))
    np.add.at(confusion, (truth, scores.argmax(axis=1)), 1)
    assert calibration.uf1 == pytest.approx(uf1(confusion), abs=1e-6)
    assert calibration.uf1_interval[0] < calibration.uf1 < calibration.uf1_interval[1]


def test_the_temperature_of_a_corpus_that_is_left_out_does_not_know_it():
    """One corpus is always wrong: the others keep their temperature, and its own error is large."""
    clips, scores, truth = clips_and_scores()
    bad = np.array([clip.corpus == "corpus 0" for clip in clips.clips])
    scores[bad] = with_temperature(np.roll(np.eye(3), 1, axis=1)[truth[bad]] * 0.98 + 0.01, 1.0)
    calibration = measure_calibration(scores, clips, before=1.0)
    assert calibration.by_corpus["corpus 0"]["temperature"] == pytest.approx(2.0, abs=0.15)
    assert calibration.by_corpus["corpus 0"]["error"] > 0.5


def test_right_answers_by_score():
    scores = np.array([[0.9, 0.05, 0.05], [0.95, 0.03, 0.02], [0.55, 0.45, 0.0], [1.0, 0.0, 0.0], [0.4, 0.3, 0.3]])
    bins = reliability(scores, np.array([0, 1, 0, 0, 0]))
    assert [(each.low, each.high, each.clips, each.right) for each in bins] == [
        (0.0, 0.5, 1, 1.0), (0.5, 0.6, 1, 1.0), (0.9, 1.0, 3, 0.6667),
    ]  # fmt: skip


def test_only_ranges_with_enough_answers_are_quoted():
    bins = [{"low": 0.8, "high": 0.9, "clips": 40, "right": 0.775}, {"low": 0.9, "high": 1.0, "clips": 3, "right": 1.0}]
    assert quotable({"real_people": {"reliability": bins}}) == bins[:1]
    assert quotable({"data": {"corpora": {"synthetic": 9}}}) == []


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """A map set of people whom the model has not seen."""
    drawn = synthetic_maps(120, "direct", seed=4)
    return save_maps(tmp_path_factory.mktemp("maps") / "others", drawn.maps, drawn.clips, recipe={}).folder


@pytest.fixture
def model(trained, tmp_path):
    shutil.copytree(trained.folder, tmp_path / "model")
    return tmp_path / "model"


def test_the_temperature_is_written_and_the_weights_stay(model, others):
    weights, card = (model / "model.safetensors").read_bytes(), (model / "README.md").read_text()
    before = read_config(model).notes
    calibration = calibrate_on_real_people(model, [others], protocol="sde")
    after = read_config(model).notes
    assert (model / "model.safetensors").read_bytes() == weights
    assert after["temperature"] == calibration.temperature == Recognizer.from_pretrained(model).classifier.temperature
    assert after["calibration"] == before["calibration"] and set(calibration.by_corpus) == {"half 1", "half 2"}
    assert json.loads(json.dumps(after["real_people"]))["reliability"]
    (note,) = temperature_note(model, gather([load_maps(others)], "sde"))
    assert note.startswith("the temperature of these weights was fitted on 15 of these 15 people")
    new = (model / "README.md").read_text()
    assert "On maps of 15 synthetic people (synthetic: 120 clips) that training has not seen" in new
    assert (
        f"UF1 is {calibration.uf1:.4f} (" in new and f"{calibration.temperature:g}, was fitted on these people" in new
    )
    assert "| best score | answers | right (strict) |" in new
    assert new.partition("## On other people")[0] == card.partition("## Scores")[0]
    assert new.partition("\n## Limits")[2] == card.partition("\n## Limits")[2]
    again = calibrate_on_real_people(model, [others], protocol="sde")
    assert again.temperature == calibration.temperature == again.temperature_before
    headings = re.findall("^## .*", (model / "README.md").read_text(), re.M)
    assert len(headings) == len(set(headings)) and headings[1:4] == [
        "## On other people",
        "## Scores",
        "## Calibration",
    ]
    assert quotable(after) == []  # the page would call them real people


def test_a_dry_run_changes_nothing(model, others):
    before = (model / "config.json").read_text()
    calibrate_on_real_people(model, [others], protocol="sde", write=False)
    assert (model / "config.json").read_text() == before


def test_people_whom_the_model_has_seen_do_not_calibrate_it(model, maps):
    before = (model / "config.json").read_text()
    with pytest.raises(LeakError, match=r"the model has seen 15 people \(.*so its scores are too high") as caught:
        calibrate_on_real_people(model, [maps], protocol="sde")
    assert caught.value.fix.startswith("calibrate on other people")
    assert (model / "config.json").read_text() == before


def test_maps_that_do_not_fit_are_refused(model, maps, tmp_path):
    whole = load_maps(maps)
    save_maps(tmp_path / "small", whole.maps[:, :, :14, :14], whole.clips, recipe={})
    with pytest.raises(CheckpointError, match=r"are for 28 px maps, but the map set has 14 px\n  fix: prepare"):
        calibrate_on_real_people(model, [tmp_path / "small"], protocol="sde")


def test_one_person_is_too_few(model, others, tmp_path):
    whole = load_maps(others)
    rows = [row for row, clip in enumerate(whole.clips) if clip.person == whole.clips[0].person]
    clips = [whole.clips[row] for row in rows]
    labels = [replace(clip, emotion=CLASSES[number % 3]) for number, clip in enumerate(clips)]
    save_maps(tmp_path / "one", whole.maps[rows], labels, recipe={})
    with pytest.raises(ConfigError, match="at least two people\n  fix: give map sets of more people"):
        calibrate_on_real_people(model, [tmp_path / "one"], protocol="sde")


def test_the_model_that_comes_with_epir_is_not_changed_in_its_place(maps):
    with pytest.raises(ConfigError, match="installed weights of epir cannot be changed") as caught:
        calibrate_on_real_people(None, [maps], protocol="sde")
    assert "--dry-run" in caught.value.fix
