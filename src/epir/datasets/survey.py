"""Compare a corpus on disk with a complete release (expected.toml): counts of clips, people and classes."""

import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any

from epir.core.engines import Progress, Silent
from epir.core.errors import ProtocolError
from epir.core.records import Clip, probably_one
from epir.core.words import counted, people
from epir.datasets.base import Corpus, Defect
from epir.datasets.intervals import KINDS
from epir.datasets.protocols import ACROSS, Protocol, get_protocol, list_protocols


@dataclass(frozen=True, slots=True)
class Counts:
    """The number of clips, of people, and of clips per class or emotion word."""

    clips: int | None = None
    people: int | None = None
    classes: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, values: Mapping[str, Any], classes: str) -> "Counts":
        """The counts of a table as in expected.toml."""
        return cls(values.get("clips"), values.get("people"), values.get(classes, {}))

    def departures(self, expected: "Counts") -> Iterator[str]:
        """One sentence per count that differs from the expected one; counts without an expected value are skipped."""
        if expected.clips is not None and self.clips != expected.clips:
            yield f"{counted(self.clips or 0, 'clip')}, expected {expected.clips}"
        if expected.people is not None and self.people != expected.people:
            yield f"{people(self.people or 0)}, expected {expected.people}"
        for name in {**expected.classes, **self.classes} if expected.classes else ():
            actual, due = self.classes.get(name, 0), expected.classes.get(name, 0)
            if actual != due:
                yield f"{counted(actual, 'clip')} of {name}, expected {due}"


def count_clips(clips: Sequence[Clip], labels: Iterable[str], order: Sequence[str] = ()) -> Counts:
    """The counts of clips with these labels; the classes in `order` are listed first, even if empty."""
    counter = Counter(labels)
    classes = {
        name: counter[name] for name in (*order, *(name for name, _ in counter.most_common() if name not in order))
    }
    return Counts(len(clips), len({clip.person for clip in clips}), classes)


def count_protocol(protocol: Protocol, clips: Iterable[Clip]) -> Counts:
    """The counts of these clips under a protocol, without clips whose label it does not know."""
    labelled = []
    for clip in clips:
        try:
            label = protocol.label(clip)
        except ProtocolError:
            continue  # the loader has listed the word as a defect
        if label is not None:
            labelled.append((clip, label))
    return count_clips([clip for clip, _ in labelled], [label for _, label in labelled], protocol.classes)


def protocols_for(corpus: Corpus) -> tuple[Protocol, ...]:
    """The protocols a corpus can be evaluated under: those made for it, or else those that know all its labels."""
    names = {clip.corpus for clip in corpus.clips}
    known = [get_protocol(name) for name in list_protocols() if name not in ("sde", *ACROSS)]
    matching = tuple(protocol for protocol in known if names & set(protocol.maps))
    if matching:
        return matching
    if names & set(get_protocol(ACROSS[0]).maps):
        return (get_protocol(ACROSS[0]),)
    try:
        anything = get_protocol("sde", corpus.clips)
    except ProtocolError:
        return ()  # no clip has a label
    composite = get_protocol("cde")
    fits = {name.casefold() for name in anything.classes} <= set(composite.classes)
    return (composite, anything) if fits else (anything,)


def expected_composite(protocol: str = "cde") -> Counts:
    """The counts of the composite if all its corpora are complete."""
    return Counts.of(_expected()["composite"][protocol], "classes")


def further_counts(corpus: Corpus) -> dict[str, int]:
    """The number of long videos present and of their movements, or of clips per part of a fixed split."""
    videos = [video for video in corpus.videos if video.path.exists()]
    if corpus.videos:
        return {
            "videos": len(videos),
            "videos with movements": sum(bool(video.intervals) for video in videos),
            **{kind: sum(len(video.of_kind(kind)) for video in videos) for kind in KINDS},
            "people in videos": len({video.person for video in videos if video.intervals}),
        }
    return dict(Counter(clip.extra["split"] for clip in corpus.present if "split" in clip.extra))


def expected_copy(name: str, sheet: str) -> dict[str, Any]:
    """The counts of a complete copy in expected.toml; if the sheet's version is unknown, those of the only version."""
    versions = _expected().get(name, {})
    only = next(iter(versions.values())) if len(versions) == 1 else {}
    version: dict[str, Any] = versions.get(sheet, only if sheet == "unknown" else {})
    return version


@cache
def _expected() -> dict[str, Any]:
    return tomllib.loads(files("epir.datasets").joinpath("expected.toml").read_text(encoding="utf-8"))


Opener = Callable[[Clip], Sequence[str]]  # opens every frame of a clip and returns the problems in words
Fingerprint = Callable[[Clip], str | None]  # equal for clips that show the same frames; `None` if unknown


@dataclass(frozen=True)
class Survey:
    """The actual counts, the expected counts, and where they differ."""

    corpus: Corpus
    counts: Counts
    expected: Counts | None
    protocols: Mapping[str, tuple[Counts, Counts | None]]  # actual, expected
    departures: tuple[str, ...]
    further: Mapping[str, tuple[int, int | None]] = field(default_factory=dict)  # movements, parts: actual, expected

    @property
    def is_clean(self) -> bool:
        """Whether this copy is complete and without faults."""
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
            "annotated": len(corpus.clips),
            "people": self.counts.people,
            "emotions": dict(self.counts.classes),
            "protocols": {name: asdict(actual) for name, (actual, _) in self.protocols.items()},
            "further": {name: actual for name, (actual, _) in self.further.items()},
            "expected": None
            if (due := self.expected) is None
            else {"clips": due.clips, "people": due.people, "emotions": dict(due.classes)},
            "defects": shortfalls
            + [{"clip": one.clip, "problem": one.problem, "known": one.known} for one in corpus.defects],
            "corrected": [asdict(correction) for correction in corpus.corrected],
            "notes": list(corpus.notes),
        }


def survey(
    corpus: Corpus,
    *,
    opener: Opener | None = None,
    fingerprint: Fingerprint | None = None,
    progress: Progress | None = None,
) -> Survey:
    """Compare the clips whose frames are present with a complete copy; an `opener` also opens every frame.

    People who are probably the same are a defect; with a `fingerprint`, so is one clip under two names.
    """
    twice = (*same_people(corpus.clips), *(copied_clips(corpus.clips, fingerprint) if fingerprint else ()))
    corpus = replace(corpus, defects=corpus.defects + twice)
    if opener is not None:
        damaged = tuple(_open_all(corpus, opener, progress or Silent()))
        corpus = replace(corpus, defects=corpus.defects + damaged)
    present, complete = corpus.present, expected_copy(corpus.name, corpus.sheet)
    counts = count_clips(present, [clip.emotion for clip in present])
    known = corpus.expected or complete
    expected = Counts.of(known, "emotions") if known else None
    protocols: dict[str, tuple[Counts, Counts | None]] = {}
    for protocol in protocols_for(corpus):
        values = complete.get("protocols", {}).get(protocol.name)
        protocols[protocol.name] = count_protocol(protocol, present), Counts.of(values, "classes") if values else None
    published = complete.get("further", {})  # what is not published is not listed
    actual = further_counts(corpus)
    further = {name: (actual.get(name, 0), published.get(name)) for name in {**actual, **published}}

    departures = [corpus.layout] if corpus.layout else []
    if expected is not None:
        departures += counts.departures(expected)
    elif corpus.sheet == "unknown":
        departures.append("the version of the sheet is unknown, so its counts cannot be compared")
    for name, (here, due) in protocols.items():
        departures += [f"{name}: {text}" for text in here.departures(due)] if due else []
    departures += [f"{n} {name}, expected {due}" for name, (n, due) in further.items() if due not in (None, n)]
    return Survey(corpus, counts, expected, protocols, tuple(departures), further)


def same_people(clips: Sequence[Clip]) -> Iterator[Defect]:
    """People whose names differ only in capitals, spaces or leading zeros: probably one person, spelt in two ways."""
    for first, *others in probably_one({clip.person for clip in clips}):
        for other in others:
            yield Defect(other, f"probably the same person as {first}: give both one name", kind="same person")


def copied_clips(clips: Sequence[Clip], fingerprint: Fingerprint) -> Iterator[Defect]:
    """Clips that show the same onset and apex frames as an earlier one."""
    first: dict[str, Clip] = {}
    for clip in clips:
        identity = fingerprint(clip) if clip.frames is not None else None
        if identity is None:
            continue
        other = first.setdefault(identity, clip)
        if other is not clip:
            yield Defect(clip.key, f"its onset and apex are the same pictures as those of {other.key}", kind="copy")


def _open_all(corpus: Corpus, opener: Opener, progress: Progress) -> Iterator[Defect]:
    clips = [clip for clip in corpus.clips if clip.frames is not None]
    progress.start("opening frames", len(clips))
    for clip in clips:
        for problem in opener(clip):
            yield Defect(clip.key, problem)
        progress.advance(note=clip.key)
    progress.finish()
