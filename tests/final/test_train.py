import json

import pytest
import torch
from safetensors.torch import load_file

from epir.core.errors import ConfigError, EpirError, EpirWarning, LeakError, ProtocolError
from epir.final.train import train
from epir.maps.mapset import load_maps, save_maps
from epir.models.folder import read_config
from epir.synthetic.maps import synthetic_maps

SMALL = ("model.width=32", "model.feed_forward=48", "model.blocks=4", "model.heads=2")


def test_the_folder_holds_what_a_recognizer_needs(trained):
    config = read_config(trained.folder)
    assert config.labels == ("negative", "positive", "surprise")
    assert config.notes["temperature"] == trained.calibration.temperature > 0
    assert config.notes["threshold"] == 0.5
    assert config.notes["recipe"]["name"] == "direct"
    assert config.notes["data"]["clips"] == trained.clips == 120
    assert config.notes["strict"]["uf1"] == trained.strict["uf1"] > 0.5  # chance is 0.33
    json.loads((trained.folder / "config.json").read_text(), parse_constant=pytest.fail)  # no NaN


def test_the_card_says_what_it_is_made_of_and_what_it_must_not_be_used_for(trained):
    card = (trained.folder / "README.md").read_text()
    for words in (
        f"{trained.clips} clips of {trained.people} people: synthetic",
        f"| strict | {trained.strict['uf1']:.4f} |",
        "Protocol `sde`, 2 grouped folds",
        "Expected calibration error",
        "docs/responsible-use.md",
        "Do not use it to detect lies",
    ):
        assert words in card
    assert card.startswith("---\nlicense: apache-2.0\nlanguage: en\nlibrary_name: epir\n")
    assert "pipeline_tag: video-classification\n" in card and "datasets:\n- synthetic\n" in card
    assert "nan" not in card.casefold().replace("nance", "")


def test_an_existing_folder_is_kept_unless_forced(trained, maps):
    with pytest.raises(EpirError, match=r"exists already\n  fix: .*--force"):
        train(maps, protocol="sde", out=trained.folder)


def test_a_training_that_was_killed_when_its_model_was_in_place_is_told_that_it_is_complete(
    maps, tmp_path, monkeypatch
):
    call = dict(protocol="sde", out=tmp_path / "mine", changes=[*SMALL, "training.epochs=1"], folds=2, workers=1)
    with monkeypatch.context() as stopped:
        stopped.setattr("epir.final.train._remove_states", lambda out, complete=False: complete or 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(maps, **call)
    assert len(list(tmp_path.iterdir())) == 2  # the model and what its training was kept in
    before = bytes_of(tmp_path / "mine")
    with pytest.warns(EpirWarning, match=r"mine is already complete with these maps and settings; --force trains it"):
        again = train(maps, **call)
    notes = read_config(tmp_path / "mine").notes
    assert again.strict == notes["strict"] and again.clips == 120 and again.evaluation == "strict"
    assert again.calibration.temperature == notes["temperature"] and bytes_of(tmp_path / "mine") == before
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    with pytest.raises(EpirError, match=r"exists already\n  fix: .*--force"):
        train(maps, **call, seed=1)


def bytes_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_folder_that_is_no_model_is_kept_even_when_forced(maps, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(EpirError, match=r"exists already and is not .* that epir made"):
        train(maps, protocol="sde", out=tmp_path, force=True)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_one_person_cannot_calibrate(maps, tmp_path):
    whole = load_maps(maps)
    alone = [n for n, clip in enumerate(whole.clips) if clip.subject == whole.clips[0].subject]
    save_maps(tmp_path / "one", whole.maps[alone], [whole.clips[n] for n in alone], recipe={})
    with pytest.raises(ProtocolError, match=r"all clips are of one person\n  fix: give maps of two people"):
        train(tmp_path / "one", protocol="sde", out=tmp_path / "model")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"folds": 1}, "--folds must be at least 2, not 1"),
        ({"model": "bi-woof"}, "'bi-woof' is an estimator, which has no weights for a model folder"),
    ],
)
def test_impossible_trainings_are_refused(maps, tmp_path, options, words):
    with pytest.raises(ConfigError, match=words):
        train(maps, protocol="sde", out=tmp_path / "model", **options)
    assert not (tmp_path / "model").exists()


def test_training_can_start_from_a_model_folder(trained, maps, tmp_path):
    changes = [*SMALL, "training.epochs=1"]
    other = synthetic_maps(48, "direct", seed=9)
    again = train(
        other, protocol="sde", out=tmp_path / "on", start=trained.folder, changes=changes, folds=2, workers=1,
        run=tmp_path / "run", half=True,
    )  # fmt: skip
    assert all(tensor.dtype == torch.float16 for tensor in load_file(again.folder / "model.safetensors").values())
    notes = read_config(again.folder).notes
    assert notes["training"]["start"] == "tiny"
    assert str(tmp_path) not in (again.folder / "config.json").read_text()
    assert "Training started from the weights of `tiny`" in (again.folder / "README.md").read_text()
    assert (tmp_path / "run" / "scores.json").exists()


def test_other_people_calibrate_the_model_itself(maps, tmp_path):
    others = synthetic_maps(96, "direct", seed=8)
    changes = [*SMALL, "training.epochs=12", "training.lr=2e-3"]
    model = train(
        maps,
        protocol="sde",
        out=tmp_path / "model",
        calibrate_on=[others],
        changes=changes,
        note="## Elsewhere\n\nNot measured.\n",
    )
    assert model.strict["uf1"] > 0.5  # chance is 0.33
    assert sum(map(sum, model.strict["confusion"])) == 96
    notes = read_config(model.folder).notes
    assert (notes["calibration"]["clips"], notes["calibration"]["people"]) == (96, 12)
    card = (model.folder / "README.md").read_text()
    assert "\n\n## Elsewhere\n\nNot measured.\n\n## Limits\n" in card
    assert "this model predicts 96 clips of 12 other people once" in card and "folds" not in card


def test_nobody_is_trained_on_and_calibrates(maps, tmp_path):
    words = r"in the training set and in --calibrate-on: 15 people \(.*\n  fix: calibrate on other people"
    with pytest.raises(LeakError, match=words):
        train(maps, protocol="sde", out=tmp_path / "model", calibrate_on=[maps])


def test_the_folder_remembers_whom_it_has_seen(trained, maps):
    from epir.maps.copies import map_hashes
    from epir.models.seen import read_seen

    whole, seen = load_maps(maps), read_seen(trained.folder)
    assert seen.people == {clip.person for clip in whole.clips} and seen.complete
    assert seen.maps == set(map_hashes(whole.maps).tolist())


def test_a_model_of_all_clips_with_shuffled_labels_is_not_strict_on_them(maps, tmp_path):
    """Trained on every clip it can learn the shuffled labels by heart: that must not be called strict."""
    import random
    from dataclasses import replace

    from epir.evaluation.run import evaluate_zero_shot

    whole = load_maps(maps)
    words = [clip.emotion for clip in whole.clips]
    random.Random(0).shuffle(words)
    clips = [replace(clip, emotion=word) for clip, word in zip(whole.clips, words, strict=True)]
    shuffled = save_maps(tmp_path / "shuffled", whole.maps, clips, recipe={}).folder
    others = synthetic_maps(24, "direct", seed=4)
    save_maps(tmp_path / "others", others.maps, others.clips, recipe={})
    small = [*SMALL, "training.epochs=1"]
    model = train(shuffled, protocol="sde", out=tmp_path / "m", changes=small, calibrate_on=[tmp_path / "others"])
    with pytest.raises(LeakError, match=r"these weights have seen: 15 people .*; these weights have seen: 120 maps"):
        evaluate_zero_shot(shuffled, protocol="sde", weights=model.folder, out=tmp_path / "run")

    more = train(
        tmp_path / "others",
        protocol="sde",
        out=tmp_path / "next",
        start=model.folder,
        changes=small,
        folds=2,
        workers=1,
    )
    from epir.models.seen import read_seen

    seen = read_seen(more.folder)
    assert seen.people == {clip.person for clip in (*whole.clips, *others.clips)}  # what it started from, too
    assert [each["name"] for each in seen.ancestors] == ["m"]
    with pytest.raises(LeakError, match="training starts from have seen, of --calibrate-on: 15 people"):
        train(
            tmp_path / "others",
            protocol="sde",
            out=tmp_path / "last",
            start=model.folder,
            changes=small,
            calibrate_on=[shuffled],
        )


def test_allow_seen_marks_the_model_s_own_scores(maps, tmp_path):
    from epir.core.errors import EpirWarning

    small = [*SMALL, "training.epochs=1"]
    with pytest.warns(EpirWarning, match="in the training set and in --calibrate-on: 15 people"):
        model = train(maps, protocol="sde", out=tmp_path / "m", changes=small, calibrate_on=[maps], allow_seen=True)
    assert model.evaluation == "seen in training (leaks)"
    notes = read_config(model.folder).notes
    assert notes["evaluation"] == "seen in training (leaks)" and "strict" not in notes
    card = (model.folder / "README.md").read_text()
    assert "| seen in training (leaks) |" in card and "strict" not in card
