import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from epir.core.errors import FrameError
from epir.frames.video import VideoFrames, count_frames

KINDS = [("a.mp4", "mp4v"), ("a.mov", "mp4v"), ("a.avi", "MJPG"), ("b.avi", "XVID")]


@pytest.mark.parametrize(("name", "codec"), KINDS)
def test_every_frame_has_its_own_index(write_video, number_in, name, codec):
    with VideoFrames(write_video(name, codec)) as frames:
        assert frames.numbers == tuple(range(120))
        assert frames.fps == pytest.approx(200.0)
        assert [(number, number_in(frame)) for number, frame in frames] == [(n, n) for n in range(120)]


@pytest.mark.parametrize(("name", "codec"), KINDS)
def test_frames_can_be_read_in_any_order(write_video, number_in, name, codec):
    order = np.random.default_rng(0).permutation(120)[:25]
    with VideoFrames(write_video(name, codec)) as frames:
        assert [number_in(frames.read(int(number))) for number in order] == list(order)
        assert [number_in(frame) for _, frame in frames.between(30, 34)] == [30, 31, 32, 33, 34]
        assert [number for number, _ in frames.between(118, 500)] == [118, 119]


def test_frames_are_red_green_blue(tmp_path):
    import cv2

    path = tmp_path / "red.avi"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 30, (64, 48))
    for _ in range(3):
        writer.write(np.full((48, 64, 3), (0, 0, 255), np.uint8))  # OpenCV writes blue first
    writer.release()
    frame = VideoFrames(path).read(1)
    assert frame.shape == (48, 64, 3)
    assert frame.dtype == np.uint8
    assert frame[..., 0].min() > 200
    assert frame[..., 2].max() < 60


def test_an_index_past_the_end_tells_the_range(write_video):
    with VideoFrames(write_video("a.mp4", "mp4v", count=10)) as frames:
        for number in (10, 500, -1):
            with pytest.raises(FrameError, match=rf"a.mp4 has no frame {number}: it holds frames 0 to 9\n"):
                frames.read(number)


def test_a_video_that_is_cut_short_names_file_and_frame(write_video):
    path = write_video("a.avi", "MJPG")
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with VideoFrames(path) as frames:
        frames.read(10)
        with pytest.raises(
            FrameError, match=r"a.avi cannot be read at frame 119: it announces 120 frames, and ends after \d+\n  fix: "
        ):
            frames.read(119)
        assert frames.read(11).any()  # what is there can still be read
    assert 20 < count_frames(path) < 119


@pytest.mark.parametrize("content", [b"", b"hello " * 200])
def test_what_is_no_video_is_refused(tmp_path, content):
    path = tmp_path / "b.mp4"
    path.write_bytes(content)
    with pytest.raises(FrameError, match=r"b.mp4 cannot be opened as a video: .*codec is missing\n  fix: .*convert"):
        VideoFrames(path)


def test_an_mp4_without_its_end_is_refused_in_two_lines_and_no_more(write_video):
    path = write_video("a.mp4", "mp4v")
    path.write_bytes(path.read_bytes()[:5000])
    script = f"""
from epir.frames.video import VideoFrames
from pathlib import Path
try:
    VideoFrames(Path({str(path)!r}))
except Exception as error:
    print(type(error).__name__)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "FrameError"
    assert done.stderr == ""  # the decoder's own chatter is kept off the terminal


def test_a_long_video_needs_no_more_memory_than_a_short_one(write_video):
    peaks = []
    for count in (20, 200):
        tracemalloc.start()
        with VideoFrames(write_video(f"{count}.avi", "MJPG", count=count)) as frames:
            for _ in frames:
                pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 5 * 128 * 96 * 3
