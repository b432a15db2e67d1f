"""Normalise the spellings of subjects, frame numbers, columns and emotion words."""

import re
from pathlib import PurePath

from epir.core.files import PICTURE_ENDINGS, VIDEO_ENDINGS
from epir.core.words import FASTEST_RATE

MISSING = frozenset({"", "/", "\\", "?", "-", "-1", "nan", "none", "null", "n/a", "na", "#n/a"})
ARCHIVES = frozenset({".zip", ".rar", ".7z", ".tar", ".tgz", ".gz", ".bz2", ".xz"})

_SUBJECT = re.compile(r"(?:(?:subject|sub|spno|sp|s)[\s._-]*)?(\d{1,100})(?:\.0+)?", re.IGNORECASE)
_WHOLE = re.compile(r"[+-]?\d{1,100}(?:\.0*)?")
LARGEST_FRAME = 1_000_000_000
_DECIMAL_COMMA = re.compile(r"\d+,\d+")
_DIGITS = re.compile(r"\d+")
_SYNONYMS = (frozenset({"other", "others"}), frozenset({"happy", "happiness"}), frozenset({"sad", "sadness"}))


def plain(cell: object) -> str:
    """A cell's text with blanks normalised: `6.0` from a spreadsheet becomes `6`, an empty cell ``.

    >>> plain(6.0), plain(" sub06 "), plain(None)
    ('6', 'sub06', '')
    """
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return " ".join(str(cell).split())


def whole(text: str) -> str:
    """A whole number in its shortest form, `46` for `046` and `46.0`; any other text unchanged."""
    return str(int(text.partition(".")[0])) if _WHOLE.fullmatch(text) else text


def column(name: object) -> str:
    """A column's name reduced to letters and digits: `Onset Frame` and ` OnsetFrame` are one."""
    return "".join(re.findall(r"\w", plain(name).casefold())).replace("_", "")


def subject_number(text: object) -> int | None:
    """The number of a subject in any spelling; `None` for other text.

    >>> {subject_number(text) for text in ("6", "006", 6, 6.0, "sub06", "S6", "spNO.6", "spno6")}
    {6}
    """
    match = _SUBJECT.fullmatch(plain(text))
    return int(match[1]) if match else None


def frame_number(cell: object, *, zero: bool = False) -> int | None:
    """The frame number in a cell; `None` if it is missing, or 0 without `zero`; `ValueError` for anything else."""
    text = plain(cell)
    if text.casefold() in MISSING:
        return None
    if not _WHOLE.fullmatch(text):
        raise ValueError(text)
    number = int(text.partition(".")[0])
    if not 0 <= number <= LARGEST_FRAME:
        raise ValueError(text)
    return number if number or zero else None


def frame_rate(cell: object) -> float | None:
    """The frames per second in a cell; `None` if it is missing, `ValueError` for anything that is not a frame rate."""
    text = plain(cell)
    if text.casefold() in MISSING:
        return None
    fps = float(text)
    if not 0 < fps <= FASTEST_RATE:  # also true for nan
        raise ValueError(text)
    return fps


def not_a_number(name: str, text: str, what: str) -> str:
    """The message for a cell that is not a number, with a hint for a decimal comma."""
    hint = f" (write a decimal point: {text.replace(',', '.')})" if _DECIMAL_COMMA.fullmatch(text.strip()) else ""
    return f"the {name} is {text!r}, which is not a {what}{hint}"


def frame_of_file(name: str) -> int | None:
    """The frame number of a picture: the last integer of its name; `None` for anything that is not a picture.

    >>> frame_of_file("reg_img46.jpg"), frame_of_file("006_05562.JPG"), frame_of_file("notes.txt")
    (46, 5562, None)
    """
    path = PurePath(name)
    if name.startswith(".") or path.suffix.casefold() not in PICTURE_ENDINGS:
        return None
    numbers = _DIGITS.findall(path.stem)
    return int(numbers[-1]) if numbers else None


def is_video(name: str) -> bool:
    """Whether a file is a video, by its name."""
    return PurePath(name).suffix.casefold() in VIDEO_ENDINGS


def is_archive(name: str) -> bool:
    """Whether a file is an archive, by its name."""
    return PurePath(name).suffix.casefold() in ARCHIVES


def synonyms(word: str) -> frozenset[str]:
    """An emotion word in lower case, with its other spelling if the corpora use two."""
    lower = " ".join(word.split()).casefold()
    return next((both for both in _SYNONYMS if lower in both), frozenset({lower}))


def units_without(text: str, pattern: re.Pattern[str]) -> str:
    """The action units of a cell without those that match `pattern`; 0 (neutral) if none is left.

    >>> units_without("4+7(k)+L12", re.compile("k")), units_without("7(k)", re.compile("k")), units_without("", _WHOLE)
    ('4+L12', '0', '')
    """
    units = [unit.strip() for unit in text.split("+")]
    return "+".join(unit for unit in units if unit and not pattern.search(unit)) or ("0" if text else "")
