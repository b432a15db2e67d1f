"""The records that all packages share: a clip, a fold, a prediction; and who is probably the same person.

They are frozen and carry their own names, so that nothing depends on the order of rows.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

WORDS = re.compile(r"\d+|[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Clip:
    """One annotated clip of a corpus; `None` where the corpus does not say.

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
        """Corpus and subject together: two corpora may both have a subject `01`; a column `person` overrides it."""
        return self.extra.get("person", "").strip() or f"{self.corpus}/{self.subject}"

    @property
    def key(self) -> str:
        """The clip's name among all corpora."""
        return f"{self.corpus}/{self.subject}/{self.clip}"


@dataclass(frozen=True, slots=True)
class Fold:
    """What one model is trained on, and what it predicts afterwards, once."""

    name: str
    train: tuple[Clip, ...]
    test: tuple[Clip, ...]

    @property
    def held_out(self) -> frozenset[str]:
        """The people that training never sees."""
        return frozenset(clip.person for clip in self.test)


@dataclass(frozen=True, slots=True)
class Prediction:
    """The prediction of one fold for one clip.

    `strict` comes from the weights after the last epoch, as do `scores` (in the order of the
    protocol's classes). `best_epoch` is the prediction of the epoch that suited the held-out people best: it leaks.

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
        """Corpus and subject, or who a column `person` says it is, as in `Clip.person`."""
        return self.named or f"{self.corpus}/{self.subject}"

    @property
    def key(self) -> str:
        """The clip's name, as in `Clip.key`."""
        return f"{self.corpus}/{self.subject}/{self.clip}"
