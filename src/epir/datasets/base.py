"""What reading a corpus gives back: its clips, what was corrected on the way, and what is wrong with this copy."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from epir.core.records import Clip


@dataclass(frozen=True, slots=True)
class Correction:
    """One value of an annotation sheet that was put right, and why."""

    clip: str  # the clip's key, as the sheet names it
    field: str
    old: str
    new: str
    reason: str


@dataclass(frozen=True, slots=True)
class Defect:
    """Something about one clip that stands in the way of using it.

    `known` marks what every copy of the release has: it is listed, but it is no fault of this copy.
    """

    clip: str
    problem: str
    known: bool = False


@dataclass(frozen=True, repr=False)
class Corpus:
    """A corpus as found on this disk."""

    name: str
    root: Path
    sheet: str  # the version of the annotations: `2014`, `2019`, `v2`; `folders` where labels are folder names
    clips: tuple[Clip, ...]
    corrected: tuple[Correction, ...] = ()
    defects: tuple[Defect, ...] = ()
    tree: str = ""  # which kind of frames was found: `cropped`, `raw`, ...
    notes: tuple[str, ...] = ()  # choices made while reading, such as which of two sheets was taken

    def __len__(self) -> int:
        return len(self.clips)

    def __repr__(self) -> str:
        tree = f", {self.tree} frames" if self.tree else ""
        return (
            f"Corpus({self.name}, sheet {self.sheet}{tree}: clips {len(self.clips)}, people {len(self.people)}, "
            f"corrected {len(self.corrected)}, defects {len(self.faults)})"
        )

    @property
    def people(self) -> tuple[str, ...]:
        """Everyone in the corpus, sorted."""
        return tuple(sorted({clip.person for clip in self.clips}))

    @property
    def emotions(self) -> dict[str, int]:
        """How many clips carry each emotion word, most frequent first."""
        return dict(Counter(clip.emotion for clip in self.clips).most_common())

    @property
    def faults(self) -> tuple[Defect, ...]:
        """The defects that are not known from the release: what is wrong with this copy."""
        return tuple(defect for defect in self.defects if not defect.known)
