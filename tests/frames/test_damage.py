import random
import struct

import av
import cv2
import numpy as np
import pytest
from skimage.data import astronaut

from epir.core.errors import FrameError
from epir.frames.damage import check_frame_count, damaged_jpeg, damaged_png, decoder_errors
from epir.frames.picture import read_picture

PLAIN, PROGRESSIVE, RESTARTS = (), (cv2.IMWRITE_JPEG_PROGRESSIVE, 1), (cv2.IMWRITE_JPEG_RST_INTERVAL, 8)


@pytest.fixture(scope="module")
def picture():
    return astronaut()[:256, :256, ::-1]


def jpeg(picture, *options, quality=90):
    return cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, quality, *options])[1].tobytes()


@pytest.mark.parametrize("options", [PLAIN, PROGRESSIVE, RESTARTS], ids=["plain", "progressive", "restarts"])
@pytest.mark.parametrize("quality", [40, 75, 98])
def test_a_sound_jpeg_is_not_damaged(picture, options, quality):
    for each in (picture, picture[..., 0], picture[:93, :61]):
        assert not damaged_jpeg(jpeg(each, *options, quality=quality))


@pytest.mark.parametrize(("length", "least"), [(512, 1.0), (64, 0.6), (8, 0.5)])
def test_damage_that_shows_is_found(picture, length, least):
    """Lost sectors always; of a few wrong bytes, after which the codes may fall into step again, more than half."""
    content = jpeg(picture)
    right = cv2.imdecode(np.frombuffer(content, np.uint8), 1).astype(int)
    chance, found = random.Random(0), []
    start = content.find(b"\xff\xda") + 14
    for _ in range(60):
        place = chance.randrange(start, len(content) - 520)
        middle = b"" if length == 512 else chance.randbytes(length)
        bad = content[:place] + middle + content[place + length :]
        pixels = cv2.imdecode(np.frombuffer(bad, np.uint8), 1)
        if pixels is not None and (np.abs(pixels - right).max(2) > 10).mean() > 0.1:
            found.append(damaged_jpeg(bad))
    assert len(found) >= 20 and np.mean(found) >= least


def test_a_damaged_picture_is_refused_in_words(picture, tmp_path):
    content = bytearray(jpeg(picture))
    del content[6000:6600]
    (tmp_path / "img1.jpg").write_bytes(content)
    with pytest.raises(FrameError, match=r"img1.jpg is damaged: part of the picture would be wrong\n  fix: copy it"):
        read_picture(tmp_path / "img1.jpg")


def test_every_changed_byte_of_a_png_is_found(picture):
    content = cv2.imencode(".png", picture[:20, :20])[1].tobytes()
    assert not damaged_png(content) and not damaged_png(content + b"more")
    for place in range(8, len(content)):
        assert damaged_png(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]), place


def test_errors_of_the_decoder_are_heard_each_time_and_leave_no_trace():
    before = av.logging.get_level(), av.logging.get_skip_repeated()
    for _ in range(2):
        with decoder_errors() as errors:
            av.logging.log(av.logging.ERROR, "test", "the same words")
            av.logging.log(av.logging.INFO, "test", "not an error")
        assert errors == ["the same words"]
    assert (av.logging.get_level(), av.logging.get_skip_repeated()) == before


@pytest.mark.parametrize("count", [10**7, 2**31, 2**32 - 1])
def test_an_mp4_that_announces_more_frames_than_bytes_is_refused_before_ffmpeg_makes_room(write_video, count):
    path = write_video("lie.mp4", count=12)
    check_frame_count(path)
    content = bytearray(path.read_bytes())
    struct.pack_into(">II", content, content.find(b"stsz") + 8, 1, count)
    path.write_bytes(content)
    with pytest.raises(FrameError, match=rf"it announces {count:,} frames in .* bytes\n  fix: copy it again"):
        check_frame_count(path)
