"""Real-world videos: cuts, cartoons, repeated frames, variable rates, files that end early, several faces."""

from fractions import Fraction

import av
import numpy as np
import pytest
from skimage.data import astronaut

from epir.core.errors import FrameError
from epir.recognition.answer import NOT_FOUND
from epir.recognition.recognizer import Recognizer

ONSET, APEX = 12, 20  # of the smile


def write(path, frames, fps=60, times=None, codec="libx264"):
    """A video; `times` in milliseconds."""
    height, width = frames[0].shape[:2]
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, fps, options={"crf": "12"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        if times is not None:
            stream.time_base = stream.codec_context.time_base = Fraction(1, 1000)
        for place, frame in enumerate(frames):
            picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")
            if times is not None:
                picture.pts, picture.time_base = int(times[place]), Fraction(1, 1000)
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    return path


@pytest.fixture(scope="module")
def person():
    """A photographed face at the size of the smile."""
    import cv2

    return cv2.resize(astronaut()[20:220, 120:320], (260, 260), interpolation=cv2.INTER_CUBIC)


def test_seconds_stand_beside_frame_numbers(recognizer, video):
    answer = recognizer.predict(video)
    for key in ("onset", "apex", "offset"):
        assert getattr(answer, f"{key}_s") == pytest.approx(getattr(answer, key) / 60, abs=1e-3)
    values = answer.to_dict()
    assert (values["apex_s"], values["track"], values["gaps"], values["frames"]) == (answer.apex_s, 0, [], 48)


def test_given_key_frames_have_their_times(recognizer, video):
    answer = recognizer.predict(video, onset=ONSET, apex=APEX)
    assert (answer.onset_s, answer.apex_s) == (pytest.approx(0.2), pytest.approx(0.3333, abs=1e-3))


def test_only_the_chosen_part_of_a_video_is_analysed(recognizer, video):
    whole = recognizer.predict(video)
    part = recognizer.predict(video, start=0.05, end=0.75)
    assert part.timeline.numbers.min() == 3
    assert part.timeline.numbers.max() == 45
    assert abs(part.apex - whole.apex) <= 2
    assert recognizer.predict(video, start=0.6).label == NOT_FOUND


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        (0.5, 0.2, r"nothing between --start 0.5 and --end 0.2\n  fix: give seconds from 0"),
        (-1.0, None, "nothing between --start -1"),
        (30.0, None, r"no frame between 30 s and the end\n  fix: give --start and --end within the video"),
        (0.1, 0.11, r"one frame between 0.1 s and 0.11 s"),
    ],
)
def test_impossible_times_are_refused(recognizer, video, start, end, words):
    with pytest.raises(FrameError, match=words):
        recognizer.predict(video, start=start, end=end)


def test_repeated_frames_are_ignored_and_the_true_rate_is_used(recognizer, smile, tmp_path):
    taken = [frame for frame in smile[::2] for _ in range(2)]  # 30 a second, each shown twice
    answer = recognizer.predict(write(tmp_path / "twice.mp4", taken))
    assert answer.fps == pytest.approx(30)
    assert any("of 60 frames a second the camera took 30" in word for word in answer.warnings)
    assert any("frame rate is low: at 30 frames a second" in word for word in answer.warnings)
    assert 24 <= len(answer.timeline.numbers) <= 26
    assert (answer.timeline.numbers % 2 == 0).mean() > 0.9


def test_a_variable_rate_is_reported_and_its_time_stamps_are_used(recognizer, smile, tmp_path):
    times = np.cumsum([0] + [10, 25] * 23 + [10])[: len(smile)]
    answer = recognizer.predict(write(tmp_path / "uneven.mkv", smile, times=times))
    assert any("frame rate varies" in word for word in answer.warnings)
    assert answer.timeline.stamps == pytest.approx(times[answer.timeline.numbers] / 1000, abs=2e-3)
    assert abs(answer.apex - APEX) <= 3
    assert answer.apex_s == pytest.approx(times[answer.apex] / 1000, abs=2e-3)


def test_a_rate_that_falls_in_the_dark_hides_no_face(recognizer, still, tmp_path):
    """Three seconds at 24 frames a second, five at 8: the face is there all the time."""
    times = np.cumsum([0, *[1000 / 24] * 72, *[125] * 39]).round()
    frames = np.resize(still, (len(times), *still.shape[1:]))
    answer = recognizer.predict(write(tmp_path / "dim.mkv", frames, 24, times=times))
    assert any("frame rate varies from 8 to 24" in word for word in answer.warnings)
    assert len(answer.timeline.numbers) == len(times) and answer.fps == pytest.approx(24)
    assert answer.timeline.seconds == pytest.approx(8, abs=0.2)
    assert answer.followed == ""
    seconds = answer.visible.seconds
    assert sum(each.stop - each.start for each in seconds) == pytest.approx(8, abs=0.2)
    assert all("no face" not in each.reasons for each in seconds)
    assert {each.reasons for each in seconds[3:]} == {("8 frames a second",)}


def test_a_file_that_ends_early_gets_an_answer_with_a_warning(recognizer, smile, tmp_path):
    path = write(tmp_path / "a.mkv", np.concatenate([smile, smile, smile]))
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 5])
    answer = recognizer.predict(path)
    assert abs(answer.apex - APEX) <= 3
    assert any(word.startswith("the file ends early, after frame ") for word in answer.warnings)


def test_nothing_spans_a_cut(recognizer, still, person, tmp_path):
    answer = recognizer.predict(write(tmp_path / "cut.mp4", [*still, *[person] * 20, *still]))
    assert answer.label == NOT_FOUND
    assert answer.all == ()


@pytest.mark.parametrize("apex", [48, 60, 5000])
def test_an_apex_past_the_end_is_refused_with_the_frames_there_are(recognizer, video, apex):
    words = rf"has no frame {apex}: it holds frames 0 to 47\n  fix: the nearest frame is 47"
    with pytest.raises(FrameError, match=words):
        recognizer.predict(video, apex=apex)


def test_two_people_as_onset_and_apex_are_refused(recognizer, smile, person, tmp_path):
    words = r"onset \d+ and the apex \d+ do not show one person in one shot\n  fix: take both from one shot"
    with pytest.raises(FrameError, match=words):
        recognizer.predict((smile[0], person))
    with pytest.raises(FrameError, match=words):
        recognizer.predict(write(tmp_path / "cut.mp4", [*smile[:10], *[person] * 10]), onset=4, apex=15)


def test_one_person_is_accepted_in_any_light_and_place(recognizer, smile):
    darker = (0.6 * smile[APEX]).astype(np.uint8)
    moved = np.roll(smile[APEX], (8, 25), axis=(0, 1))
    for apex in (smile[APEX], darker, moved):
        assert recognizer.predict((smile[ONSET], apex)).scores


@pytest.mark.parametrize("kind", ["empty", "drawn"])
def test_without_a_face_the_answer_says_so(recognizer, kind, cartoon):
    frame = np.full((120, 160, 3), 90, np.uint8) if kind == "empty" else cartoon
    answer = recognizer.predict(np.stack([frame] * 10), fps=25)
    assert (answer.label, answer.scores, answer.all) == ("no face", {}, ())
    assert [(gap.first, gap.last) for gap in answer.gaps] == [(0, 9)]
    pair = recognizer.predict((frame, frame))
    assert (pair.label, pair.scores) == ("no face", {})


def test_a_face_that_is_too_small_is_reported_with_its_size(recognizer, smile):
    small = smile[:, ::3, ::3]
    answer = recognizer.predict(small, fps=60)
    assert answer.label == "face too small"
    assert any("px between the temples; at least 60 px are needed" in word for word in answer.warnings)
    assert recognizer.predict((small[ONSET], small[APEX])).label == "face too small"


def test_each_of_several_faces_gets_its_answers(recognizer, smile, person):
    frames = np.concatenate([smile, np.stack([person] * len(smile))], axis=2)
    everybody = recognizer.predict(frames, fps=60, faces="all")
    assert {each.track for each in everybody.all} == {everybody.track}
    both = np.concatenate([smile, smile[:, :, ::-1]], axis=2)
    answer = recognizer.predict(both, fps=60, faces="all")
    assert sorted(each.track for each in answer.all) == [0, 1]
    assert all(abs(each.apex - APEX) <= 3 for each in answer.all)
    assert not any("several faces" in word for word in answer.warnings)
    assert any("several faces: 2" in word for word in recognizer.predict(both, fps=60).warnings)


def test_cropped_frames_need_no_detector(trained, smile):
    whole = Recognizer.from_pretrained(trained.folder, detector="none")
    face = smile[:, 60:200, 60:200]
    assert whole.predict((face[ONSET], face[APEX])).scores
    assert whole.predict(np.zeros((6, 90, 90, 3), np.uint8), fps=60).label == NOT_FOUND


def smiles(smile, count):
    """This many smiles, with two seconds of rest between them."""
    rest = np.concatenate([smile[:10], smile[9::-1]] * 6)
    return np.concatenate([smile, *[np.concatenate([rest, smile])] * (count - 1)])


def test_any_number_of_movements_works(recognizer, smile):
    answer = recognizer.predict(smiles(smile, 3), fps=60)
    assert len(answer.all) >= 2
    ends = -1
    for each in answer.all:
        assert ends <= each.onset < each.onset + 2 <= each.apex < each.offset
        ends = each.offset


def test_a_video_is_decoded_once(recognizer, smile, tmp_path, monkeypatch):
    """The number of movements does not matter; only the beginning is read again, to measure the rate."""
    from epir.frames import video as module

    path = write(tmp_path / "thrice.mp4", smiles(smile, 4))
    decoded = []
    advance = module.VideoFrames._advance
    monkeypatch.setattr(module.VideoFrames, "_advance", lambda self: decoded.append(1) or advance(self))
    answer = recognizer.predict(path)
    assert len(answer.all) >= 2
    assert len(decoded) <= len(smiles(smile, 4)) + 1 + 50
