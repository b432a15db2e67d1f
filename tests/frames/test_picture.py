import cv2
import numpy as np
import pytest

from epir.core.errors import FrameError
from epir.frames.picture import is_cut_short, read_picture


@pytest.fixture
def colours():
    """Red, green and blue stripes with some texture, (40, 60, 3) RGB."""
    picture = np.zeros((40, 60, 3), np.uint8)
    for channel in range(3):
        picture[:, 20 * channel : 20 * channel + 20, channel] = 200
    picture[::7] //= 2
    return picture


def encoded(picture, ending, *options):
    good, content = cv2.imencode(ending, cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), options)
    assert good
    return content.tobytes()


@pytest.mark.parametrize("ending", [".png", ".bmp"])
def test_colours_come_back_as_red_green_blue(tmp_path, colours, ending):
    (tmp_path / f"a{ending}").write_bytes(encoded(colours, ending))
    assert np.array_equal(read_picture(tmp_path / f"a{ending}"), colours)


def test_a_jpg_comes_back_nearly_the_same(tmp_path, colours):
    smooth = cv2.GaussianBlur(colours, (0, 0), 4)
    (tmp_path / "a.JPG").write_bytes(encoded(smooth, ".jpg", cv2.IMWRITE_JPEG_QUALITY, 95))
    assert np.abs(read_picture(tmp_path / "a.JPG").astype(int) - smooth).mean() < 3


@pytest.mark.parametrize("ending", [".png", ".bmp", ".jpg"])
def test_grey_becomes_three_equal_channels(tmp_path, colours, ending):
    grey = cv2.cvtColor(colours, cv2.COLOR_RGB2GRAY)
    good, content = cv2.imencode(ending, grey)
    assert good
    (tmp_path / f"a{ending}").write_bytes(content.tobytes())
    picture = read_picture(tmp_path / f"a{ending}")
    assert picture.shape == (40, 60, 3)
    assert picture.dtype == np.uint8
    assert (picture == picture[..., :1]).all()


def test_sixteen_bit_png_is_brought_to_eight(tmp_path):
    cv2.imwrite(str(tmp_path / "a.png"), np.full((8, 8), 40000, np.uint16))
    picture = read_picture(tmp_path / "a.png")
    assert picture.dtype == np.uint8
    assert abs(int(picture[0, 0, 0]) - 40000 // 257) <= 1


@pytest.mark.parametrize("ending", [".jpg", ".png", ".bmp", ".webp"])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9, 0.99])
def test_a_picture_that_is_cut_short_is_refused(tmp_path, colours, ending, share):
    content = encoded(colours, ending)
    path = tmp_path / f"img7{ending}"
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(FrameError, match=rf"img7\{ending} (is cut short|is damaged|cannot be read).*\n  fix: cop"):
        read_picture(path)


def test_a_progressive_jpg_is_whole_only_with_its_last_scan(colours):
    content = encoded(colours, ".jpg", cv2.IMWRITE_JPEG_PROGRESSIVE, 1)
    assert not is_cut_short(content)
    assert is_cut_short(content[:-2])
    assert not is_cut_short(content + b"\0" * 100)  # padding after the end does no harm


def test_what_is_no_picture_is_named(tmp_path):
    for name, content, words in (
        ("a.jpg", b"", r"a.jpg is empty\n  fix: copy"),
        ("b.png", b"hello, world", r"b.png cannot be read as a picture\n  fix: "),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FrameError, match=words):
            read_picture(tmp_path / name)
    with pytest.raises(FrameError, match=r"there is no picture .*c.png\n  fix: check the path"):
        read_picture(tmp_path / "c.png")
    (tmp_path / "d.png").mkdir()
    with pytest.raises(FrameError, match=r"d.png is a folder, not a file\n  fix: check the file"):
        read_picture(tmp_path / "d.png")


@pytest.mark.parametrize("ending", [".webp", ".avif"])
def test_pictures_of_the_web_are_read_upright(tmp_path, ending):
    from PIL import Image

    picture = np.zeros((40, 60, 3), np.uint8)
    picture[:, :30] = (200, 40, 40)
    exif = Image.Exif()
    exif[0x0112] = 6  # shown turned to the right
    Image.fromarray(picture).save(tmp_path / f"a{ending}", quality=95, exif=exif)
    read = read_picture(tmp_path / f"a{ending}")
    assert read.shape == (60, 40, 3)
    assert np.abs(read[5, 20].astype(int) - (200, 40, 40)).max() < 25
    assert read[55, 20].max() < 25


@pytest.mark.parametrize("ending", [".heic", ".avif", ".webp"])
def test_what_cannot_be_decoded_is_refused_with_a_way_out(tmp_path, ending):
    (tmp_path / f"a{ending}").write_bytes(b"not a picture" * 20)
    with pytest.raises(FrameError, match=r"cannot be read as a picture\n  fix: .*save it as png or jpg"):
        read_picture(tmp_path / f"a{ending}")
