import cv2
import numpy as np
import pytest

from epir.core.errors import FrameError
from epir.frames.folder import FolderFrames
from epir.frames.reader import open_frames
from epir.frames.video import VideoFrames


def test_a_folder_and_a_video_are_told_apart(tmp_path, write_video):
    cv2.imwrite(str(tmp_path / "img1.png"), np.zeros((4, 4, 3), np.uint8))
    assert isinstance(open_frames(tmp_path), FolderFrames)
    assert isinstance(open_frames(str(write_video("CLIP.AVI", "mjpeg", count=2))), VideoFrames)


def test_what_is_neither_is_refused_with_a_way_out(tmp_path):
    cv2.imwrite(str(tmp_path / "img1.png"), np.zeros((4, 4, 3), np.uint8))
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(FrameError, match=r"there is no folder or video .*nowhere\n  fix: check the path"):
        open_frames(tmp_path / "nowhere")
    with pytest.raises(
        FrameError, match=r"img1.png is one picture, not a clip\n  fix: give two pictures, onset and apex"
    ):
        open_frames(tmp_path / "img1.png")
    with pytest.raises(FrameError, match=r"notes.txt is neither a folder of pictures nor a video\n  fix: .*\.mp4"):
        open_frames(tmp_path / "notes.txt")
