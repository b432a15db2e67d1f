from dataclasses import replace

import cv2
import numpy as np
import pytest

from epir.core.errors import FaceNotFound, FrameError
from epir.core.records import Clip
from epir.faces.align import Crop
from epir.flow.recipe import get_recipe
from epir.maps.clip import prepare_clip


def test_a_clip_becomes_a_map_that_knows_where_it_comes_from(face_clips):
    (clip,) = face_clips(1, 1)
    done = prepare_clip(clip, get_recipe(), 28)
    assert done.map.shape == (3, 28, 28)
    assert done.map.dtype == np.float32
    assert done.clip.extra["frames"] == str(clip.frames)
    assert done.clip.extra["apex_source"] == "annotated"
    assert 80 < Crop.from_text(done.clip.extra["crop"]).side < 90
    assert (done.clip.onset, done.clip.apex, done.clip.offset, done.clip.fps) == (1, 6, 9, 200.0)
    assert done.map[1, 2:6, 4:9].mean() < -0.2  # the brow goes up


def test_an_apex_that_is_not_annotated_is_found_as_the_recipe_says(long_clip):
    spotted = prepare_clip(long_clip, get_recipe()).clip
    assert (spotted.extra["apex_source"], spotted.apex in (5, 6, 7)) == ("spotted", True)
    middle = prepare_clip(long_clip, get_recipe("epir", ["apex=middle"])).clip
    assert (middle.extra["apex_source"], middle.apex) == ("middle", 5)


def test_an_apex_at_the_onset_counts_as_not_annotated(long_clip):
    assert prepare_clip(replace(long_clip, apex=1), get_recipe()).clip.extra["apex_source"] == "spotted"


def test_without_onset_and_offset_the_whole_clip_is_taken(long_clip):
    done = prepare_clip(replace(long_clip, onset=None, offset=None, fps=None), get_recipe()).clip
    assert (done.onset, done.offset, done.fps) == (1, 9, None)


def test_a_video_gives_the_same_apex_and_its_own_rate(tmp_path, rise_and_fall):
    path = tmp_path / "clip.avi"
    height, width = rise_and_fall[0].shape[:2]
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"MJPG"), 100, (width, height))
    for frame in rise_and_fall:
        writer.write(cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))
    writer.release()
    done = prepare_clip(Clip("own", "a", "b", "surprise", frames=path), get_recipe())
    assert (done.clip.onset, done.clip.offset, done.clip.fps) == (0, 8, 100.0)
    assert done.clip.apex in (4, 5, 6)


def test_a_missing_apex_frame_tells_what_is_there(face_clips):
    (clip,) = face_clips(1, 1)
    with pytest.raises(
        FrameError, match=r"has no frame 7: it holds frames 1 to 6; 4 of these are missing\n.*nearest frame is 6"
    ):
        prepare_clip(replace(clip, apex=7), get_recipe())


def test_a_missing_offset_does_no_harm_when_the_apex_is_known(face_clips):
    (clip,) = face_clips(1, 1)
    assert prepare_clip(replace(clip, offset=110), get_recipe()).clip.offset == 110


def test_an_apex_before_the_onset_is_refused(long_clip):
    with pytest.raises(FrameError, match=r"the apex 2 is before the onset 4\n  fix: correct"):
        prepare_clip(replace(long_clip, onset=4, apex=2), get_recipe())


def test_no_frames_and_no_face_are_told(tmp_path, long_clip):
    with pytest.raises(FrameError, match=r"drawn/s9/long leads to no frames\n  fix: run epir check"):
        prepare_clip(replace(long_clip, frames=None), get_recipe())
    for number in (1, 2):
        cv2.imwrite(str(tmp_path / f"img{number}.png"), np.full((60, 80, 3), 99, np.uint8))
    with pytest.raises(FaceNotFound, match=r"no face was found"):
        prepare_clip(replace(long_clip, frames=tmp_path, apex=2), get_recipe())


def test_without_a_detector_every_frame_has_a_map(tmp_path, long_clip):
    for number in (1, 2):
        cv2.imwrite(str(tmp_path / f"img{number}.png"), np.full((60, 80, 3), 99, np.uint8))
    done = prepare_clip(replace(long_clip, frames=tmp_path, apex=2), get_recipe("epir", ["face.detector=none"]))
    assert Crop.from_text(done.clip.extra["crop"]) == Crop(39.5, 29.5, 80, 0, 0.75)
    assert np.abs(done.map).max() < 1e-3
