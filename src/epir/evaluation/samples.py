"""Map sets and a protocol -> the clips of an evaluation, each with its class and the location of its map.

Axes: n clips, S map size
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import compress
from pathlib import Path

import numpy as np

from epir.core.config import digest
from epir.core.errors import LeakError, MapSetError, ProtocolError
from epir.core.facs import NO_UNITS, is_annotated
from epir.core.records import Clip, fill_people
from epir.core.words import counted
from epir.datasets.protocols import Protocol, get_protocol
from epir.maps.mapset import MapSet, check_same_shape, load_maps


@dataclass(frozen=True, slots=True)
class Sample:
    """A clip, its class, and the location of its map: folder and row."""

    clip: Clip
    label: str
    folder: str
    row: int
    digest: str = ""  # of the map set; every process that opens it compares


@dataclass(frozen=True)
class EvaluationSet:
    """The clips of an evaluation, sorted by name."""

    protocol: str
    classes: tuple[str, ...]
    samples: tuple[Sample, ...]
    size: int
    maps: tuple[str, ...]  # digests of the map sets
    left_out: int = 0  # clips that are not part of the protocol
    folds: str = "loso"  # the protocol's default folds
    without_units: int | None = None  # clips left out because their action units are not annotated, if these are scored
    protocol_digest: str = ""  # of the content of a user's protocol file
    learns_units: bool = False  # action units are trained on or scored, and so part of the digest

    @property
    def clips(self) -> tuple[Clip, ...]:
        """The clips, in the order of the samples."""
        return tuple(sample.clip for sample in self.samples)

    @property
    def labels(self) -> dict[str, str]:
        """The class of each clip by its key."""
        return {sample.clip.key: sample.label for sample in self.samples}

    @property
    def digest(self) -> str:
        """A digest of clips, classes and named people, a user's protocol file, and of action units if learned."""
        labels = [[sample.clip.key, sample.label] for sample in self.samples]
        extra = {"protocol": self.protocol_digest} if self.protocol_digest else {}
        if named := [[clip.key, clip.person] for clip in self.clips if clip.person != f"{clip.corpus}/{clip.subject}"]:
            extra["people"] = digest(named)
        if self.learns_units:
            extra["units"] = digest(annotations(self.samples))
        return digest({"clips": labels, **extra} if extra else labels)


def gather(sets: Sequence[MapSet], protocol: str) -> EvaluationSet:
    """Return the clips that take part in the protocol (a name or a file); raise an error if it cannot work."""
    check_same_shape(sets)
    clips = fill_people([clip for mapset in sets for clip in mapset.clips], error=LeakError)
    by_key = {clip.key: clip for clip in clips}
    rule = get_protocol(protocol, clips)
    rule.check_columns(clips)
    rule.check_names(clips)
    samples = [
        Sample(by_key[clip.key], label, str(mapset.folder), row, mapset.digest)
        for mapset in sets
        for row, clip in enumerate(mapset.clips)
        if (label := rule.label(clip)) is not None
    ]
    _check_classes(rule, [sample.label for sample in samples], clips)
    if parts := rule.split_parts({sample.clip.person for sample in samples}):
        samples = [_with(sample, split=parts[sample.clip.person]) for sample in samples]
    return EvaluationSet(
        protocol=rule.name,
        classes=rule.classes,
        samples=tuple(sorted(samples, key=lambda sample: sample.clip.key)),
        size=sets[0].size,
        maps=tuple(mapset.digest for mapset in sets),
        left_out=len(clips) - len(samples),
        folds=rule.folds,
        protocol_digest=rule.digest,
    )


def with_units(clips: EvaluationSet) -> EvaluationSet:
    """Keep the clips with annotated action units.

    Under `cd6me` all six corpora are annotated, so a clip without units has none of them.
    """
    samples, has_units = clips.samples, [is_annotated(text) for text in annotations(clips.samples)]
    if clips.protocol == "cd6me":
        annotated = tuple(
            sample if is_present else _with(sample, action_units=NO_UNITS)
            for sample, is_present in zip(samples, has_units, strict=True)
        )
    else:
        annotated = tuple(compress(samples, has_units))
    if not annotated:
        raise ProtocolError(
            f"none of {counted(len(clips.samples), 'clip')} has annotated action units",
            fix="give a map set whose clips.csv has a column action_units, for example of CASME II or SAMM",
        )
    bare = len(clips.samples) - len(annotated)
    return replace(clips, samples=annotated, left_out=clips.left_out + bare, without_units=bare)


def annotations(samples: Sequence[Sample]) -> list[str]:
    """Return the annotated action units of each clip, such as `4+L12`, or ''."""
    return [sample.clip.extra.get("action_units", "") for sample in samples]


def _with(sample: Sample, **cells: str) -> Sample:
    """Add columns to the clip of a sample."""
    return replace(sample, clip=replace(sample.clip, extra={**sample.clip.extra, **cells}))


def read_maps(samples: Sequence[Sample]) -> np.ndarray:
    """Read the maps (n, 3, S, S) of the samples from disk; raise an error if a map set was replaced."""
    stamps = {(sample.folder, sample.digest): _stamp(sample.folder) for sample in samples}
    opened = {folder: _opened(folder, digest, stamp) for (folder, digest), stamp in stamps.items()}
    maps = np.stack([opened[sample.folder][sample.row] for sample in samples])
    for (folder, _), stamp in stamps.items():
        if _stamp(folder) != stamp:
            raise _replaced(folder)
    return maps


@lru_cache(maxsize=16)
def _opened(folder: str, digest: str, stamp: tuple[int, int, int]) -> np.ndarray:
    """Open and verify a map set, once per process while its file stays the same."""
    mapset = load_maps(Path(folder), verify=True)
    if digest and mapset.digest != digest:
        raise _replaced(folder)
    return mapset.maps


def _replaced(folder: str) -> MapSetError:
    return MapSetError(
        f"the map set {folder} was replaced or changed while it was in use",
        fix="restore the original map set and run the same command again, or start over with --force",
    )


def _stamp(folder: str) -> tuple[int, int, int]:
    """Return a stamp that changes when the map set is rewritten, as a key for the cache."""
    try:
        state = (Path(folder) / "maps.npy").stat()
    except FileNotFoundError:
        raise _replaced(folder) from None
    return state.st_ino, state.st_mtime_ns, state.st_size


def _check_classes(rule: Protocol, labels: Sequence[str], clips: Sequence[Clip]) -> None:
    counts = Counter(labels)
    words = ", ".join(f"{word!r}" for word in sorted({clip.emotion for clip in clips}))
    if not counts:
        raise ProtocolError(
            f"none of {counted(len(clips), 'clip')} takes part in the protocol {rule.name}: their labels are {words}",
            fix="choose the protocol of this corpus with --protocol, or sde, which takes any labels",
        )
    if len(rule.classes) < 2:
        raise ProtocolError(
            f"all clips have the same class, {rule.classes[0]!r}", fix="give maps of at least two classes"
        )
    missing = [name for name in rule.classes if name not in counts]
    if missing:
        raise ProtocolError(
            f"the classes of the protocol {rule.name} are {', '.join(rule.classes)}, but no clip is "
            f"{' or '.join(missing)}",
            fix="give all map sets of the protocol, or use --protocol sde, which takes the classes of the maps",
        )
