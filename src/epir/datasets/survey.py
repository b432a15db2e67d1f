"""A survey of a corpus on disk: what is there, against what should be there."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from epir.core.progress import Progress, Silent
from epir.core.records import Clip
from epir.datasets.base import Corpus, Defect
from epir.datasets.counts import Counts, count, count_protocol, expected_corpus, expected_protocol, protocols_for

Opener = Callable[[Clip], str | None]  # opens every picture of a clip; a sentence if some cannot be opened


@dataclass(frozen=True)
class Survey:
    """What was found, what was expected, and where they differ."""

    corpus: Corpus
    counts: Counts
    expected: Counts | None
    protocols: Mapping[str, tuple[Counts, Counts | None]]  # found, expected
    departures: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        """Whether nothing is missing and nothing is wrong with this copy."""
        return not self.departures and not self.corpus.faults

    def to_dict(self) -> dict[str, Any]:
        """The survey as plain values, in the form of `epir check --json`."""
        corpus = self.corpus
        shortfalls = [{"clip": corpus.name, "problem": text, "known": False} for text in self.departures]
        return {
            "corpus": corpus.name,
            "sheet": corpus.sheet,
            "tree": corpus.tree,
            "clips": self.counts.clips,
            "people": self.counts.people,
            "emotions": dict(self.counts.classes),
            "protocols": {name: asdict(found) for name, (found, _) in self.protocols.items()},
            "expected": _plain(self.expected),
            "defects": shortfalls + [asdict(defect) for defect in corpus.defects],
            "corrected": [asdict(correction) for correction in corpus.corrected],
            "notes": list(corpus.notes),
        }


def survey(corpus: Corpus, *, opener: Opener | None = None, progress: Progress | None = None) -> Survey:
    """Compare a corpus with what a complete copy holds; with an `opener` the pictures are opened too."""
    if opener is not None:
        found = tuple(_open_all(corpus, opener, progress or Silent()))
        corpus = replace(corpus, defects=corpus.defects + found)
    counts = count(corpus.clips, [clip.emotion for clip in corpus.clips])
    expected = expected_corpus(corpus.name, corpus.sheet)
    protocols = {
        protocol.name: (
            count_protocol(protocol, corpus.clips),
            expected_protocol(protocol.name, corpus.name, corpus.sheet),
        )
        for protocol in protocols_for(corpus)
    }
    departures = tuple(counts.departures(expected)) if expected else ()
    if expected is None and corpus.sheet == "unknown":
        departures = ("which version of the sheet this is cannot be told, so that its counts cannot be compared",)
    departures += tuple(
        f"{name}: {text}" for name, (found, wanted) in protocols.items() if wanted for text in found.departures(wanted)
    )
    return Survey(corpus, counts, expected, protocols, departures)


def _open_all(corpus: Corpus, opener: Opener, progress: Progress) -> Iterator[Defect]:
    clips = [clip for clip in corpus.clips if clip.frames is not None]
    progress.start("opening pictures", len(clips))
    for clip in clips:
        problem = opener(clip)
        if problem:
            yield Defect(clip.key, problem)
        progress.advance(note=clip.key)
    progress.finish()


def _plain(counts: Counts | None) -> dict[str, Any] | None:
    if counts is None:
        return None
    return {"clips": counts.clips, "people": counts.people, "emotions": dict(counts.classes)}
