import json
import os
import sys
from dataclasses import replace

import numpy as np
import pytest

from epir.core.errors import EpirError, EpirWarning
from epir.core.output import MARK
from epir.datasets.annotations import EMOTION, read_tiers
from epir.frames.reader import open_frames
from epir.recognition.outputs import GREEN, STRIP, STRIP_MARK, annotated, motion_strip, write_outputs, write_tables

TABLES, TIERS = ["events.csv", "frames.csv", "megc.csv"], ["smile.eaf", "smile.TextGrid"]


@pytest.fixture(scope="module")
def answer(recognizer, video):
    return recognizer.predict(video)


def test_every_output_is_written(answer, video, tmp_path):
    written = write_outputs(video, answer, tmp_path / "out")
    assert [path.name for path in written] == [
        "why.png",
        "timeline.png",
        "annotated.mp4",
        *TABLES,
        *TIERS,
        "answer.json",
    ]
    assert sorted(os.listdir(tmp_path / "out")) == sorted([MARK, *(path.name for path in written)])
    values = json.loads((tmp_path / "out" / "answer.json").read_text())
    assert values["answers"][0]["label"] == answer.label
    with open_frames(tmp_path / "out" / "annotated.mp4") as film:
        assert len(film) == 48
        assert film.read(0).shape == (260 + STRIP, 260, 3)
    with pytest.raises(EpirError, match="exists already"):
        write_outputs(video, answer, tmp_path / "out")
    write_outputs(video, answer, tmp_path / "out", force=True)


def test_two_pictures_have_a_picture_and_no_video(recognizer, smile, tmp_path):
    pair = (smile[12], smile[20])
    written = write_outputs(pair, recognizer.predict(pair), tmp_path / "out")
    assert [path.name for path in written] == ["why.png", "events.csv", "answer.json"]


def test_a_video_without_movements_gets_a_timeline(recognizer, still, tmp_path):
    written = write_outputs(still, recognizer.predict(still, fps=60), tmp_path / "out")
    tiers = ["answer.eaf", "answer.TextGrid"]
    assert [path.name for path in written] == ["timeline.png", "annotated.mp4", *TABLES, *tiers, "answer.json"]


def test_the_square_surrounds_the_face_and_the_class_shows_during_the_movement(answer, smile):
    during, before = annotated(smile[20], 20, answer), annotated(smile[2], 2, answer)
    green = np.abs(during.astype(int) - GREEN).max(axis=-1) < 40
    rows, columns = np.nonzero(green[45:])
    crop = answer.timeline.squares[0]
    assert rows.min() + 45 == pytest.approx(crop.y - crop.side / 2, abs=6)
    assert columns.max() == pytest.approx(crop.x + crop.side / 2, abs=6)
    assert not (np.abs(before.astype(int) - GREEN).max(axis=-1) < 20).any()


def test_large_frames_are_written_smaller(answer):
    assert annotated(np.zeros((3000, 2000, 3), np.uint8), 0, answer).shape == (1280, 852, 3)


def test_the_strip_shows_the_movement_where_it_is(answer):
    strip = motion_strip(answer, 480)
    assert strip.shape == (STRIP, 480, 3)
    marked = (strip == STRIP_MARK).all(axis=-1).any(axis=0).nonzero()[0] / 479 * 47
    assert marked.min() == pytest.approx(answer.onset, abs=0.2)
    assert marked.max() == pytest.approx(answer.offset, abs=0.2)


def test_only_the_chosen_part_of_a_video_is_written(recognizer, video, tmp_path):
    answer = recognizer.predict(video, start=0.1, end=0.7)
    write_outputs(video, answer, tmp_path / "out", start=0.1, end=0.7)
    with open_frames(tmp_path / "out" / "annotated.mp4") as film:
        assert len(film) == 37


@pytest.mark.parametrize("kind", ["folder", "video", "array", "list"])
def test_the_given_rate_selects_the_frames_that_are_written(recognizer, kind, folder, video, smile, tmp_path):
    source = {"folder": folder, "video": video, "array": smile, "list": list(smile)}[kind]
    part = {"fps": 120, "start": 0.1, "end": 0.3}
    answer = recognizer.predict(source, **part)
    write_outputs(source, answer, tmp_path / "out", **part)
    with open_frames(tmp_path / "out" / "annotated.mp4") as film:
        assert len(film) == answer.frame_count == 25


def test_tiers_keep_to_the_times_of_a_slow_motion_file(recognizer, video, tmp_path):
    """Filmed at 240 frames a second and played at 60; 60 frames a second are as many as the file says."""
    answer = recognizer.predict(video, fps=240)
    write_outputs(video, answer, tmp_path / "out", fps=240)
    for ending in ("eaf", "TextGrid"):
        (tier,) = [each for each in read_tiers(tmp_path / "out" / f"smile.{ending}").tiers if each.name == EMOTION]
        (movement,) = tier.intervals
        assert (movement.start, movement.end) == pytest.approx((answer.onset / 60, answer.offset / 60), abs=2e-3)
    assert answer.onset_s == pytest.approx(answer.onset / 240, abs=1e-4)


def test_the_values_on_disk_are_those_that_are_printed(answer, video, tmp_path):
    write_outputs(video, answer, tmp_path / "out")
    values = json.loads((tmp_path / "out" / "answer.json").read_text())
    printed = json.loads(json.dumps(answer.to_dict_of_all()))
    assert {name: values[name] for name in printed} == printed
    assert values["answers"] == printed["movements"] and "rejected" in values


@pytest.mark.parametrize("first", [0, 1, 101])
def test_the_submission_counts_from_1_or_as_the_pictures_do(answer, folder, first, tmp_path):
    pictures = tmp_path / "clip"
    pictures.mkdir()
    for number, path in enumerate(sorted(folder.iterdir()), start=first):
        (pictures / f"img{number:03d}.png").symlink_to(path)
    moved = replace(answer, onset=answer.onset + first, offset=answer.offset + first)
    write_tables(pictures, replace(moved, all=(moved,)), tmp_path)
    shift = 1 if first == 0 else first
    row = f"clip,{answer.onset + shift},{answer.offset + shift},me"
    assert (tmp_path / "megc.csv").read_text().splitlines()[1:] == [row]


def test_without_a_face_only_the_values_are_written(recognizer, tmp_path):
    empty = np.full((8, 120, 160, 3), 90, np.uint8)
    written = write_outputs(empty, recognizer.predict(empty, fps=25), tmp_path / "out")
    assert [path.name for path in written] == ["events.csv", "answer.json"]


def test_without_the_extra_a_warning_says_how_to_get_the_tiers(answer, video, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pympi", None)
    with pytest.warns(EpirWarning, match=r'pip install -c constraints.txt ".\[annotate\]"'):
        written = write_outputs(video, answer, tmp_path / "out")
    assert [path.name for path in written] == ["why.png", "timeline.png", "annotated.mp4", *TABLES, "answer.json"]
