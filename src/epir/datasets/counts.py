"""Counting clips, people and classes, and comparing the counts with those of a complete release (expected.toml)."""

import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from epir.core.errors import ProtocolError
from epir.core.records import Clip
from epir.datasets.base import Corpus
from epir.datasets.protocols import Protocol, get_protocol, list_protocols


@dataclass(frozen=True, slots=True)
class Counts:
    """How many clips and people there are, and how many clips of each class or emotion word."""

    clips: int | None = None
    people: int | None = None
    classes: Mapping[str, int] = field(default_factory=dict)

    def departures(self, expected: "Counts") -> Iterator[str]:
        """One sentence for each count that is not the expected one; what nothing is expected of is passed over."""
        for name, found, wanted in (("clips", self.clips, expected.clips), ("people", self.people, expected.people)):
            if wanted is not None and found != wanted:
                yield f"{found} {name}, expected {wanted}"
        for name in {**expected.classes, **self.classes} if expected.classes else ():
            if self.classes.get(name, 0) != expected.classes.get(name, 0):
                yield f"{self.classes.get(name, 0)} clips of {name}, expected {expected.classes.get(name, 0)}"


def count(clips: Sequence[Clip], labels: Iterable[str], order: Sequence[str] = ()) -> Counts:
    """The counts of clips that carry these labels; `order` names classes that are listed even if empty."""
    found = Counter(labels)
    classes = {name: found[name] for name in (*order, *(name for name, _ in found.most_common() if name not in order))}
    return Counts(len(clips), len({clip.person for clip in clips}), classes)


def count_protocol(protocol: Protocol, clips: Iterable[Clip]) -> Counts:
    """What a protocol makes of these clips; clips whose label it does not know are left out of the count."""
    labelled = []
    for clip in clips:
        try:
            label = protocol.label(clip)
        except ProtocolError:
            continue  # the loader has listed the word as a defect
        if label is not None:
            labelled.append((clip, label))
    return count([clip for clip, _ in labelled], [label for _, label in labelled], protocol.classes)


def protocols_for(corpus: Corpus) -> tuple[Protocol, ...]:
    """The protocols that a corpus can be evaluated under: those made for it, or else those that know all its labels."""
    known = [get_protocol(name) for name in list_protocols() if name != "sde"]
    own = tuple(protocol for protocol in known if corpus.name in protocol.maps)
    if own:
        return own
    try:
        anything = get_protocol("sde", corpus.clips)
    except ProtocolError:
        return ()  # no clip has a label
    composite = get_protocol("cde")
    fits = {name.casefold() for name in anything.classes} <= set(composite.classes)
    return (composite, anything) if fits else (anything,)


def expected_corpus(name: str, sheet: str) -> Counts | None:
    """What a complete copy holds; `None` where nothing is known."""
    values = _version(name, sheet)
    return _counts(values, "emotions") if values else None


def expected_protocol(protocol: str, name: str, sheet: str) -> Counts | None:
    """What a protocol makes of a complete copy."""
    values = _version(name, sheet).get("protocols", {}).get(protocol)
    return _counts(values, "classes") if values else None


def expected_composite(protocol: str = "cde") -> Counts:
    """What the composite holds when all its corpora are complete."""
    return _counts(_expected()["composite"][protocol], "classes")


def _version(name: str, sheet: str) -> dict[str, Any]:
    """The table of one version; where the sheet does not tell its version, the only one there is."""
    versions = _expected().get(name, {})
    only = next(iter(versions.values())) if len(versions) == 1 else {}
    found: dict[str, Any] = versions.get(sheet, only if sheet == "unknown" else {})
    return found


def _counts(values: Mapping[str, Any], classes: str) -> Counts:
    return Counts(values.get("clips"), values.get("people"), values.get(classes, {}))


@cache
def _expected() -> dict[str, Any]:
    return tomllib.loads(files("epir.datasets").joinpath("expected.toml").read_text(encoding="utf-8"))
