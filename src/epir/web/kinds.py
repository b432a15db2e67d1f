"""What a file is, by its first bytes: a short list of kinds, whatever its name says.

The list also keeps text formats from the video decoder, which would follow the paths written in them.
"""

from dataclasses import dataclass
from typing import Literal

ENOUGH = 32  # bytes that tell every kind


@dataclass(frozen=True)
class Kind:
    """A kind of file, and the ending that it is stored under."""

    what: Literal["video", "picture"]
    ending: str


def kind_of(start: bytes) -> Kind | None:
    """The kind of a file that begins so, None where it is none of those that can be read."""
    if start[4:8] == b"ftyp":
        return Kind("video", ".mov" if start[8:12] == b"qt  " else ".mp4")
    if start[4:8] in (b"moov", b"mdat", b"wide", b"free", b"skip"):  # old QuickTime names no brand
        return Kind("video", ".mov")
    if start.startswith(b"\x1a\x45\xdf\xa3"):
        return Kind("video", ".mkv")
    if start.startswith(b"RIFF") and start[8:12] == b"AVI ":
        return Kind("video", ".avi")
    if start.startswith(b"\xff\xd8\xff"):
        return Kind("picture", ".jpg")
    if start.startswith(b"\x89PNG\r\n\x1a\n"):
        return Kind("picture", ".png")
    if start.startswith(b"BM") and start[6:10] == b"\0\0\0\0":
        return Kind("picture", ".bmp")
    return None
