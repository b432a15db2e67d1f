"""The picture for frame n is frame n: its number is drawn into its pixels, sixteen squares that are black or white."""

import random

import numpy as np
import pytest

from epir.core.errors import FrameError
from epir.frames.seeking import SeekableVideo, list_frames
from epir.frames.video import VideoFrames

COUNT = 260


UNEVEN = np.cumsum(np.random.default_rng(0).choice([10, 20, 25, 90], COUNT)).tolist()
B_FRAMES = {"x264-params": "bframes=3:b-adapt=0:open-gop=1:scenecut=0", "crf": "20"}
VIDEOS = {
    "b-frames.mp4": ("libx264", B_FRAMES, {}),
    "b-frames.mkv": ("libx264", B_FRAMES, {}),
    "stream.ts": ("libx264", B_FRAMES, {}),
    "uneven.mp4": ("libx264", B_FRAMES, {"times": UNEVEN}),
    "uneven.mkv": ("libx264", B_FRAMES, {"times": UNEVEN}),
    "one-key-frame.mp4": ("libx264", {"x264-params": "bframes=2:scenecut=0"}, {"gop": 10_000}),
    "browser.webm": ("libvpx", {"crf": "10", "b": "2M", "deadline": "realtime", "cpu-used": "-4"}, {}),
    "old.avi": ("mpeg4", {"bf": "2", "qscale": "3"}, {}),
    "pictures.avi": ("mjpeg", {"qscale": "3"}, {}),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("coded")


@pytest.mark.parametrize("name", VIDEOS)
def test_every_frame_is_the_one_that_was_asked_for(name, folder, numbered):
    codec, options, more = VIDEOS[name]
    path = numbered.write(folder / name, codec, options, **more)
    with VideoFrames(path) as frames:
        forwards = [numbered.read(frame.pixels) for frame in frames]
    order = random.Random(0).sample(range(len(forwards)), 40)
    order += [5, 6, 7, 6, 5, 4, 100, 99, 98, 97, 139, 140, 141, 0, len(forwards) - 1]
    video = SeekableVideo(path, frames=len(forwards), cache=8 * numbered.frame(0).nbytes)
    assert [numbered.read(video.read(number)) for number in order] == [forwards[number] for number in order]
    assert forwards == list(range(COUNT))
    for number in (-1, len(forwards)):
        with pytest.raises(FrameError, match="has no frame"):
            video.read(number)
    video.close()


def test_a_frame_is_reached_from_the_key_frame_before_it(folder, monkeypatch, numbered):
    path = numbered.write(folder / "short.mp4", *VIDEOS["b-frames.mp4"][:2])
    video = SeekableVideo(path)
    assert video.is_listed and len(list_frames(path)[1]) >= COUNT // 40
    decoded = []
    keep = video._keep
    monkeypatch.setattr(video, "_keep", lambda number, pixels: (decoded.append(number), keep(number, pixels)))
    video.read(230)
    assert min(decoded) >= 230 - 2 * 40 and max(decoded) == 230


def test_another_count_of_frames_leads_to_reading_forwards(folder, numbered):
    path = numbered.write(folder / "counted.mp4", *VIDEOS["b-frames.mp4"][:2], count=60)
    video = SeekableVideo(path, frames=59)
    assert not video.is_listed
    assert [numbered.read(video.read(number)) for number in (30, 3, 59, 58)] == [30, 3, 59, 58]


def test_frames_are_turned_as_asked(folder, numbered):
    path = numbered.write(folder / "turned.mp4", *VIDEOS["b-frames.mp4"][:2], count=30)
    assert numbered.read(np.rot90(SeekableVideo(path, turns=1).read(13), -1)) == 13
