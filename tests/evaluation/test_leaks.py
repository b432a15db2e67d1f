"""Nothing is called strict that has been seen: by the weights, under another name, or in another fold."""

import json
from dataclasses import replace

import numpy as np
import pytest

from epir.core.engines import Engine
from epir.core.errors import EpirWarning, LeakError
from epir.evaluation.comparison import scores_with_training
from epir.evaluation.leaks import record_gaps, temperature_note
from epir.evaluation.run import evaluate, evaluate_zero_shot
from epir.evaluation.samples import gather
from epir.evaluation.table import score_table
from epir.maps.copies import fingerprints, map_hashes
from epir.maps.mapset import load_maps, save_maps
from epir.models.folder import shipped_folder, write_config
from epir.models.registry import create_model
from epir.models.seen import BLIND, UNKNOWN, Seen

CLASSES = ("negative", "positive", "surprise")
SEEN = "seen in training (leaks)"


@pytest.fixture
def call(tmp_path, quick):
    """Evaluates a map set into a run, quickly."""

    def evaluate_it(maps, *, zero_shot=False, out="run", **options):
        common = {"protocol": "cde", "out": tmp_path / out, "engine": Engine(workers=1)}
        if zero_shot:
            return evaluate_zero_shot(maps, **(common | options))
        return evaluate(maps, **({"model": "ststnet", "folds": 2, "changes": quick} | common | options))

    return evaluate_it


@pytest.fixture
def weights_that_saw(tmp_path):
    """Random weights whose record says that they have seen so much."""

    def make(seen, name="model"):
        model = create_model("ststnet", map_size=12)
        return model.save_pretrained(tmp_path / name, labels=CLASSES, seen=seen, force=True)

    return make


def rewritten(folder, name, change):
    """The map set with every clip changed by `change(clip, number)`."""
    whole = load_maps(folder)
    clips = [change(clip, number) for number, clip in enumerate(whole.clips)]
    return save_maps(folder.parent / name, np.array(whole.maps), clips, recipe={}, force=True).folder


def test_people_that_the_weights_have_seen_are_refused_by_name(make_maps, weights_that_saw, call):
    weights = weights_that_saw(Seen(frozenset({"casme2/0", "samm/01", "smic/02"})))
    with pytest.raises(LeakError) as error:
        call(make_maps(), zero_shot=True, weights=weights)
    assert "these weights have seen: 2 people (casme2/00, samm/01)" in error.value.problem
    assert "evaluate on other people" in error.value.fix and "--allow-seen" in error.value.fix


def test_maps_that_the_weights_have_seen_are_refused_under_any_name(make_maps, weights_that_saw, call):
    maps = make_maps()
    weights = weights_that_saw(Seen(maps=frozenset(map_hashes(load_maps(maps).maps[:2]).tolist())))
    other = rewritten(maps, "renamed", lambda clip, number: replace(clip, subject=f"new{clip.subject}"))
    words = r"these weights have seen: 2 maps \(casme2/new00/clip_0, casme2/new00/clip_1\)"
    with pytest.raises(LeakError, match=words):
        call(other, zero_shot=True, weights=weights)


def test_mirrored_maps_that_the_weights_have_seen_are_refused_under_any_name(make_maps, weights_that_saw, call):
    maps = make_maps()
    known = fingerprints(load_maps(maps).maps[:2][..., ::-1])
    weights = weights_that_saw(Seen(fingerprints=frozenset(map(tuple, known.tolist()))))
    with pytest.raises(LeakError, match=r"these weights have seen: 2 maps \(casme2/00/clip_0, casme2/00/clip_1\)"):
        call(maps, zero_shot=True, weights=weights)


def test_a_start_that_has_seen_a_held_out_person_is_refused(make_maps, weights_that_saw, call, quick):
    weights = weights_that_saw(Seen(frozenset({"samm/03"})))
    with pytest.raises(LeakError, match=r"training.start has seen: 1 person \(samm/03\)"):
        call(make_maps(), changes=(*quick, f'training.start="{weights}"'))


def test_thresholds_of_units_that_were_fitted_on_a_held_out_person_are_refused(
    make_maps, weights_that_saw, call, quick
):
    weights = weights_that_saw(Seen(frozenset({"casme2/99"}), calibrated_on=frozenset({"samm/03"})))
    maps = rewritten(make_maps(), "coded", lambda clip, _: replace(clip, extra={"action_units": "4"}))
    start = (*quick, f'training.start="{weights}"')
    with pytest.raises(LeakError, match=r"training.start was calibrated on: 1 person \(samm/03\)"):
        call(maps, changes=start, target="units")
    assert "evaluation" not in call(maps, changes=start).scores  # no threshold decides a class


def test_weights_without_a_record_are_noted(make_maps, weights_that_saw, call):
    with pytest.warns(EpirWarning, match="it is not known whom these weights have seen"):
        call(make_maps(), zero_shot=True, weights=weights_that_saw(None))


def test_allow_seen_goes_on_and_nothing_says_strict(make_maps, weights_that_saw, call, tmp_path):
    weights = weights_that_saw(Seen(frozenset({"casme2/00"})))
    with pytest.warns(EpirWarning, match="marked as seen in training"):
        run = call(make_maps(), zero_shot=True, weights=weights, allow_seen=True)
    scores = json.loads((run.folder / "scores.json").read_text())
    assert scores["evaluation"] == SEEN and "seen_in_training" in scores
    assert '"strict"' not in (run.folder / "scores.json").read_text()
    for fold in (run.folder / "folds").iterdir():
        assert '"strict"' not in fold.read_text() and '"seen_in_training": ' in fold.read_text()
    assert "best_epoch" not in scores  # nothing was trained
    assert (run.folder / "predictions.csv").read_text().startswith("corpus,subject,clip,truth,seen_in_training,")
    table = score_table([run]).text()
    assert SEEN in table and "strict" not in table

    from epir.reports.page import report

    page = report(run.folder).read_text()
    assert f">{SEEN}<" in page and "1 person (casme2/00)" in page and ">strict<" not in page.split('id="glossary"')[0]


def test_allow_seen_without_overlap_stays_strict(make_maps, weights_that_saw, call):
    run = call(make_maps(), zero_shot=True, weights=weights_that_saw(Seen(frozenset({"smic/9"}))), allow_seen=True)
    assert "strict" in run.scores and not run.experiment.seen_in_training


def test_every_clip_copied_under_a_second_subject_is_refused(make_maps, call, tmp_path):
    whole = load_maps(make_maps())
    copies = [replace(clip, subject=f"copy of {clip.subject}") for clip in whole.clips]
    maps = np.concatenate([whole.maps, whole.maps])
    folder = save_maps(tmp_path / "twice", maps, [*whole.clips, *copies], recipe={}).folder
    with pytest.raises(LeakError, match=r"in two folds: 24 copies .*equal maps.*\n  fix: keep one of the copies"):
        call(folder, folds="loso")
    near = maps + np.concatenate(
        [np.zeros_like(whole.maps), 0.05 * np.random.default_rng(1).normal(size=whole.maps.shape)]
    )
    noisy = save_maps(tmp_path / "noisy", near.astype(np.float32), [*whole.clips, *copies], recipe={}).folder
    with pytest.raises(LeakError, match=r"in two folds: 24 copies .*correlation of 0\.99"):
        call(noisy, folds="loso")


def test_two_spellings_of_one_person_are_refused_and_a_person_column_tells_them_apart(make_maps, call):
    maps = make_maps(corpora=("mine",))
    spelt = rewritten(
        maps,
        "spelt",
        lambda clip, number: replace(clip, subject={"00": "Anna", "01": "anna "}.get(clip.subject, clip.subject)),
    )
    with pytest.raises(LeakError, match=r"in two folds: probably one person: 'mine/Anna' = 'mine/anna '"):
        call(spelt, folds="loso")
    apart = rewritten(
        spelt,
        "apart",
        lambda clip, number: replace(clip, extra={"person": {"Anna": "A", "anna ": "B"}.get(clip.subject, "")}),
    )
    assert call(apart, folds="loso").scores["people"] == 4


def test_a_person_column_joins_subjects_of_two_corpora_in_one_fold(make_maps, call):
    maps = make_maps()  # casme2/00, samm/01, casme2/02, samm/03: equal numbers elsewhere are different people
    one = {"casme2/00": "anna", "samm/01": "anna"}
    joined = rewritten(
        maps,
        "joined",
        lambda clip, number: replace(clip, extra={"person": one.get(f"{clip.corpus}/{clip.subject}", "")}),
    )
    run = call(joined, folds="loso")
    assert sorted(fold.fold for fold in run.folds) == ["anna", "casme2/02", "samm/03"]
    assert run.scores["people"] == 3
    assert {clip.corpus for fold in run.folds if fold.fold == "anna" for clip in fold.clips} == {"casme2", "samm"}


def test_a_run_holds_no_path_of_this_machine(make_maps, weights_that_saw, call, quick, tmp_path):
    weights = weights_that_saw(Seen(frozenset({"smic/9"})))
    run = call(make_maps(), changes=(*quick, f'training.start="{weights}"'))
    for path in run.folder.rglob("*"):
        if path.is_file():
            assert str(tmp_path).encode() not in path.read_bytes(), path
    assert run.experiment.training.start.name == "model"

    from epir.reports.page import report

    assert str(tmp_path) not in report(run.folder).read_text()


def test_the_units_of_held_out_people_never_enter_training(tmp_path, make_maps, call):
    """Annotated otherwise, a person is predicted the same when held out; the others, who train on it, are not."""
    whole = load_maps(make_maps("plain", people=3, each=3, size=14))
    maps, clips = np.array(whole.maps), whole.clips
    tiny = ("model.width=16", "model.feed_forward=16", "model.blocks=3", "model.heads=2")
    learning = (*tiny, "training.action_units=1", "training.epochs=2", "training.lr=0.01")

    def predictions(name, of_first, of_others="4+L12"):
        units = [of_first if clip.subject == "00" else of_others for clip in clips]
        annotated = [replace(clip, extra={"action_units": text}) for clip, text in zip(clips, units, strict=True)]
        folder = save_maps(tmp_path / name, maps, annotated, recipe={"name": "noise"}).folder
        options = {"protocol": "sde", "model": "epir", "folds": "loso", "training": "scratch"}
        run = call(folder, out=f"run-{name}", changes=learning, **options)
        return {each.key: each.scores for each in run.predictions}

    one, other, none = predictions("one", "1+2+5"), predictions("other", "R14"), predictions("none", "")
    first = [clip.key for clip in clips if clip.subject == "00"]
    assert len(first) == 3
    for key in first:
        assert one[key] == other[key] == none[key]
    assert any(one[clip.key] != other[clip.key] for clip in clips if clip.subject != "00")
    assert any(one[clip.key] != none[clip.key] for clip in clips if clip.subject != "00")


def test_people_whom_the_weights_were_calibrated_on_are_refused(make_maps, weights_that_saw, call):
    weights = weights_that_saw(Seen(frozenset({"other/1"}), calibrated_on=frozenset({"casme2/0", "samm/01"})))
    maps = make_maps()
    with pytest.raises(LeakError, match=r"these weights were calibrated on: 2 people \(casme2/00, samm/01\)"):
        call(maps, zero_shot=True, weights=weights)
    with pytest.warns(EpirWarning, match="calibrated on"):
        run = call(maps, zero_shot=True, weights=weights, allow_seen=True)
    assert run.experiment.columns == ("seen_in_training",)


def test_a_stripped_record_is_told_in_the_run_and_in_every_table(make_maps, weights_that_saw, call):
    weights = weights_that_saw(Seen(frozenset({"casme2/0"})))
    (weights / "seen.json").unlink()
    with pytest.warns(EpirWarning, match=UNKNOWN):
        run = call(make_maps(), zero_shot=True, weights=weights)
    assert run.experiment.unknown_weights and run.scores["evaluation"] == UNKNOWN
    assert run.environment["notes"] == [UNKNOWN]
    table = score_table([run])
    assert "not known whom they have seen" in table.rows[0].cells[2]
    assert any(UNKNOWN in note for note in table.notes)
    assert "not known whom they have seen" in scores_with_training(run)["first_weights"]


def test_a_run_is_not_resumed_after_its_action_units_were_edited(make_maps, tmp_path):
    folder = make_maps()

    def digest(units, **changes):
        edited = rewritten(folder, "edited", lambda clip, _: replace(clip, extra={"action_units": units}))
        clips = gather([load_maps(edited)], "cde")
        return replace(clips, **changes).digest

    assert digest("4+7") == digest("12")  # nothing learns them
    assert digest("4+7", learns_units=True) != digest("12", learns_units=True)
    assert digest("4+7", learns_units=True) == digest("4+7", learns_units=True)


def test_a_record_that_cannot_recognise_moved_maps_says_so(weights_that_saw):
    drawn = frozenset({"synthetic/s1-1"})
    for seen, gaps in (
        (Seen(), [UNKNOWN]),  # a forged empty record: nobody trains on nobody
        (Seen(frozenset({"mine/a"}), frozenset({1})), [BLIND]),
        (Seen(frozenset({"mine/a"}), frozenset({1}), fingerprints=frozenset({(1,) * 8})), []),
        (Seen(drawn, frozenset({1})), []),  # no real clip is among synthetic ones
    ):
        assert record_gaps(weights_that_saw(seen)) == gaps
    assert record_gaps(shipped_folder()) == []


def test_a_temperature_of_people_who_are_scored_is_told_in_the_run(make_maps, weights_that_saw):
    weights = weights_that_saw(Seen(frozenset({"other/1"})))
    clips = gather([load_maps(make_maps())], "cde")
    assert temperature_note(weights, clips) == []
    config = json.loads((weights / "config.json").read_text())
    config["notes"]["real_people"] = {"fitted_on": ["casme2/0", "samm/01", "elsewhere/7"]}
    write_config(weights, config)
    (note,) = temperature_note(weights, clips)
    count = len({clip.person for clip in clips.clips})
    assert f"fitted on 2 of these {count} people" in note and "UF1 do not depend on it" in note
