import numpy as np
import pytest

from epir.core.errors import FrameError, MachineError
from epir.frames.film import compressed, write_film
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


def test_the_same_frames_give_the_same_mp4(tmp_path):
    first, again = (write_film(tmp_path / f"{name}.mp4", moving(60), 50).read_bytes() for name in "ab")
    assert first == again


def test_the_file_is_there_whole_or_not_at_all(tmp_path):
    def broken():
        yield from ramp(3)
        raise ValueError("the third was the last")

    with pytest.raises(ValueError, match="the last"):
        write_film(tmp_path / "film.webm", broken(), 50)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_written_is_told(tmp_path):
    with pytest.raises(
        FrameError, match=r"film.gif cannot be written as a video\n  fix: use a name that ends in .webm or"
    ):
        write_film(tmp_path / "film.gif", ramp(3), 50)
    with pytest.raises(FrameError, match="there are no frames to write\n  fix: give at least one"):
        write_film(tmp_path / "film.mp4", [], 50)


def test_a_full_disk_is_not_the_fault_of_the_frames(full_disk):
    noise = np.random.default_rng(0).integers(0, 256, (30, 128, 128, 3), dtype=np.uint8)
    with pytest.raises(MachineError, match=r"film.mp4: the disk is full\n  fix: free disk space"):
        write_film(full_disk / "film.mp4", noise, 30.0)
    assert list(full_disk.iterdir()) == []


def moving(count=12):
    """A pattern that moves by a pixel from frame to frame, with some noise."""
    random = np.random.default_rng(0)
    rows, columns = np.mgrid[0:96, 0:128]
    for number in range(count):
        grey = 120 + 60 * np.sin((columns + number) / 6) * np.cos(rows / 9) + random.normal(0, 2, rows.shape)
        yield np.repeat(np.clip(grey, 0, 255).astype(np.uint8)[..., None], 3, axis=2)


def test_the_quantiser_follows_the_rate_factor():
    means = []
    for quality in (20, 30, 40):
        quantisers = []
        assert len(list(compressed(moving(), 30.0, quality, quantisers))) == len(quantisers) == 12
        means.append(np.mean(quantisers))
    assert means[0] == pytest.approx(20, abs=8)
    assert np.diff(means) == pytest.approx([10, 10], abs=3)


def test_a_video_file_tells_it_once_its_frames_were_read(tmp_path):
    with open_frames(write_film(tmp_path / "a.mp4", moving(), 30.0)) as video:
        assert video.quantiser is None
        assert len(list(video)) == 12
        first = video.quantiser
        assert first == pytest.approx(20, abs=8)
        assert len(list(video)) == 12 and video.quantiser == first, "a second pass begins anew"


def test_other_codecs_do_not_tell(tmp_path):
    with open_frames(write_film(tmp_path / "a.webm", moving(), 30.0)) as video:
        assert len(list(video)) == 12 and video.quantiser is None
