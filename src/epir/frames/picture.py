"""One picture file -> pixels; a truncated or damaged file is an error."""

import io
import struct
import warnings
from pathlib import Path
from typing import BinaryIO

import cv2
import numpy as np

from epir.core.errors import FrameError
from epir.core.files import check_regular, read_bytes
from epir.frames.damage import damaged_jpeg, damaged_png

BY_PILLOW = (".webp", ".avif")  # OpenCV reads all others
BY_FFMPEG = (".heic", ".heif")  # with one tile only: phones write dozens, which FFmpeg does not join
MOST_PIXELS = 1 << 16  # per side: reported for a picture that is far too large
ORIENTATION = 0x0112  # the EXIF tag of the camera's orientation; from 5 on, width and height are swapped
COPY_AGAIN = "copy it again; if it looks right nevertheless, save it again in a picture editor"


def read_picture(path: str | Path) -> np.ndarray:
    """The picture as (H, W, 3) uint8 RGB, upright; grey pictures become RGB too."""
    path = Path(path)
    try:
        content = read_bytes(path, error=FrameError, fix="check the file and its permissions")
    except FileNotFoundError:
        raise FrameError(f"there is no picture {path}", fix="check the path") from None
    if not content:
        raise FrameError(f"{path} is empty", fix="copy the file again")
    if is_cut_short(content):
        raise FrameError(f"{path} is cut short: its end is missing", fix="copy the file again")
    if is_damaged(content):
        raise FrameError(f"{path} is damaged: part of the picture would be wrong", fix=COPY_AGAIN)
    kind = path.suffix.lower()
    decode = _pillow if kind in BY_PILLOW else _ffmpeg if kind in BY_FFMPEG else _opencv
    pixels = decode(content)
    if pixels is None:
        raise FrameError(f"{path} cannot be read as a picture", fix="copy it again, or save it as png or jpg")
    return pixels


def decode_jpeg(content: bytes) -> np.ndarray | None:
    """The pixels of a JPEG in memory, (H, W, 3) uint8 RGB; None if it is truncated or not a JPEG."""
    return None if not content.startswith(b"\xff\xd8") or is_cut_short(content) else _opencv(content)


def encode_jpeg(pixels: np.ndarray, quality: int = 92, most: int = 0) -> bytes:
    """A (H, W, 3) uint8 RGB picture as JPEG, shrunk if its longer side exceeds `most` px (0: never)."""
    scale = most / max(pixels.shape[:2])
    if 0 < scale < 1:
        pixels = cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
    done, content = cv2.imencode(".jpg", cv2.cvtColor(pixels, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, quality])
    assert done, "OpenCV can write jpg"
    return content.tobytes()


def announced_size(path: str | Path | BinaryIO) -> tuple[int, int] | None:
    """Width and height in the header of a picture, without decoding it; None if it cannot be read."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(path) as picture:
                return picture.size
    except Image.DecompressionBombError:
        return MOST_PIXELS, MOST_PIXELS
    except (OSError, ValueError, SyntaxError):
        return None


def picture_size(path: Path) -> tuple[int, int]:
    """Width and height of a picture as shown, from the header of its file."""
    from PIL import Image

    try:
        check_regular(path, error=FrameError, fix="check the file and its permissions")
        with Image.open(path) as picture:
            width, height = picture.size
            turned = picture.getexif().get(ORIENTATION, 1) >= 5
    except (OSError, ValueError, TypeError, SyntaxError, Image.DecompressionBombError):
        height, width = read_picture(path).shape[:2]  # raises a clear error
        return width, height
    return (height, width) if turned else (width, height)


def is_cut_short(content: bytes) -> bool:
    """Whether a jpg, png, bmp or webp lacks its end, which decoders silently fill with grey."""
    if content.startswith(b"\xff\xd8"):  # a jpg needs an end mark after the start of its last scan
        return content.rfind(b"\xff\xd9") < content.rfind(b"\xff\xda")
    if content.startswith(b"\x89PNG"):
        return b"IEND" not in content[-64:]
    if content.startswith(b"BM") and len(content) >= 54:
        start, _, width, height, _, bits, packing = struct.unpack_from("<IIiiHHI", content, 10)
        row = (abs(width) * bits + 31) // 32 * 4
        return packing in (0, 3) and len(content) < start + row * abs(height)
    if content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        return len(content) < 8 + struct.unpack_from("<I", content, 4)[0]
    return False


def is_damaged(content: bytes) -> bool:
    """Whether a jpg has damaged codes, or a png a wrong checksum."""
    if content.startswith(b"\xff\xd8"):
        return damaged_jpeg(content)
    return content.startswith(b"\x89PNG") and damaged_png(content)


def _opencv(content: bytes) -> np.ndarray | None:
    try:
        pixels = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:  # a header with an impossible size
        return None
    return None if pixels is None else cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB)


def _pillow(content: bytes) -> np.ndarray | None:
    from PIL import Image, ImageOps

    try:
        with Image.open(io.BytesIO(content)) as picture:
            return np.array(ImageOps.exif_transpose(picture).convert("RGB"))
    except (OSError, ValueError, Image.DecompressionBombError):
        return None


def _ffmpeg(content: bytes) -> np.ndarray | None:
    import av

    try:
        with av.open(io.BytesIO(content), "r", options={"format_whitelist": "mov"}) as container:
            if len(container.streams.video) != 1:
                return None
            picture = next(container.decode(video=0), None)
            return None if picture is None else picture.to_ndarray(format="rgb24")
    except (av.FFmpegError, ValueError, IndexError):
        return None
