"""The records that all packages share: a clip, a fold, a prediction; and people whose names are spelt in several ways.

Records are frozen and carry their names, so that nothing depends on the order of rows.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from epir.core.errors import EpirError

WORDS = re.compile(r"\d+|[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Clip:
    """One annotated clip of a corpus; `None` for anything the corpus does not say.

    Frame numbers are those of the file names, or indices from 0 in a video.

    >>> clip = Clip("casme2", "sub01", "EP02_01f", "happiness", onset=46, apex=59, offset=86, fps=200.0)
    >>> clip.person, clip.key
    ('casme2/sub01', 'casme2/sub01/EP02_01f')
    """

    corpus: str
    subject: str
    clip: str
    emotion: str
    onset: int | None = None
    apex: int | None = None
    offset: int | None = None
    fps: float | None = None
    frames: Path | None = None  # a folder of pictures or a video file
    extra: Mapping[str, str] = field(default_factory=dict)  # further columns: action units, ...

    @property
    def person(self) -> str:
        """Corpus and subject, since two corpora may both have a subject `01`; a column `person` overrides it."""
        return self.extra.get("person", "").strip() or f"{self.corpus}/{self.subject}"

    @property
    def key(self) -> str:
        """The clip's name among all corpora."""
        return f"{self.corpus}/{self.subject}/{self.clip}"


@dataclass(frozen=True, slots=True)
class Fold:
    """The clips that one model is trained on, and the clips that it then predicts once."""

    name: str
    train: tuple[Clip, ...]
    test: tuple[Clip, ...]

    @property
    def held_out(self) -> frozenset[str]:
        """The people whom training never sees."""
        return frozenset(clip.person for clip in self.test)


@dataclass(frozen=True, slots=True)
class Prediction:
    """The prediction of one fold for one clip.

    `strict` and `scores` (in the order of the protocol's classes) come from the weights after the last epoch.
    `best_epoch` is the prediction of the epoch with the best score on the held-out people: it leaks.

    >>> one = Prediction("casme2", "sub01", "EP02_01f", "positive", "positive", "negative", 0, "sub01", (0.1, 0.7, 0.2))
    >>> one.person, one.strict == one.truth
    ('casme2/sub01', True)
    """

    corpus: str
    subject: str
    clip: str
    truth: str
    strict: str
    best_epoch: str
    seed: int
    fold: str
    scores: tuple[float, ...]
    named: str = ""  # the clip's column `person`

    @property
    def person(self) -> str:
        """The person, as in `Clip.person`."""
        return self.named or f"{self.corpus}/{self.subject}"

    @property
    def key(self) -> str:
        """The clip's name, as in `Clip.key`."""
        return f"{self.corpus}/{self.subject}/{self.clip}"


def plain_name(person: str) -> str:
    """A name normalised for comparison: equal for `Anna` and `anna `, and for `01` and `1`; slashes stay.

    >>> plain_name("casme2/Sub_01"), plain_name("casme2/sub1")
    ('casme-2/sub-1', 'casme-2/sub-1')
    """
    return "/".join(_plain(part) for part in person.split("/"))


def probably_one(people: Iterable[str]) -> list[tuple[str, ...]]:
    """Groups of different names that are probably one person, sorted."""
    groups: dict[str, set[str]] = {}
    for person in people:
        groups.setdefault(plain_name(person), set()).add(person)
    return sorted(tuple(sorted(names)) for names in groups.values() if len(names) > 1)


def fill_people(clips: Sequence[Clip], *, error: type[EpirError], first_row: int | None = None) -> tuple[Clip, ...]:
    """The clips with empty cells of the column `person` filled from other clips of the same subject.

    Otherwise one person could be on both sides of a fold. Two people for one subject are an error that names the clips,
    or their rows if `first_row` is the row of the first clip.
    """
    for places, sentence in conflicting_people(clips):
        rows = [f"row {first_row + place}" if first_row is not None else clips[place].key for place in places]
        raise error(f"{sentence} ({', '.join(rows)})", fix="correct the column person, or give them two subjects")
    names = {(clip.corpus, clip.subject): name for clip in clips if (name := _named(clip))}

    def filled(clip: Clip) -> Clip:
        name = names.get((clip.corpus, clip.subject))
        return clip if name is None or _named(clip) else replace(clip, extra={**clip.extra, "person": name})

    return tuple(map(filled, clips))


def conflicting_people(clips: Sequence[Clip]) -> Iterator[tuple[list[int], str]]:
    """Subjects whose clips name two or more people: the index of one clip per person, and a sentence."""
    subjects: dict[tuple[str, str], dict[str, int]] = {}
    for place, clip in enumerate(clips):
        if name := _named(clip):
            subjects.setdefault((clip.corpus, clip.subject), {}).setdefault(name, place)
    for (corpus, subject), names in subjects.items():
        if len(names) > 1:
            people = " and ".join(map(repr, names))
            yield list(names.values()), f"the subject {corpus}/{subject} is {people} in the column person"


def _named(clip: Clip) -> str:
    return clip.extra.get("person", "").strip()


def _plain(part: str) -> str:
    text = unicodedata.normalize("NFKC", part).casefold().strip()
    words = [word.lstrip("0") or "0" if word.isdecimal() else word for word in WORDS.findall(text)]
    return "-".join(words) or text  # a name without letters and digits is unchanged
