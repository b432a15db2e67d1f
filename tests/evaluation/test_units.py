"""Scores of action units, by hand and against scikit-learn, and the way of `--target units` through a run."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score

from epir.core.engines import Engine
from epir.core.errors import CheckpointError, ConfigError, ProtocolError
from epir.core.facs import CD6ME_UNITS, UNITS, parse_units
from epir.core.records import Clip
from epir.evaluation.fold import ClipRecord, FoldRecord, from_json, to_json, unit_records
from epir.evaluation.run import evaluate, evaluate_zero_shot
from epir.evaluation.samples import EvaluationSet, Sample, with_units
from epir.evaluation.scores import unit_scores
from epir.evaluation.store import open_run
from epir.evaluation.table import units_table
from epir.maps.mapset import load_maps, save_maps
from epir.models.registry import create_model
from epir.models.units import UnitCalibration, UnitHead


def clip(person, number, annotation, found, corpus="casme2"):
    units = {"annotation": annotation, "found": found}
    return ClipRecord(corpus, person, str(number), "a", "a", "a", 0, "all clips", (1.0,), units=units)


def record(*clips, seed=0):
    return FoldRecord("all clips", seed, "", tuple(replace(each, seed=seed) for each in clips))


def test_f1_of_a_unit_by_hand():
    scores = unit_scores([clip("p", 1, "4+L12", [4]), clip("p", 2, "4", [4, 12]), clip("q", 3, "1", [4])])
    four, twelve, one = (scores["units"][name] for name in ("4", "12", "1"))
    assert four["f1"] == pytest.approx(4 / 5) and four["there"] == 2 and four["always"] == pytest.approx(4 / 5)
    assert twelve["f1"] == 0 and one["f1"] == 0 and one["always"] == pytest.approx(2 / 4)
    assert scores["mean"]["all"]["units"] == 3 and scores["mean"]["all"]["f1"] == pytest.approx(4 / 15, abs=1e-6)
    assert scores["always_positive"]["all"] == pytest.approx((4 / 5 + 2 / 4 + 2 / 4) / 3, abs=1e-6)


def test_units_that_nobody_names_have_no_score_and_no_part_in_the_mean():
    scores = unit_scores([clip("p", 1, "4", [4, 25]), clip("q", 2, "26", [26])])
    assert scores["units"]["25"] == {"there": 0, "found": 1.0, "f1": None, "interval": None, "always": None}
    assert scores["mean"] == {
        "all": {"units": 2, "f1": 1.0, "interval": [1.0, 1.0]},
        "cd6me": {"units": 1, "f1": 1.0, "interval": [1.0, 1.0]},
    }


def test_clips_without_an_annotation_are_left_out_and_counted():
    scores = unit_scores([clip("p", 1, "4", [4]), clip("p", 2, "", [4, 12])])
    assert scores["clips"] == 1 and scores["without_annotation"] == 1 and scores["units"]["4"]["f1"] == 1
    assert unit_scores([clip("p", 1, "", [4])]) is None
    assert unit_scores([ClipRecord("c", "p", "1", "a", "a", "a", 0, "all clips", (1.0,))]) is None


def test_the_scores_are_those_of_scikit_learn():
    random = np.random.default_rng(0)
    clips = []
    for number in range(60):
        there = [unit for unit in UNITS if random.random() < 0.3] or [4]
        predicted = [unit for unit in UNITS if random.random() < (0.6 if unit in there else 0.2)]
        annotation = "+".join(f"{random.choice(['', 'L', 'R'])}{unit}" for unit in there)
        clips.append(clip(f"p{number % 7}", number, annotation, predicted, ["casme2", "samm"][number % 2]))
    scores = unit_scores(clips)
    truth = np.array([[unit in parse_units(each.units["annotation"]) for unit in UNITS] for each in clips])
    guess = np.array([[unit in each.units["found"] for unit in UNITS] for each in clips])
    expected = f1_score(truth, guess, average=None)
    assert [scores["units"][str(unit)]["f1"] for unit in UNITS] == pytest.approx(expected, abs=1e-6)
    assert scores["mean"]["all"]["f1"] == pytest.approx(expected.mean(), abs=1e-6)
    twelve = [UNITS.index(unit) for unit in CD6ME_UNITS]
    assert scores["mean"]["cd6me"]["f1"] == pytest.approx(expected[twelve].mean(), abs=1e-6)
    always = f1_score(truth, np.ones_like(guess), average=None)
    assert scores["always_positive"]["all"] == pytest.approx(always.mean(), abs=1e-6)
    low, high = scores["mean"]["all"]["interval"]
    assert 0 < low < scores["mean"]["all"]["f1"] < high < 1
    samm = np.array([each.corpus == "samm" for each in clips])
    assert scores["parts"]["samm"]["mean"]["all"]["f1"] == pytest.approx(
        f1_score(truth[samm], guess[samm], average="macro"), abs=1e-6
    )


def test_the_interval_of_a_unit_that_few_people_show_begins_below_its_score():
    """Where nobody who is drawn shows it, it counts 0; otherwise the lowest resampling would be the score itself."""
    clips = [clip("p0", 0, "26", [26]), *(clip(f"p{number}", number, "4", [26]) for number in range(1, 8))]
    score = unit_scores(clips)["units"]["26"]
    assert score["f1"] == pytest.approx(0.222, abs=1e-3)
    assert score["interval"][0] == 0 and score["interval"][1] > score["f1"]


def test_the_floor_is_that_of_the_benchmark():
    """CD6ME: 2,031 clips, unit 12 in 176 of them: always positive gives 15.9."""
    clips = [clip("p", number, "12" if number < 176 else "43", [12]) for number in range(2031)]
    score = unit_scores(clips)["units"]["12"]
    assert score["f1"] == score["always"] == pytest.approx(0.159, abs=5e-4)


def test_thresholds_decide_what_is_found():
    logits = np.zeros((1, 3, len(UNITS)))
    calibration = UnitCalibration(thresholds={4: 0.6, 12: 0.4})
    (own,) = unit_records(logits, calibration, ["L12"])
    assert 12 in own["found"] and 4 not in own["found"] and 1 in own["found"]  # 0.5 by default
    assert own["present"]["12"] == 0.5 and own["left"]["12"] == 0.25 and own["annotation"] == "L12"


def test_a_record_keeps_its_units():
    whole = record(clip("p", 1, "4", [4]))
    assert from_json(to_json(whole)) == whole


# ------------------------------------------------------------------------------------------------------- a whole run


@pytest.fixture
def annotated(make_maps, tmp_path):
    """A map set in which the class follows from the units, and the clips of the last person have none."""
    plain = load_maps(make_maps())
    spelling = {"negative": "4", "positive": "L12", "surprise": "1+2"}
    clips = [
        Clip(
            each.corpus, each.subject, each.clip, each.emotion,
            extra={"action_units": "" if each.subject == "03" else spelling[each.emotion]},
        )
        for each in plain.clips
    ]  # fmt: skip
    return save_maps(tmp_path / "annotated", np.array(plain.maps), clips, recipe={"name": "noise"}).folder


@pytest.fixture
def weights(tmp_path):
    torch.manual_seed(0)
    network = create_model("ststnet", map_size=12)
    width = network.forward_features(torch.zeros(1, 3, 12, 12)).shape[1]
    network.unit_head = UnitHead(width)
    notes = {"units": UnitCalibration(thresholds={4: 0.01}).to_dict()}
    return network.save_pretrained(tmp_path / "model", labels=("negative", "positive", "surprise"), notes=notes)


def test_zero_shot_units(annotated, weights, tmp_path):
    call = dict(protocol="cde", target="units", engine=Engine(workers=1))
    run = evaluate_zero_shot(annotated, weights=weights, out=tmp_path / "run", **call)
    units = run.scores["units"]
    assert units["clips"] == 18 and units["people"] == 3 and run.environment["clips_without_units"] == 6
    assert units["units"]["4"]["found"] == 18 and units["units"]["4"]["f1"] == units["units"]["4"]["always"]
    whole = load_maps(annotated)
    coded = [place for place, clip in enumerate(whole.clips) if clip.extra.get("action_units")]
    clips = [whole.clips[place] for place in coded]
    rest = save_maps(tmp_path / "coded", whole.maps[coded], clips, recipe={"name": "noise"}).folder
    again = evaluate_zero_shot(rest, weights=weights, out=tmp_path / "again", **call)
    assert again.environment["clips_without_units"] == 0  # so that reports know what was scored
    table = units_table(open_run(tmp_path / "run"))
    text = table.text()
    assert "6 clips without annotated units are left out" in text and "mean of those of CD6ME (4)" in text
    assert all(row.kind == "strict" for row in table.rows) and len(table.rows) == len(UNITS) + 2


def test_strict_folds_learn_the_units_of_the_training_people(annotated, tmp_path, quick):
    call = dict(protocol="cde", model="ststnet", folds=3, target="units", engine=Engine(workers=1))
    run = evaluate(annotated, out=tmp_path / "run", changes=(*quick, "training.epochs=15"), **call)
    assert run.experiment.training.action_units == 1.0
    head, row, *_ = (tmp_path / "run" / "predictions.csv").read_text().splitlines()
    assert head.endswith(",action_units,found_units") and row.count(",") == head.count(",")
    assert run.scores["units"]["clips"] == 18
    four, always = run.scores["units"]["units"]["4"]["f1"], run.scores["units"]["units"]["4"]["always"]
    assert four > always + 0.2


def test_what_has_no_units_is_refused(annotated, make_maps, tmp_path):
    plain = create_model("ststnet", map_size=12).save_pretrained(tmp_path / "plain")
    call = dict(protocol="cde", target="units", out=tmp_path / "run", engine=Engine(workers=1))
    with pytest.raises(CheckpointError, match=r"have no head for action units\n  fix: train them .*action_units=1"):
        evaluate_zero_shot(annotated, weights=plain, **call)
    with pytest.raises(ProtocolError, match=r"none of 24 clips has annotated action units\n  fix: .*action_units"):
        evaluate_zero_shot(make_maps("bare"), weights=plain, **call)
    with pytest.raises(ConfigError, match=r"'bi-woof' exposes no features .* from\n  fix: evaluate a network"):
        evaluate(annotated, model="bi-woof", **call)
    with pytest.raises(ConfigError, match="there is no target 'unit'"):
        evaluate(annotated, protocol="cde", target="unit")


def test_a_run_of_a_model_without_a_head_has_no_table_of_units(finished):
    assert units_table(open_run(finished / "run")) is None


def test_under_cd6me_a_clip_without_units_has_none_and_counts():
    clips = [
        Clip(corpus, "01", f"{corpus}{row}", "happiness", extra={"action_units": units} if units else {})
        for corpus in ("casme2", "samm")
        for row, units in enumerate(("12", "", "4+7"))
    ]
    whole = EvaluationSet("cd6me", ("a", "b"), tuple(Sample(each, "a", "", 0) for each in clips), 8, ())
    kept = with_units(whole)
    assert len(kept.samples) == 6 and kept.left_out == 0
    assert [each.clip.extra["action_units"] for each in kept.samples] == ["12", "none", "4+7"] * 2
    assert len(with_units(replace(whole, protocol="cde")).samples) == 4
    scores = unit_scores([clip("p", 1, "12", [12]), clip("p", 2, "none", [12])])
    assert scores["units"]["12"]["f1"] == pytest.approx(2 / 3)  # the clip without units is a false alarm
    assert scores["units"]["12"]["always"] == pytest.approx(2 / 3) and scores["without_annotation"] == 0
