"""One picture file -> pixels; a file that is cut short is refused, not half shown."""

import struct
from pathlib import Path

import cv2
import numpy as np

from epir.core.errors import FrameError

PICTURES = frozenset({".jpg", ".jpeg", ".png", ".bmp"})


def read_picture(path: str | Path) -> np.ndarray:
    """The picture as (H, W, 3) uint8 RGB, whether it is stored in colour or in grey."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise FrameError(f"there is no picture {path}", fix="check the path") from None
    except OSError as error:
        raise FrameError(f"{path} cannot be read: {error.strerror}", fix="check the file and its permissions") from None
    if not content:
        raise FrameError(f"{path} is empty", fix="copy the file again from the corpus")
    if is_cut_short(content):
        raise FrameError(f"{path} is cut short: its end is missing", fix="copy the file again from the corpus")
    try:
        pixels = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:  # a header that promises an impossible size
        pixels = None
    if pixels is None:
        raise FrameError(f"{path} is not a picture that can be read", fix="copy it again, or save it as png")
    return cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB)


def is_cut_short(content: bytes) -> bool:
    """Whether a jpg, png or bmp lacks its end: decoders fill the rest with grey and say nothing."""
    if content.startswith(b"\xff\xd8"):  # jpg: an end mark after the start of the last scan
        return content.rfind(b"\xff\xd9") < content.rfind(b"\xff\xda")
    if content.startswith(b"\x89PNG"):
        return b"IEND" not in content[-64:]
    if content.startswith(b"BM") and len(content) >= 54:
        start, _, width, height, _, bits, packing = struct.unpack_from("<IIiiHHI", content, 10)
        row = (abs(width) * bits + 31) // 32 * 4
        return packing in (0, 3) and len(content) < start + row * abs(height)
    return False
