import json

import cv2
import numpy as np
import pytest
from matplotlib.figure import Figure

import epir
from epir.core.errors import CheckpointError, ConfigError, FrameError, ShapeError
from epir.models.folder import read_config
from epir.recognition.answer import NOT_FOUND, UNCERTAIN
from epir.recognition.movement import read_recipe
from epir.recognition.recognizer import Recognizer


@pytest.fixture(scope="module")
def spotted(recognizer, video):
    return recognizer.predict(video)


def test_a_video_gets_an_answer_with_its_evidence(spotted, recognizer):
    assert spotted.label in (*recognizer.labels, UNCERTAIN) and spotted.best == "positive"
    assert sum(spotted.scores.values()) == pytest.approx(1, abs=1e-4)
    assert tuple(spotted.scores) == recognizer.labels == ("negative", "positive", "surprise")
    assert abs(spotted.apex - 20) <= 3
    assert spotted.onset < spotted.apex < spotted.offset
    assert spotted.map.shape == (3, 28, 28)
    assert spotted.tokens.grid == 4
    assert spotted.fps == 60
    assert spotted.all == (spotted.all[0],)
    assert spotted.warnings == ()


def test_an_answer_is_plain_json_and_draws_itself(spotted, tmp_path):
    values = json.loads(json.dumps(spotted.to_dict()))
    assert values["scores"] == spotted.scores
    assert values["confidence"] == max(spotted.scores.values())
    assert values["tokens"]["selected"] == list(spotted.tokens.selected)
    assert isinstance(spotted.plot(tmp_path / "why.png"), Figure)
    assert (tmp_path / "why.png").read_bytes().startswith(b"\x89PNG")


def test_folder_array_and_pair_agree_when_given_the_same_two_frames(recognizer, folder, smile):
    pair = recognizer.predict((smile[12], smile[20]))
    array = recognizer.predict(smile, onset=12, apex=20)
    pictures = recognizer.predict(folder, onset=113, apex=121)
    paths = recognizer.predict((folder / "img113.png", folder / "img121.png"))
    for answer in (array, pictures, paths):
        assert answer.scores == pytest.approx(pair.scores, abs=1e-6)
        assert (answer.map == pair.map).all()
    assert (pair.onset, pair.apex) == (0, 1)
    assert (pictures.onset, pictures.apex) == (113, 121)
    assert pictures.timeline is None


def test_maps_equal_those_of_prepare(recognizer, folder):
    from epir.core.records import Clip
    from epir.maps.prepare import prepare_clip

    clip = Clip("own", "1", "smile", "positive", 113, 121, 134, 60.0, frames=folder)
    answer = recognizer.predict(folder, onset=113, apex=121)
    assert (answer.map == prepare_clip(clip, recognizer.recipe, 28).map).all()


def test_a_given_onset_gets_its_apex_and_a_given_apex_its_onset(recognizer, smile):
    after = recognizer.predict(smile, onset=11, fps=60)
    assert after.onset == 11
    assert abs(after.apex - 20) <= 3
    before = recognizer.predict(smile, apex=21, fps=60)
    assert before.apex == 21
    assert abs(before.onset - 12) <= 3


def test_a_still_face_has_no_micro_expression(recognizer, still):
    answer = recognizer.predict(still, fps=60)
    assert answer.label == NOT_FOUND == "no micro-expression found"
    assert (answer.scores, answer.onset, answer.best, answer.all) == ({}, None, None, ())
    assert isinstance(answer.plot(), Figure)


def test_two_equal_pictures_are_uncertain(recognizer, still):
    answer = recognizer.predict((still[0], still[0]))
    assert answer.label == UNCERTAIN
    assert any("hardly moves" in word for word in answer.warnings)


def test_below_the_threshold_an_answer_is_uncertain(trained, smile):
    strict = Recognizer.from_pretrained(trained.folder, threshold=1.0)
    answer = strict.predict((smile[12], smile[20]))
    assert answer.label == UNCERTAIN
    assert answer.best in strict.labels


def test_warnings_name_the_problem(recognizer, smile):
    slow = recognizer.predict(smile, onset=12, apex=20, fps=30)
    assert any("frame rate is low: at 30 frames a second" in word for word in slow.warnings)
    unknown = recognizer.predict(smile)
    assert any("frame rate is unknown: 100 frames a second assumed" in word for word in unknown.warnings)
    small = recognizer.predict(tuple(cv2.resize(smile[n], (190, 190)) for n in (12, 20)))
    assert any("face is small" in word for word in small.warnings)
    two = np.concatenate([smile[[12, 20]], smile[[12, 20]]], axis=2)
    assert any("several faces: 2 detected" in word for word in recognizer.predict((two[0], two[1])).warnings)
    shaken = np.roll(smile[20], 12, axis=1)
    assert any("head moves strongly" in word for word in recognizer.predict((smile[12], shaken)).warnings)


def test_grey_pictures_are_fine(recognizer, smile):
    grey = smile[[12, 20]].mean(axis=-1).astype(np.uint8)
    colour = recognizer.predict((smile[12], smile[20]))
    assert recognizer.predict((grey[0], grey[1])).scores == pytest.approx(colour.scores, abs=0.15)
    assert recognizer.predict(grey[..., None], onset=0, apex=1).scores


def test_very_large_frames_are_fine(recognizer, smile):
    large = [cv2.resize(frame, (2080, 2080), interpolation=cv2.INTER_CUBIC) for frame in smile[[12, 20]]]
    assert recognizer.predict(large).best == recognizer.predict((smile[12], smile[20])).best


def test_many_inputs_become_a_table_in_their_order(recognizer, smile, still, tmp_path):
    gone = tmp_path / "none.mp4"
    table = recognizer.predict_many([gone, (smile[12], smile[20]), still, gone], fps=60)
    assert table["file"].tolist() == [str(gone), "two pictures", "array", str(gone)]
    assert table["p_positive"].notna().tolist() == [False, True, False, False]
    assert [bool(each) for each in table["error"]] == [True, False, False, True]
    assert "there is no folder or video" in table["error"].iloc[3] and table["apex"].iloc[1] == 1
    with pytest.raises(ConfigError, match=r"takes a list of inputs, not 'a.mp4'\n  fix: give a list"):
        recognizer.predict_many("a.mp4")


@pytest.mark.parametrize("options", [{"onset": 3, "start": 0.1}, {"apex": 20, "end": 0.5}])
def test_given_key_frames_and_times_exclude_each_other(recognizer, smile, options):
    with pytest.raises(FrameError, match=r"leaves nothing to choose between two times\n  fix: leave out --start and"):
        recognizer.predict(smile, fps=60, **options)


def test_numpy_counts_frames_too_and_halves_of_frames_are_refused(recognizer, smile):
    onset, apex = np.int64(12), np.int64(20)
    values = recognizer.predict(smile, fps=60, onset=onset, apex=apex, explain=False).to_dict()
    assert json.loads(json.dumps(values))["apex"] == 20
    with pytest.raises(FrameError, match=r"onset cannot be 12\.7\n  fix: give the number of a frame, a whole number"):
        recognizer.predict(smile, fps=60, onset=12.7)


@pytest.mark.parametrize("options", [{"onset": 3}, {"apex": 1}, {"start": 0.5}, {"end": 1.0}])
def test_two_pictures_have_no_frames_to_choose(recognizer, smile, options):
    with pytest.raises(FrameError, match=r"are the onset and the apex: .*\n  fix: leave out --onset"):
        recognizer.predict((smile[12], smile[20]), **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"onset": 20, "apex": 20}, r"the apex 20 does not come after the onset 20\n  fix: give an onset before"),
        ({"onset": 2, "apex": 99}, r"the apex 99 is not in array, which holds frames 0 to 47\n  fix: .* from 0 to 47"),
        ({"onset": -1}, r"the onset -1 is not in array"),
        ({"onset": 47}, r"the onset 47 is the last frame"),
        ({"apex": 0}, r"the apex 0 is the first frame"),
    ],
)
def test_impossible_key_frames_are_refused(recognizer, smile, options, words):
    with pytest.raises(FrameError, match=words):
        recognizer.predict(smile, **options)


@pytest.mark.parametrize("fps", [0, -3.0, float("nan"), float("inf")])
def test_an_impossible_frame_rate_is_refused(recognizer, smile, fps):
    with pytest.raises(FrameError, match=r"frames a second is not a frame rate\n  fix: give the rate of the camera"):
        recognizer.predict(smile, onset=12, apex=20, fps=fps)


def test_an_apex_without_a_movement_asks_for_the_onset(recognizer, still):
    with pytest.raises(FrameError, match=r"no movement was found around the apex 9\n  fix: give the onset too"):
        recognizer.predict(still, apex=9, fps=60)


def test_inputs_that_cannot_be_used_say_why(recognizer, tmp_path, smile):
    text = tmp_path / "notes.mp4"
    text.write_text("this is no video")
    for source, kind, words in (
        (tmp_path / "gone.mp4", FrameError, "there is no folder or video .*gone.mp4"),
        (text, FrameError, "notes.mp4 cannot be opened as a video"),
        (smile[:1], FrameError, "array holds one frame: motion needs two\n  fix: give a video"),
        (smile[0], ShapeError, "is one picture, not a clip"),
        (smile.astype(float), ShapeError, r"frames are \(T, H, W, 3\) uint8 RGB, not float64"),
        ((smile[0], smile[0, ::2]), ShapeError, "the onset is 260 x 260 px but the apex is 260 x 130 px"),
        (3, ShapeError, "cannot read frames from int"),
    ):
        with pytest.raises(kind, match=words):
            recognizer.predict(source)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("none", {}, "there is no model folder"),
        ("m.onnx", {}, r"there is no file .*m.onnx"),
        ("", {"backend": "onnx"}, r"no model.onnx\n  fix: write it with epir export"),
        ("", {"backend": "onnx", "device": "cuda"}, "ONNX Runtime runs on the CPU here"),
        ("", {"backend": "tensorrt"}, "tensorrt"),
        ("m.onnx", {"backend": "torch"}, r"torch cannot run .*m.onnx\n  fix: give the model folder"),
        ("", {"threshold": 3.0}, r"threshold cannot be 3\n  fix: give a score from 0 to 1"),
        ("", {"device": "gpu9"}, "there is no device 'gpu9' here\n  fix: use device='cpu', or 'auto'"),
    ],
)
def test_unreadable_models_say_why(trained, name, options, words):
    with pytest.raises((CheckpointError, ConfigError), match=words):
        Recognizer.from_pretrained(trained.folder / name, **options)


def test_without_shipped_folder_the_error_says_what_to_name(monkeypatch, tmp_path):
    monkeypatch.setattr("epir.models.folder.shipped_folder", lambda: tmp_path)
    with pytest.raises(CheckpointError, match=r"come with epir are missing\n  fix: install .* or name a model folder"):
        Recognizer.from_pretrained()


def test_the_recipe_comes_from_the_notes(trained):
    notes = read_config(trained.folder).notes
    assert read_recipe(notes).flow.size == 168
    changed = {**notes["recipe"], "flow": {**notes["recipe"]["flow"], "size": 112}}
    assert read_recipe({"recipe": changed}).flow.size == 112
    mixed = {"name": "mixed", "recipes": [{"name": "direct"}, {**changed, "name": "epir"}]}
    assert read_recipe({"recipe": mixed}).flow.size == 112
    assert read_recipe({}).name == "epir"
    with pytest.raises(CheckpointError, match=r"flow recipe of this model cannot be used: .*\n  fix: install"):
        read_recipe({"recipe": {"flow": {"method": "guess"}}})


def test_a_recognizer_describes_itself(recognizer):
    words = repr(recognizer)
    assert words.startswith("Recognizer(epir, 28 px, torch on cpu; negative, positive, surprise; detector ")
    assert f"threshold {recognizer.threshold:g}" in words


def test_epir_predict_equals_the_command(recognizer, trained, smile):
    pair = (smile[12], smile[20])
    answer = epir.predict(pair, model=trained.folder, threshold=1.0, explain=False)
    assert answer.scores == recognizer.predict(pair).scores
    assert answer.label == "uncertain" and answer.attribution is None
