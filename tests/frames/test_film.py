import numpy as np
import pytest

from epir.core.errors import FrameError, MachineError
from epir.frames.film import write_film
from epir.frames.reader import open_frames


def ramp(count, size=64):
    across = np.linspace(0, 200, size, dtype=np.uint8)
    return [np.repeat(np.repeat((across + number)[None, :, None], size, 0), 3, 2) for number in range(count)]


@pytest.mark.parametrize("ending", [".webm", ".mp4"])
def test_frames_come_back(tmp_path, ending, capfd):
    frames = ramp(12)
    path = write_film(tmp_path / f"film{ending}", iter(frames), 50)
    with open_frames(path) as read:
        assert read.fps == 50
        back = [frame.pixels for frame in read]
    assert len(back) == 12
    assert np.abs(np.stack(back).astype(int) - np.stack(frames)).mean() < 4
    assert capfd.readouterr() == ("", "")


def test_the_file_is_there_whole_or_not_at_all(tmp_path):
    def broken():
        yield from ramp(3)
        raise ValueError("the third was the last")

    with pytest.raises(ValueError, match="the last"):
        write_film(tmp_path / "film.webm", broken(), 50)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_is_told(tmp_path):
    with pytest.raises(FrameError, match=r"film.gif cannot be written as a video\n  fix: let its name end in .webm or"):
        write_film(tmp_path / "film.gif", ramp(3), 50)
    with pytest.raises(FrameError, match="there are no frames to write\n  fix: give at least one"):
        write_film(tmp_path / "film.mp4", [], 50)


def test_a_full_disk_is_not_the_fault_of_the_frames(full_disk):
    noise = np.random.default_rng(0).integers(0, 256, (30, 128, 128, 3), dtype=np.uint8)
    with pytest.raises(MachineError, match=r"film.mp4: the disk is full\n  fix: free disk space"):
        write_film(full_disk / "film.mp4", noise, 30.0)
    assert list(full_disk.iterdir()) == []
