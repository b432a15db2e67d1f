import numpy as np
import pytest

from epir.core.errors import FrameError, ShapeError
from epir.recognition.source import ArrayFrames, PairFrames, colour, open_source, output_name, source_name


def test_an_array_holds_frames():
    frames = open_source(np.arange(4 * 5 * 6 * 3, dtype=np.uint8).reshape(4, 5, 6, 3))
    assert frames.numbers == (0, 1, 2, 3)
    assert [frame.number for frame in frames.between(1, 2)] == [1, 2]
    assert len(frames) == 4
    with pytest.raises(FrameError, match="has no frame 4: it holds frames 0 to 3"):
        frames.read(4)


def test_grey_frames_get_three_channels():
    frames = open_source(np.full((3, 8, 9), 7, np.uint8))
    assert frames.read(0).shape == (8, 9, 3)
    assert colour(np.zeros((4, 4, 1), np.uint8)).shape == (4, 4, 3)


def test_a_list_of_more_than_two_arrays_is_a_clip():
    assert isinstance(open_source([np.zeros((4, 4, 3), np.uint8)] * 3), ArrayFrames)
    assert isinstance(open_source([np.zeros((4, 4, 3), np.uint8)] * 2), PairFrames)


def test_inputs_have_names():
    assert source_name("a/b.mp4") == "a/b.mp4"
    assert source_name(("on.png", "ap.png")) == "on.png ap.png"
    assert source_name((np.zeros(1), np.zeros(1))) == "two pictures"
    assert source_name(np.zeros((2, 2))) == "array"


def test_outputs_have_the_whole_name_of_a_folder_and_that_of_a_file_without_its_ending(tmp_path, monkeypatch):
    folder = tmp_path / "spNO.1_a_355"
    folder.mkdir()
    assert output_name(str(folder)) == output_name(folder) == "spNO.1_a_355"
    assert output_name("take.1/b.2.mp4") == "b.2"
    assert output_name(("on.png", "ap.png")) == "ap"
    assert output_name(np.zeros((2, 2))) == "answer"
    monkeypatch.chdir(folder)
    assert (output_name("."), output_name("..")) == (folder.name, tmp_path.name)


@pytest.mark.parametrize("source", [np.zeros((4, 0, 5, 3), np.uint8), np.zeros((4, 4, 4, 2), np.uint8), [], ["a.png"]])
def test_inputs_without_frames_are_refused(source):
    with pytest.raises(ShapeError, match="fix:"):
        open_source(source)


def test_a_picture_of_another_kind_is_refused():
    with pytest.raises(ShapeError, match=r"the apex is float64 \(4, 4\), not a picture"):
        open_source((np.zeros((4, 4), np.uint8), np.zeros((4, 4))))
