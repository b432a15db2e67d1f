"""`spot_videos` and its folder: finished videos, resuming, and how frames are counted."""

import csv
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from fake_spotting import FakeRecognizer, movement

from epir.core.engines import Engine, Silent
from epir.core.errors import EpirError, EpirWarning
from epir.datasets.intervals import Interval, LongVideo, read_intervals, write_intervals
from epir.frames.reader import open_frames
from epir.recognition import spot as spot_file
from epir.recognition.answer import Person
from epir.recognition.spot import find_videos, spot_videos
from epir.spotting.megc.spotted import check_distinct, read_failed, read_record, read_spotted, record_path, to_submit
from epir.spotting.timeline import MACRO


@pytest.fixture
def fake(monkeypatch):
    recognizer = FakeRecognizer()
    monkeypatch.setattr(spot_file, "_recognizer", lambda *_: recognizer)
    monkeypatch.setattr(spot_file, "model_digest", lambda _: "0" * 64)
    return recognizer


class Counted(Silent):
    """Progress that is counted."""

    def __init__(self):
        self.tasks, self.done = [], 0

    def start(self, task, total):
        self.tasks.append(task)

    def advance(self, steps=1, note=""):
        self.done += steps


def corpus_of(folder, names=("a", "b"), labels=((11, 15), (21, 41)), first=1):
    """Annotated videos: empty files."""
    folder.mkdir(exist_ok=True)
    videos = []
    for name in names:
        path = folder / f"{name}.mp4"
        path.write_bytes(b"")
        micro, macro = labels
        intervals = (
            Interval(name, "s1", "micro", *_with_apex(micro), "surprise"),
            Interval(name, "s1", "macro", *_with_apex(macro)),
        )
        videos.append(LongVideo("synthetic", "s1", name, path, 10.0, 50, intervals, first=first))
    return videos


def _with_apex(pair):
    return pair[0], None, pair[1]


def test_every_video_gets_a_file_and_all_intervals_one_list(tmp_path, fake):
    videos, progress = corpus_of(tmp_path / "c", ("a", "quiet")), Counted()
    result = spot_videos(videos, tmp_path / "s", workers=1, progress=progress)
    assert (result.videos, result.spotted, result.failed) == (2, 2, ())
    assert progress.tasks == ["1 of 2, a: spotting", "2 of 2, quiet: spotting"] and progress.done == 100
    record = read_record(tmp_path / "s", "synthetic/s1/a")
    micro, macro = record.intervals
    assert (micro.onset, micro.apex, micro.offset) == (11, 13, 15)  # frame 0 of a file is frame 1 of the corpus
    assert (micro.emotion, micro.score, micro.probability, micro.strength) == ("surprise", 0.5, 0.9, 1.0)
    assert (macro.kind, macro.onset, macro.offset, macro.emotion, macro.probability) == ("macro", 21, 41, "", None)
    assert (micro.onset_s, micro.apex_s, micro.offset_s) == (1.0, 1.2, 1.4) and record.warnings == ("dark",)
    with (tmp_path / "s" / "intervals.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["video"], row["kind"], row["onset"]) for row in rows] == [
        ("a", "micro", "11"),
        ("a", "macro", "21"),
        ("quiet", "", ""),
    ]
    again = read_intervals(tmp_path / "s" / "intervals.csv")  # it can be read as an annotation
    assert [len(video.intervals) for video in again] == [2, 0]


def test_everyone_counts_even_without_micro_expressions_or_at_the_same_time(tmp_path, fake, monkeypatch):
    predict = fake.predict

    def with_two_others(path, **options):
        answer = predict(path, **options)
        moved = replace(answer.timeline.movements[0], track=1, probability=0.3, strength=0.02)
        same_time = replace(answer.timeline, movements=(moved,), others=())
        lasting = replace(answer.timeline, movements=(), others=(movement(3, 8, 30, MACRO),))
        people = (Person(0, answer.timeline), Person(1, same_time), Person(2, lasting))
        answers = (replace(answer, track=0), replace(answer, track=1, timeline=same_time))
        return replace(answer, track=0, all=answers, people=people)

    monkeypatch.setattr(fake, "predict", with_two_others)
    spot_videos(corpus_of(tmp_path / "c", ("a",)), tmp_path / "s", workers=1)
    intervals = read_record(tmp_path / "s", "synthetic/s1/a").intervals
    assert [(each.kind, each.onset) for each in intervals] == [("macro", 4), *[("micro", 11)] * 2, ("macro", 21)]
    assert [(each.probability, each.strength) for each in intervals[1:3]] == [(0.9, 1.0), (0.3, 2.0)]


def test_folders_keep_the_numbers_and_the_rate_of_the_corpus(tmp_path, fake):
    folder = tmp_path / "frames"
    folder.mkdir()
    video = LongVideo("samm-lv", "006", "006_1", folder, 200.0, 50, (), first=1)
    spot_videos([video], tmp_path / "s", workers=1)
    assert read_record(tmp_path / "s", video.key).intervals[0].onset == 10
    assert fake.rates == [200.0]
    spot_videos(corpus_of(tmp_path / "c"), tmp_path / "t", workers=1)
    assert fake.rates[1:] == [None, None]  # a file says its times itself


def test_a_second_call_spots_what_is_missing_and_nothing_else(tmp_path, fake):
    videos = corpus_of(tmp_path / "c", ("a", "b", "c"))
    spot_videos(videos[:1], tmp_path / "s", workers=1)
    before = record_path(tmp_path / "s", videos[0].key).stat().st_mtime_ns
    result = spot_videos(videos, tmp_path / "s", workers=1)
    assert (result.videos, result.spotted) == (3, 2) and fake.seen == ["a.mp4", "b.mp4", "c.mp4"]
    assert record_path(tmp_path / "s", videos[0].key).stat().st_mtime_ns == before
    moved = replace(videos[0], path=corpus_of(tmp_path / "d", ("a",))[0].path)
    spot_videos([moved], tmp_path / "s", workers=1)  # the same name, another file
    assert fake.seen[3:] == ["a.mp4"]
    assert len(read_spotted(tmp_path / "s")[0]) == 3


def test_a_video_that_changed_or_whose_record_was_edited_is_spotted_again(tmp_path, fake):
    videos = corpus_of(tmp_path / "c")
    spot_videos(videos, tmp_path / "s", workers=1)
    videos[1].path.write_bytes(b"other frames")
    with pytest.warns(EpirWarning, match=r"^synthetic/s1/b has changed since: spotted again$"):
        assert spot_videos(videos, tmp_path / "s", workers=1).spotted == 1
    record = record_path(tmp_path / "s", videos[0].key)
    record.write_text(record.read_text().replace('"onset": 11', '"onset": 12'))
    with pytest.raises(EpirError, match=r"(?s)the entry of synthetic/s1/a was edited by hand.*to resume"):
        read_spotted(tmp_path / "s")
    with pytest.warns(EpirWarning, match="the entry of synthetic/s1/a was edited by hand: left out"):
        spot_videos(videos[1:], tmp_path / "s", workers=1)
    with pytest.raises(EpirError, match="1 of 2 videos done"):
        read_spotted(tmp_path / "s")
    assert spot_videos(videos, tmp_path / "s", workers=1).spotted == 1
    assert read_record(tmp_path / "s", videos[0].key).intervals[0].onset == 11
    videos[0].path.unlink()  # what replaced it cannot be read: the old record must not stand for it
    with pytest.warns(EpirWarning, match="has changed since"):
        assert len(spot_videos(videos, tmp_path / "s", workers=1).failed) == 1
    assert [len(video.predictions) for video in read_spotted(tmp_path / "s")[0]] == [0, 2]


def test_a_failed_video_spares_the_others_counts_as_empty_and_is_retried(tmp_path, fake):
    videos = corpus_of(tmp_path / "c")
    videos[0].path.unlink()
    result = spot_videos(videos, tmp_path / "s", workers=1)
    assert [each.key for each in result.failed] == ["synthetic/s1/a"] and result.spotted == 1
    assert "there is no folder or video" in read_failed(tmp_path / "s")[0].problem
    scored, words = read_spotted(tmp_path / "s")
    assert [len(video.predictions) for video in scored] == [0, 2] and "1 of 2 videos" in words[0]
    corpus_of(tmp_path / "c")
    assert spot_videos(videos, tmp_path / "s", workers=1).failed == ()
    assert read_failed(tmp_path / "s") == () and read_spotted(tmp_path / "s")[1] == []


def test_workers_write_the_same_files(tmp_path, fake, bytes_in, monkeypatch):
    videos = corpus_of(tmp_path / "c", tuple("abcd"))

    def run_here(engine, work, jobs, *shared, files):
        assert engine.workers == 2 and [path for job in jobs for path in files(job)] == [each.path for each in videos]
        return (work(job, *shared) for job in reversed(jobs))  # workers finish in any order

    monkeypatch.setattr(Engine, "run", run_here)
    progress = Counted()
    spot_videos(videos, tmp_path / "two", workers=2, progress=progress)
    spot_videos(videos, tmp_path / "one", workers=1)
    assert progress.tasks == ["spotting videos"] and progress.done == 4
    assert bytes_in(tmp_path / "two") == bytes_in(tmp_path / "one")


def test_other_settings_and_other_folders_are_refused(tmp_path, fake):
    videos = corpus_of(tmp_path / "c")
    spot_videos(videos, tmp_path / "s", workers=1)
    with pytest.raises(EpirError, match=r"(?s)other settings \(sensitivity: normal -> high\).*--force"):
        spot_videos(videos, tmp_path / "s", sensitivity="high", workers=1)
    assert spot_videos(videos, tmp_path / "s", sensitivity="high", workers=1, force=True).spotted == 2
    with pytest.raises(EpirError, match=r"(?s)'hgh'.*high"):
        spot_videos(videos, tmp_path / "t", sensitivity="hgh", workers=1)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").write_text("protocol = 'cde'\nmodel = {}\ntraining = {}\n")
    for force in (False, True):
        with pytest.raises(EpirError, match="is a run, not a folder of spotted videos"):
            spot_videos(videos, tmp_path / "run", workers=1, force=force)
    assert (tmp_path / "run" / "config.toml").exists()


def test_folders_that_cannot_be_scored_say_why(tmp_path, fake):
    with pytest.raises(EpirError, match=r"(?s)holds no spotted videos.*epir spot"):
        read_spotted(tmp_path / "nothing")
    bare = [replace(video, intervals=()) for video in corpus_of(tmp_path / "c")]
    spot_videos(bare, tmp_path / "s", workers=1)
    with pytest.raises(EpirError, match=r"(?s)no annotation to compare with.*--annotation"):
        read_spotted(tmp_path / "s")
    write_intervals(tmp_path / "own.csv", corpus_of(tmp_path / "c"))
    videos, _ = read_spotted(tmp_path / "s", tmp_path / "own.csv")
    assert [len(video.labels) for video in videos] == [2, 2]
    named = [replace(video, corpus="lab", subject="anna", first=0) for video in corpus_of(tmp_path / "c")]
    write_intervals(tmp_path / "named.csv", named)  # of a lab that counts frames from 0
    again, _ = read_spotted(tmp_path / "s", tmp_path / "named.csv")
    assert {(video.corpus, video.subject) for video in again} == {("lab", "anna")}
    pairs = [zip(*(each.predictions for each in both), strict=True) for both in zip(again, videos, strict=True)]
    assert {one.onset - other.onset for both in pairs for one, other in both} == {-1}
    write_intervals(tmp_path / "other.csv", corpus_of(tmp_path / "c", ("z",)))
    with pytest.raises(EpirError, match=r"(?s)no video in common.*for example a"):
        read_spotted(tmp_path / "s", tmp_path / "other.csv")
    with pytest.raises(EpirError, match="give each video once"):
        check_distinct([tmp_path / "s", tmp_path / "s" / ".." / "s"])
    record_path(tmp_path / "s", bare[0].key).write_text("{")
    with pytest.raises(EpirError, match=r"(?s)is damaged\n.*run the same command to resume"):
        read_spotted(tmp_path / "s", tmp_path / "own.csv")
    record_path(tmp_path / "s", bare[0].key).unlink()
    with pytest.raises(EpirError, match=r"(?s)not finished: 1 of 2 videos done.*to resume"):
        read_spotted(tmp_path / "s", tmp_path / "own.csv")


def test_submissions_always_count_frames_from_1(tmp_path, fake):
    videos = [replace(each, corpus="casme3-lv", subject="dzw") for each in corpus_of(tmp_path / "c", ("a1",), first=0)]
    spot_videos(videos, tmp_path / "s", workers=1)
    micro, macro = to_submit(tmp_path / "s")
    assert (micro.corpus, micro.vid, micro.onset, micro.offset, micro.emotion) == ("cas", "dzw_a1", 11, 15, "surprise")
    assert (macro.kind, macro.onset, macro.offset) == ("macro", 21, 41)


def test_inputs_are_a_corpus_or_videos(tmp_path, head):
    from epir.frames.film import write_film

    for place in ("x", "y"):
        (tmp_path / place).mkdir()
        write_film(tmp_path / place / "004_3.mp4", [head] * 3, 50)
    videos = find_videos([str(tmp_path / "*" / "*.mp4")])
    assert [video.name for video in videos] == ["004_3", "004_3-2"]
    assert {(video.corpus, video.fps, video.intervals) for video in videos} == {("videos", 50.0, ())}
    write_intervals(tmp_path / "intervals.csv", corpus_of(tmp_path / "c"))
    assert [video.name for video in find_videos(["synthetic", str(tmp_path)])] == ["a", "b"]
    with pytest.raises(EpirError, match=r"(?s)is a corpus and needs one folder.*epir spot synthetic"):
        find_videos(["synthetic"])
    with pytest.raises(EpirError, match=r"(?s)no folder or video casme-s.*corpora of long videos are:.*synthetic"):
        find_videos(["casme-s", str(tmp_path)])
    with pytest.raises(EpirError, match=r"there is no folder or video .*\*\.avi"):
        find_videos([str(tmp_path / "*.avi")])


def test_a_file_that_cannot_be_read_spares_the_others(tmp_path, fake, head, monkeypatch):
    from epir.frames.film import write_film

    (tmp_path / "a.mp4").write_bytes(b"no video")
    (tmp_path / "empty").mkdir()
    write_film(tmp_path / "b.mp4", [head] * 3, 50)
    videos = find_videos([str(tmp_path / name) for name in ("a.mp4", "empty", "b.mp4")])
    assert [(video.name, video.frames) for video in videos] == [("a", None), ("empty", None), ("b", None)]
    predict = fake.predict

    def reading(path, **options):
        if path.name == "empty":
            raise PermissionError(13, "Permission denied", str(path))
        with open_frames(path):
            return predict(path, **options)

    monkeypatch.setattr(fake, "predict", reading)
    assert spot_videos(videos, tmp_path / "s", workers=1).spotted == 1
    failed = {each.video: each.problem for each in read_failed(tmp_path / "s")}
    assert set(failed) == {"a", "empty"} and "cannot be opened as a video" in failed["a"]
    assert len(read_record(tmp_path / "s", "videos/b/b").intervals) == 2


def test_the_rate_of_a_folder_is_unknown_unless_the_corpus_or_the_user_gives_it(tmp_path, fake, folder):
    videos = find_videos([str(folder)])
    assert [(video.name, video.fps, video.first) for video in videos] == [("smile", 100.0, 101)]
    spot_videos(videos, tmp_path / "s", workers=1)
    spot_videos(find_videos([str(folder)], 60), tmp_path / "t", fps=60, workers=1)
    spot_videos([replace(videos[0], corpus="samm-lv")], tmp_path / "u", workers=1)
    assert fake.rates == [None, 60, 100.0]


def test_another_video_of_a_known_name_is_refused(tmp_path, fake, head):
    from epir.frames.film import write_film

    for place in ("p1", "p2"):
        (tmp_path / place).mkdir()
        write_film(tmp_path / place / "my  rec.1.mp4", [head] * 3, 50)
    first, other = (find_videos([str(tmp_path / place / "my  rec.1.mp4")]) for place in ("p1", "p2"))
    spot_videos(first, tmp_path / "s", workers=1)
    before = (tmp_path / "s" / "annotation.csv").read_bytes()
    words = r"(?s)result of another video called my  rec\.1: .*p1.*choose another folder with --out, or rename .*p2"
    with pytest.raises(EpirError, match=words):
        spot_videos(other, tmp_path / "s", workers=1)
    assert (tmp_path / "s" / "annotation.csv").read_bytes() == before
    assert spot_videos(first, tmp_path / "s", workers=1).spotted == 0  # the known one resumes


def test_from_the_release_of_a_corpus_to_scores(tmp_path, fake):
    """CAS(ME)^2 as delivered: a sheet without a header, subjects 1 for s15, one macro-expression without an offset."""
    from openpyxl import Workbook

    from epir.spotting.megc.scores import score_spotting

    book = Workbook()
    book.active.title = "CASFEcode_final"
    for row in (
        (1, "anger1_1", 10, 12, 14, 4, "surprise", "micro-expression", "surprise"),
        (1, "anger1_2", 20, 40, 0, 12, "positive", "macro-expression", "happiness"),
    ):
        book.active.append(row)
    book.save(tmp_path / "CAS(ME)^2code_final.xlsx")
    folder = tmp_path / "rawpic" / "s15" / "15_0401girlcrashing"
    folder.mkdir(parents=True)
    for number in range(1, 51):
        (folder / f"img{number:03d}.jpg").write_bytes(b"jpg")
    videos = find_videos(["casme-sq", str(tmp_path)])
    assert [(video.key, video.fps, video.frames) for video in videos] == [("casme-sq/s15/anger1", 30.0, 50)]
    spot_videos(videos, tmp_path.parent / f"{tmp_path.name}-spotted", workers=1)
    scores = score_spotting(read_spotted(tmp_path.parent / f"{tmp_path.name}-spotted")[0])["corpora"]["casme-sq"]
    assert scores["micro"]["f1"] == scores["macro"]["f1"] == scores["all"]["f1"] == 1
    assert scores["strs"]["strs"] == pytest.approx(1 / 3, abs=1e-6)  # one of three classes occurs, and is right
    assert fake.rates == [30.0]
    (micro, _) = to_submit(tmp_path.parent / f"{tmp_path.name}-spotted")
    assert (micro.corpus, micro.subject, micro.video, micro.onset) == ("cas", "1", "anger1", 10)


KILLED = """
import sys
sys.path.insert(0, {tests!r})
from fake_spotting import FakeRecognizer
from epir.datasets.intervals import read_intervals
from epir.recognition import spot
recognizer = FakeRecognizer(seconds=0.5)
spot._recognizer = lambda *_: recognizer
spot.model_digest = lambda _: "0" * 64
spot.spot_videos(read_intervals({list!r}, corpus="synthetic"), {out!r}, workers=1)
"""


@pytest.mark.slow
def test_results_without_their_settings_are_kept(tmp_path, fake):
    videos = corpus_of(tmp_path / "c")
    spot_videos(videos, tmp_path / "s", workers=1)
    (tmp_path / "s" / "config.toml").unlink()
    with pytest.raises(EpirError, match=r"has results of 2 videos, but its config\.toml is gone\n  fix: put that file"):
        spot_videos(videos, tmp_path / "s", workers=1, sensitivity="high")
    assert len(list((tmp_path / "s" / "videos").glob("*.json"))) == 2
    assert spot_videos(videos, tmp_path / "s", workers=1, force=True).spotted == 2


def test_a_killed_process_is_resumed_from_its_finished_videos(tmp_path, fake):
    videos, out = corpus_of(tmp_path / "c", tuple("abcd")), tmp_path / "s"
    write_intervals(tmp_path / "list.csv", videos)
    code = KILLED.format(tests=str(Path(__file__).parent), list="LIST", out=str(out))
    code = code.replace("'LIST'", f"__import__('pathlib').Path({str(tmp_path / 'list.csv')!r})")
    process = subprocess.Popen([sys.executable, "-c", code], env=os.environ)
    deadline = time.monotonic() + 120
    while not list(out.glob("videos/[!.]*.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = {path.name: path.stat().st_mtime_ns for path in out.glob("videos/[!.]*.json")}
    assert 1 <= len(done) < 4
    (out / "videos" / ".a.json.tmp-half.json").write_text("{")
    with pytest.raises(EpirError, match="is not finished"):
        read_spotted(out)
    assert spot_videos(videos, out, workers=1).spotted == 4 - len(done)
    assert {name: (out / "videos" / name).stat().st_mtime_ns for name in done} == done
    assert not list(out.glob("videos/.*")) and len(read_spotted(out)[0]) == 4
