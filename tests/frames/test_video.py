import struct
import subprocess
import sys
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import av
import numpy as np
import pytest

from epir.core.errors import FrameError
from epir.frames.video import VideoFrames, announced_end, count_frames

KINDS = [
    ("a.mp4", "mpeg4"),
    ("b.mp4", "libx264"),
    ("a.mov", "libx264"),
    ("a.mkv", "libx264"),
    ("a.avi", "mjpeg"),
    ("b.avi", "mpeg4"),
    ("a.wmv", "wmv2"),
    ("a.webm", "libvpx"),
]


@pytest.mark.parametrize(("name", "codec"), KINDS)
def test_every_frame_has_its_own_index_and_time(write_video, number_in, name, codec):
    with VideoFrames(write_video(name, codec, fps=50)) as frames:
        seen = [(frame.number, number_in(frame.pixels), round(frame.seconds, 3)) for frame in frames]
        assert seen == [(n, n, pytest.approx(n / 50, abs=0.002)) for n in range(120)]
        assert frames.numbers == tuple(range(120))
        assert frames.fps == pytest.approx(50.0)
        assert frames.notes == []


@pytest.mark.parametrize(("name", "codec"), [("a.mpg", "mpeg2video"), ("a.ts", "libx264"), ("a.gif", "gif")])
def test_other_containers_are_read_to_their_end(write_video, number_in, name, codec):
    with VideoFrames(write_video(name, codec, count=40, fps=25)) as frames:
        seen = [(frame.number, number_in(frame.pixels), frame.seconds) for frame in frames]
    assert [(number, shown) for number, shown, _ in seen] == [(n, n) for n in range(40)]
    assert np.diff([seconds for _, _, seconds in seen]) == pytest.approx(0.04, abs=0.002)


@pytest.mark.parametrize(("name", "codec"), KINDS[::3])
def test_frames_can_be_read_in_any_order(write_video, number_in, name, codec):
    order = np.random.default_rng(0).permutation(120)[:25]
    with VideoFrames(write_video(name, codec)) as frames:
        assert [number_in(frames.read(int(number))) for number in order] == list(order)
        assert [number_in(frame.pixels) for frame in frames.between(30, 34)] == [30, 31, 32, 33, 34]
        assert [frame.number for frame in frames.between(118, 500)] == [118, 119]
        assert list(frames.between(5, 4)) == []


def test_uneven_times_are_those_of_the_file(write_video):
    times = np.cumsum([0, 33, 33, 34, 66, 33, 100, 33, 17, 16]).tolist()
    with VideoFrames(write_video("a.mkv", "libx264", count=10, fps=30, times=times)) as frames:
        assert [round(1000 * frame.seconds) for frame in frames] == times
    with VideoFrames(frames.path, fps=200) as frames:  # a given rate replaces the times
        assert frames.fps == 200
        assert [frame.seconds for frame in frames] == pytest.approx(np.arange(10) / 200)


def test_a_recording_of_a_browser_needs_no_count_and_no_duration(write_video, number_in):
    path = write_video("a.webm", "libvpx", count=40, fps=30, times=[33 * n for n in range(40)], live="1")
    with av.open(str(path)) as container:
        assert not container.duration
        assert not container.streams.video[0].frames
    with VideoFrames(path) as frames:
        assert frames.announced is None
        assert [number_in(frame.pixels) for frame in frames] == list(range(40))
        assert (len(frames), frames.notes) == (40, [])


def trimmed(path, first):
    """A copy without encoding that begins at packet `first`: its edit list hides what lies before."""
    out = path.with_name(f"trimmed{path.suffix}")
    with av.open(str(path)) as source, av.open(str(out), "w") as target:
        stream = source.streams.video[0]
        copy = target.add_stream_from_template(stream)
        start = None
        for packet in source.demux(stream):
            if packet.dts is None:
                continue
            start = packet.time_base * 0 + first / stream.average_rate if start is None else start
            shift = round(start / packet.time_base)
            packet.pts, packet.dts = packet.pts - shift, packet.dts - shift
            packet.stream = copy
            target.mux(packet)
    return out


def test_a_trimmed_copy_begins_where_it_is_shown(write_video, number_in):
    path = trimmed(write_video("a.mp4", "libx264", count=60, fps=50, options={"bf": "0"}), 5)
    with av.open(str(path)) as container:
        announced = container.streams.video[0].frames
    with VideoFrames(path) as frames:
        seen = [(number_in(frame.pixels), round(frame.seconds, 3)) for frame in frames]
        assert seen == [(n, pytest.approx((n - 5) / 50, abs=0.002)) for n in range(5, 60)]
        assert announced == 60
        assert (len(frames), frames.notes) == (55, [])


def test_a_copy_that_begins_between_key_frames_gives_what_can_be_decoded(write_video):
    path = write_video("a.ts", "libx264", count=60, fps=50)
    content = path.read_bytes()
    path.write_bytes(content[188 * (len(content) // 188 // 2) :])
    with VideoFrames(path) as frames:
        seen = list(frames)
    assert 5 < len(seen) < 60
    assert [frame.number for frame in seen] == list(range(len(seen)))
    assert all(frame.seconds >= 0 for frame in seen)


@pytest.mark.parametrize(("turn", "corner"), [(90, (0, -1)), (180, (-1, -1)), (-90, (-1, 0))])
def test_a_rotated_video_is_shown_upright(write_video, turn, corner):
    """Frame 1 has its bright stripe on the left: after the turn it lies where the player shows it."""
    upright = VideoFrames(write_video("a.mp4", "libx264", count=2, fps=30)).read(1)
    turned = VideoFrames(write_video("b.mp4", "libx264", count=2, fps=30, rotation=turn)).read(1)
    assert turned.shape[:2] == (upright.shape[:2] if turn == 180 else upright.shape[1::-1])
    assert (turned == np.rot90(upright, turn // 90)).all()


def test_frames_are_red_green_blue(tmp_path):
    path = tmp_path / "red.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", 30)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        picture = av.VideoFrame.from_ndarray(np.full((48, 64, 3), (255, 0, 0), np.uint8), format="rgb24")
        for _ in range(3):
            container.mux(stream.encode(picture))
        container.mux(stream.encode(None))
    frame = VideoFrames(path).read(1)
    assert (frame.shape, frame.dtype) == ((48, 64, 3), np.uint8)
    assert frame[..., 0].min() > 200
    assert frame[..., 2].max() < 60


def test_an_index_past_the_end_tells_the_range(write_video):
    with VideoFrames(write_video("a.mp4", count=10)) as frames:
        for number in (10, 500, -1):
            with pytest.raises(FrameError, match=rf"a.mp4 has no frame {number}: it holds frames 0 to 9\n"):
                frames.read(number)


@pytest.mark.parametrize(("name", "codec"), [("a.avi", "mjpeg"), ("a.mkv", "libx264"), ("a.mp4", "libx264")])
def test_a_file_that_ends_early_gives_what_it_holds_and_says_where(write_video, number_in, name, codec):
    path = write_video(name, codec, fps=50, movflags="faststart")
    content = path.read_bytes()
    path.write_bytes(content[: len(content) * 2 // 3])
    with VideoFrames(path) as frames:
        seen = [frame for frame in frames]
    whole = [number_in(frame.pixels) for frame in seen[:-1]]
    assert whole == list(range(len(whole)))
    assert 20 < len(seen) < 119
    last = seen[-1]
    assert any(
        note
        == f"the file ends early, after frame {last.number} ({last.seconds:.2f} s): the frames up to there were used"
        for note in frames.notes
    )
    assert count_frames(path) == len(seen)


def test_a_damaged_part_is_passed_over_and_noted(write_video, number_in):
    path = write_video("a.mov", "png", count=40, fps=50)
    content = bytearray(path.read_bytes())
    start = content.find(b"\x89PNG", len(content) // 2)
    content[start : start + 24] = bytes(24)
    path.write_bytes(content)
    with VideoFrames(path) as frames:
        seen = [number_in(frame.pixels) for frame in frames]
        assert len(seen) == 39
        assert seen == sorted(set(seen))
        assert frames.notes == ["the file is damaged: 1 part could not be decoded and was skipped"]


@pytest.mark.parametrize(
    "content", [b"", b"hello " * 200, b"#EXTM3U\n#EXTINF:1,\nother.mp4\n", b"ffconcat version 1.0\n"]
)
def test_what_is_no_video_is_refused(tmp_path, content):
    path = tmp_path / "b.mp4"
    path.write_bytes(content)
    with pytest.raises(FrameError, match=r"b.mp4 cannot be opened as a video: .*codec is missing\n  fix: .*convert"):
        VideoFrames(path)


def test_sound_alone_is_refused(tmp_path):
    path = tmp_path / "a.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("pcm_s16le", 8000)
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 800), np.int16), format="s16", layout="mono")
        frame.rate = 8000
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with pytest.raises(FrameError, match=r"a.mkv has no video stream\n  fix: "):
        VideoFrames(path)


def test_an_mp4_without_its_index_is_refused_in_two_lines_and_no_more(write_video):
    path = write_video("a.mp4", "mpeg4")
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


def test_names_with_odd_characters_are_files(write_video):
    path = write_video("a.mp4", count=3)
    odd = path.rename(path.with_name("http:50% ä?.mp4"))
    assert len(VideoFrames(Path(odd))) == 3


def test_a_long_video_needs_no_more_memory_than_a_short_one(write_video):
    peaks = []
    for count in (20, 200):
        tracemalloc.start()
        with VideoFrames(write_video(f"{count}.avi", "mjpeg", count=count)) as frames:
            for _ in frames:
                pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 5 * 128 * 96 * 3


@pytest.mark.parametrize("count", [10**8, 2**31, 2**32 - 1])
def test_an_avi_that_announces_too_many_frames_is_read_to_its_real_end(write_video, count):
    path = write_video("lie.avi", codec="mjpeg", count=20)
    content = bytearray(path.read_bytes())
    struct.pack_into("<I", content, content.find(b"avih") + 24, count)
    struct.pack_into("<I", content, content.find(b"strh") + 40, count)
    path.write_bytes(content)
    with VideoFrames(path) as frames:
        assert frames.announced is None and len(frames) == 20
        assert sum(1 for _ in frames) == 20
        assert frames.notes == ["the file ends early, after frame 19 (0.10 s): the frames up to there were used"]


@pytest.mark.parametrize(
    ("name", "codec"), [("a.avi", "mpeg4"), ("a.avi", "mjpeg"), ("a.mp4", "libx264"), ("a.mp4", "libvpx-vp9")]
)
def test_frames_that_were_concealed_are_told_with_their_times_and_never_key_frames(tmp_path, name, codec):
    path = film_of(tmp_path / name, codec)
    with VideoFrames(path) as frames:
        right = [frame.pixels.astype(int) for frame in frames]
        assert frames.notes == [] and len(right) == 40
    with av.open(str(path)) as container:
        hit = [each for each in container.demux(video=0) if each.size][20]
    content = bytearray(path.read_bytes())
    middle = slice(hit.pos + hit.size // 2, hit.pos + hit.size // 2 + 80)
    content[middle] = np.random.default_rng(0).bytes(80)
    path.write_bytes(content)
    with VideoFrames(path) as frames:
        wrong = [f.number for f in frames if (np.abs(f.pixels - right[f.number]).max(2) > 10).mean() > 0.1]
        (note,), told = frames.notes, list(frames.damaged)
        assert note.startswith("the file is damaged: part of the picture may be wrong ") and " s (frame" in note
        assert wrong and all(any(part.first <= number <= part.last for part in told) for number in wrong)
        assert sum(part.last - part.first + 1 for part in told) <= 16, "until the next whole picture, not to the end"
        with pytest.raises(FrameError, match=r"frame \d+ of .* is damaged.*\n  fix: copy the video again"):
            frames.read(told[0].first)
        frames.read(told[0].first - 1)


def film_of(path, codec):
    """A moving head in 40 frames, with a whole picture every 12."""
    from skimage.data import astronaut

    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, 50, options={"cpu-used": "8"} if codec == "libvpx-vp9" else {})
        stream.width, stream.height, stream.codec_context.gop_size = 256, 256, 12
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        stream.codec_context.bit_rate, stream.codec_context.thread_count = 4_000_000, 1
        for number in range(40):
            pixels = np.ascontiguousarray(np.roll(astronaut()[:256, :256], number, axis=1))
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode(None))
    return path


def test_frames_after_a_lost_one_are_not_counted_as_if_nothing_was_lost(tmp_path):
    path = film_of(tmp_path / "a.avi", "mjpeg")
    with av.open(str(path)) as container:
        hit = [each for each in container.demux(video=0) if each.size][20]
    content = bytearray(path.read_bytes())
    content[hit.pos + 8 : hit.pos + hit.size] = bytes(hit.size - 8)
    path.write_bytes(content)
    with VideoFrames(path) as frames:
        assert len(frames) == 39
        frames.read(19)
        with pytest.raises(FrameError, match=r"frame 30 of .* cannot be identified: a part before it could not be"):
            frames.read(30)


@pytest.mark.parametrize("told", ["00:00:xx.5", "a:b:c", "00:00:nan", "::", "00:00:01.000000000"])
def test_a_duration_tag_that_is_no_time_says_nothing(told):
    container = SimpleNamespace(
        format=SimpleNamespace(name="matroska,webm"), streams=[1], duration=2_000_000, start_time=0
    )
    end = announced_end(container, SimpleNamespace(metadata={"DURATION": told}))
    assert end == (1.0 if told[-1] == "0" else 2.0)
