"""Whether two clips show the same frames, without decoding them."""

import hashlib
from pathlib import Path

from epir.frames.folder import numbered_pictures

END = 1 << 20  # bytes at each end of a video that are compared


def fingerprint(path: Path, onset: int | None, apex: int | None) -> str | None:
    """Equal for clips whose onset and apex are the same pictures, or the same frames of the same video.

    `None` where nothing can be said: pictures that are missing or empty, or an apex that is the onset.
    """
    if path.is_dir():
        files = numbered_pictures(path)
        keys = [files.get(number, []) for number in (onset, apex) if number is not None]
        if len(keys) != 2 or any(len(found) != 1 for found in keys):
            return None
        contents = [found[0].read_bytes() for found in keys]
        if not all(contents) or contents[0] == contents[1]:
            return None
        return hashlib.sha256(b"".join(hashlib.sha256(each).digest() for each in contents)).hexdigest()
    if not path.is_file() or not path.stat().st_size:
        return None
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(END)
        file.seek(max(0, size - END))
        end = file.read(END)
    return hashlib.sha256(b"%d %a %a " % (size, onset, apex) + start + end).hexdigest()
