"""The verbs `spot` and `score`: output and files; `synth --long` with the real spotter is marked slow."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "recognition"))
from fake_spotting import FakeRecognizer

from epir.core.errors import EpirError
from epir.datasets.intervals import Interval, LongVideo, write_intervals
from epir.frames.reader import open_frames


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """Two annotated videos and a recognizer that finds one movement of each kind in them."""
    from epir.recognition import spot

    monkeypatch.setattr(spot, "_recognizer", lambda *_: FakeRecognizer())
    monkeypatch.setattr(spot, "model_digest", lambda _: "0" * 64)
    folder = tmp_path / "corpus"
    folder.mkdir()
    videos = []
    for subject, name in (("001", "001_1"), ("002", "002_1")):
        (folder / f"{name}.mp4").write_bytes(b"")
        labels = (
            Interval(name, subject, "micro", 11, 13, 15, "surprise"),
            Interval(name, subject, "micro", 60, 63, 66, "negative"),
        )
        videos.append(LongVideo("synthetic", subject, name, folder / f"{name}.mp4", 10.0, 50, labels))
    write_intervals(folder / "intervals.csv", videos)
    return folder


def test_spot_says_what_it_found_and_what_comes_next(invoke, corpus, tmp_path):
    result = invoke("spot", "synthetic", corpus, "--out", tmp_path / "s", "--workers", 1)
    assert result.exit_code == 0
    assert "2 micro- and 2 macro-expressions in 2 videos; 2 spotted now" in result.stdout
    assert f"next: epir score {tmp_path / 's'}" in result.stdout
    again = json.loads(invoke("spot", "synthetic", corpus, "--out", tmp_path / "s", "--workers", 1, "--json").stdout)
    assert (again["videos"], again["spotted"], again["micro"], again["macro"]) == (2, 0, 2, 2)


def test_score_prints_tables_writes_files_and_gives_json(invoke, corpus, tmp_path):
    invoke("spot", "synthetic", corpus, "--out", tmp_path / "s", "--workers", 1)
    result = invoke("score", tmp_path / "s", "--out", tmp_path / "scores")
    lines = [line.split() for line in result.stdout.splitlines()]
    assert ["synthetic", "micro", "4", "2", "2", "1.0000", "0.5000", "0.6667"] in [line[:8] for line in lines]
    assert sorted(path.name for path in (tmp_path / "scores").iterdir()) == [
        "scores.json",
        "spotting.csv",
        "strs.csv",
        "tables.md",
        "tables.tex",
    ]
    with pytest.raises(EpirError, match=r"(?s)exists already.*--force"):
        invoke("score", tmp_path / "s", "--out", tmp_path / "scores")
    assert invoke("score", tmp_path / "s", "--out", tmp_path / "scores", "--force").exit_code == 0
    values = json.loads(invoke("score", tmp_path / "s", "--json").stdout)
    assert values == json.loads((tmp_path / "scores" / "scores.json").read_text())
    assert values["pooled"]["strs"]["strs"] == pytest.approx(2 / 3 / 3, abs=1e-5)  # one of three classes is right


def test_score_writes_submissions(invoke, corpus, tmp_path):
    invoke("spot", "synthetic", corpus, "--out", tmp_path / "s", "--workers", 1)
    with pytest.raises(EpirError, match=r"(?s)--challenge writes files and needs --out.*--out submission"):
        invoke("score", tmp_path / "s", "--challenge", "2022")
    result = invoke("score", tmp_path / "s", "--challenge", "2022", "--out", tmp_path / "sub")
    assert f"written: {tmp_path / 'sub' / 'samm_pred.csv'}" in result.stdout
    assert (tmp_path / "sub" / "samm_pred.csv").read_text() == (
        "vid,pred_onset,pred_offset,type\n001_1,11,15,me\n001_1,21,41,mae\n002_1,11,15,me\n002_1,21,41,mae\n"
    )
    assert (tmp_path / "sub" / "cas_pred.csv").read_text() == "vid,pred_onset,pred_offset,type\n"
    with pytest.raises(EpirError, match=r"(?s)'2021'"):
        invoke("score", tmp_path / "s", "--challenge", "2021", "--out", tmp_path / "other")


def test_an_unreadable_video_exits_2_with_a_fix(invoke, corpus, tmp_path):
    (corpus / "001_1.mp4").unlink()
    result = invoke("spot", "synthetic", corpus, "--out", tmp_path / "s", "--workers", 1)
    assert result.exit_code == 2 and "1 micro- and 1 macro-expressions in 1 video;" in result.stdout
    problem, fix = result.stderr.strip().splitlines()[-2:]
    assert problem.startswith("synthetic/001/001_1: there is no folder or video") and fix == "fix: check the path"
    assert "1 of 2 videos could not be spotted" in invoke("score", tmp_path / "s").stdout


def test_a_folder_without_a_rate_and_a_broken_file_are_told(invoke, corpus, tmp_path, folder, monkeypatch):
    from epir.recognition import spot
    from epir.recognition.caution import frame_rate_warnings

    class Reading(FakeRecognizer):
        def predict(self, path, *, fps=None, progress=None):
            with open_frames(path, fps) as frames:
                answer = super().predict(path, fps=fps, progress=progress)
                return replace(answer, warnings=tuple(frame_rate_warnings(frames.fps)))

    monkeypatch.setattr(spot, "_recognizer", lambda *_: Reading())
    (tmp_path / "broken.mp4").write_bytes(b"no video")
    result = invoke("spot", folder, tmp_path / "broken.mp4", "--out", tmp_path / "s", "--workers", 1)
    assert result.exit_code == 2 and "in 1 video; 1 spotted now" in result.stdout
    assert "note: smile: the frame rate is unknown: 100 frames a second assumed (set it with --fps)" in result.stderr
    assert f"videos/broken/broken: {tmp_path / 'broken.mp4'} cannot be opened as a video" in result.stderr
    known = invoke("spot", folder, "--fps", 60, "--out", tmp_path / "t", "--workers", 1)
    assert known.exit_code == 0 and "unknown" not in known.stderr


@pytest.mark.slow
def test_from_synthetic_videos_to_the_table(invoke, tmp_path):
    film = ["--people", 2, "--seconds", 5, "--size", 160, "--fps", 25]
    written = json.loads(invoke("synth", tmp_path / "c", "--long", *film, "--json").stdout)
    assert written["videos"] == 2 and written["frames"] == 250 and written["micro"] >= 1
    spotted = invoke("spot", "synthetic", tmp_path / "c", "--out", tmp_path / "s", "--workers", 1)
    assert spotted.exit_code == 0, spotted.output
    values = json.loads(invoke("score", tmp_path / "s", "--json").stdout)["pooled"]
    assert values["all"]["labels"] == written["micro"] + written["macro"]
    assert values["people"] == 2
