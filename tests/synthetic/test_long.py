from itertools import pairwise

import numpy as np
import pytest

from epir.core.errors import ConfigError, EpirError
from epir.datasets.registry import load_long_videos
from epir.frames.reader import open_frames
from epir.synthetic.long import LongSettings, plan_video, spans_above, video_names, write_long_videos

TINY = LongSettings(people=1, videos=2, seconds=6.0, size=96, fps=8.0)


@pytest.mark.parametrize("seed", range(4))
def test_expressions_have_the_length_of_their_kind_and_a_rest_between(seed):
    settings = LongSettings(seconds=60.0, seed=seed)
    plan = plan_video(settings, "003", "003_1")
    assert {each.kind for each in plan.intervals} == {"micro", "macro"}
    for each in plan.intervals:
        seconds = (each.offset - each.onset) / settings.fps
        assert 0 < seconds <= 0.5 if each.kind == "micro" else 0.5 < seconds <= 4
        assert each.onset < each.apex < each.offset
        assert each.emotion in ("negative", "positive", "surprise")
    busy = sorted([(each.onset - 1, each.offset - 1) for each in plan.intervals] + list(plan.speech))
    assert all(after[0] - before[1] >= 0.85 * settings.fps for before, after in pairwise(busy))
    assert busy[-1][1] < len(plan.scene.seconds) and plan.speech and plan.blinks


def test_the_skin_moves_within_the_annotated_frames_and_within_speech_only():
    settings = LongSettings(seconds=40.0)
    plan = plan_video(settings, "001", "001_1")
    shown = plan.scene.amounts
    count = len(plan.intervals)
    first = next(
        place
        for place in range(len(shown))
        if np.flatnonzero(shown[place]).min() >= plan.intervals[0].onset - 1
        and np.flatnonzero(shown[place]).max() <= plan.intervals[0].offset - 1
    )
    for each, amounts in zip(plan.intervals, shown[first : first + count], strict=True):
        places = np.flatnonzero(amounts) + 1  # frames are counted from 1
        assert each.onset < places.min() and places.max() < each.offset
        assert amounts[each.apex - 1] == pytest.approx(amounts.max())
    speaking = np.zeros(len(plan.scene.seconds), bool)
    for begin, end in plan.speech:
        speaking[begin : end + 1] = True
    for amounts in shown[first + count :]:
        assert not amounts[~speaking].any()


def test_a_video_depends_on_the_seed_and_its_own_name():
    one, again = (plan_video(LongSettings(people=count), "002", "002_1") for count in (2, 9))
    assert one.intervals == again.intervals
    assert one.intervals != plan_video(LongSettings(seed=1), "002", "002_1").intervals
    assert list(video_names(LongSettings(people=2, videos=2))) == [
        ("001", "001_1"),
        ("001", "001_2"),
        ("002", "002_1"),
        ("002", "002_2"),
    ]


def test_real_video_files_and_the_same_bytes_with_any_number_of_workers(tmp_path, bytes_in):
    written = write_long_videos(tmp_path / "one", TINY)
    assert (written.people, written.videos, written.frames) == (1, 2, 96)
    write_long_videos(tmp_path / "two", TINY, workers=2)
    assert bytes_in(tmp_path / "one") == bytes_in(tmp_path / "two")
    videos = load_long_videos("synthetic", tmp_path / "one")
    assert [video.key for video in videos] == ["synthetic/001/001_1", "synthetic/001/001_2"]
    assert tuple(each for video in videos for each in video.intervals) == written.intervals
    with open_frames(videos[0].path) as frames:
        assert len(frames) == videos[0].frames == 48 and frames.fps == 8
        assert frames.read(0).shape == (96, 96, 3)
    lines = (tmp_path / "one" / "behaviour.csv").read_text().splitlines()
    assert lines[0] == "subject,video,behaviour,first,last" and len(lines) > 1


def test_existing_files_are_not_replaced(tmp_path):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("mine")
    for force in (False, True):
        with pytest.raises(EpirError, match=r"exists"):
            write_long_videos(tmp_path / "home", TINY, force=force)
    assert (tmp_path / "home" / "thesis.tex").read_text() == "mine"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"people": 0}, "--people must be at least 1, not 0\n  fix: give --people 1 or more"),
        ({"videos": 0}, "--videos must be at least 1, not 0"),
        ({"seconds": 2}, "a video cannot last 2 seconds\n  fix: give --seconds from 5 to 3600"),
        ({"size": 97}, "a frame cannot be 97 px wide\n  fix: give --size, an even number"),
        ({"fps": 3}, "at 3 frames a second a micro-expression has no frame"),
    ],
)
def test_errors_say_how_to_fix_them(changes, words):
    with pytest.raises(ConfigError) as error:
        LongSettings(**changes)
    assert words in str(error.value)


def test_spans_reach_to_both_ends():
    assert spans_above(np.ones(3), 0.5) == [(0, 2)]
    assert spans_above(np.zeros(3), 0.5) == []
