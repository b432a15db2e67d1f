import numpy as np
import pytest
from skimage.data import astronaut

from epir.bench import damage


@pytest.fixture(scope="module")
def frame():
    return np.ascontiguousarray(astronaut()[:192, 100:356])


def test_every_way_damages_and_most_damage_that_shows_is_told(frame, tmp_path):
    found = list(damage.damaged_jpegs(frame, tmp_path, draws=1))
    assert len(found) >= 20 and np.mean([told for _, told in found]) > 0.8
    assert all(told for way, told in found if way in ("512 bytes lost", "half lost, with an end marker"))


@pytest.mark.parametrize("codec", ["libx264", "libvpx-vp9"])
def test_most_damage_of_these_codecs_is_told_and_a_sound_video_has_no_note(codec, frame, tmp_path):
    told = list(damage.damaged_videos(codec, [frame, frame], tmp_path, 6))
    assert len(told) >= 2 and np.mean(told) >= 0.5
    path = tmp_path / f"sound.{damage.CODECS[codec]}"
    path.write_bytes(damage._film(codec, [frame, frame]))
    with damage.VideoFrames(path) as video:
        assert sum(1 for _ in video) == 30 and video.notes == []
