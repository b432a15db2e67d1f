"""The clips that could not be prepared, each with its reason: `left_out.csv` in a map set."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from epir.core.errors import EpirError
from epir.core.files import write_text
from epir.core.records import Clip

NAME = "left_out.csv"
COLUMNS = ("corpus", "subject", "clip", "problem", "fix")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """One clip without a map, and why."""

    corpus: str
    subject: str
    clip: str
    problem: str
    fix: str

    @classmethod
    def because(cls, clip: Clip, error: Exception) -> "LeftOut":
        """The clip that `error` stopped."""
        problem, fix = str(error), "look at the frames of this clip"
        if isinstance(error, EpirError):
            problem, fix = error.problem, error.fix
        return cls(clip.corpus, clip.subject, clip.clip, " ".join(problem.split()), " ".join(fix.split()))

    @property
    def key(self) -> str:
        """The clip's name, as in `Clip.key`."""
        return f"{self.corpus}/{self.subject}/{self.clip}"


def write_left_out(folder: Path, clips: Sequence[LeftOut]) -> None:
    """Write the list into a map set's folder; a set that lacks nothing has an empty list."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows([getattr(clip, name) for name in COLUMNS] for clip in clips)
    write_text(folder / NAME, text.getvalue())


def read_left_out(folder: Path | None) -> tuple[LeftOut, ...]:
    """The list of a map set; nothing if the set was not made by `prepare`."""
    if folder is None or not (folder / NAME).is_file():
        return ()
    with (folder / NAME).open(encoding="utf-8", newline="") as file:
        return tuple(LeftOut(**{name: row[name] for name in COLUMNS}) for row in csv.DictReader(file))
