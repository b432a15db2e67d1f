"""Export the decisions of a study for other programs.

| name | content |
|---|---|
| `megc.csv` | movements in the format of the spotting challenges, frames counted from 1 |
| `intervals.csv` | all recordings with their movements, an annotation for `epir score` |
| `decisions.csv` | every decision of every coder, with rejections and notes |
| any other `.csv` | a manifest: one row per micro-expression with an emotion, for `epir check manifest` and so on |
| `.eaf`, `.TextGrid` | tiers for ELAN and Praat, one file per recording |

All but `decisions.csv` hold the decisions of one coder: adjudication ("agreed") if it exists, or else the only coder.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import count
from pathlib import Path, PurePosixPath
from typing import cast

import numpy as np

from epir.annotation.adjudication import cases
from epir.annotation.agreement import Coding, accepted, codings, match_movements
from epir.annotation.records import Decision, Recording
from epir.annotation.reliability import unit_reliability
from epir.annotation.schema import StudyError
from epir.annotation.study import Study
from epir.annotation.vocabulary import AGREED
from epir.core.files import csv_text, write_text
from epir.core.output import claimed_file, resolved
from epir.core.words import counted, people
from epir.datasets.annotations import (
    APEX,
    EMOTION,
    UNITS,
    Tier,
    TierInterval,
    manifest_text,
    without_overlap,
    write_eaf,
    write_textgrid,
)
from epir.datasets.intervals import Interval, Kind, LongVideo, in_order, write_intervals
from epir.spotting.megc.submission import SPOTTING_HEADERS, TYPES

MACRO, NOTE = "macro-expression", "note"  # tiers
EXTRA_COLUMNS = ("coder", "agreement", "unit_agreement", "note")  # of a manifest
DECISION_COLUMNS = (
    "recording", "person", "face", "movement", "source", "probability", "reason", "coder", "blind", "state", "kind",
    "onset", "apex", "offset", "onset_s", "apex_s", "offset_s", "emotion", "action_units", "note",
)  # fmt: skip
CHALLENGE = "2024"  # whose columns megc.csv has
FILE_NAMES = "manifest.csv, decisions.csv, intervals.csv, megc.csv, NAME.eaf or NAME.TextGrid"

Written = tuple[list[Path], Sequence[Coding], list[str]]  # files, exported movements, notes


@dataclass(frozen=True)
class StudyExport:
    """The files of an export, and what they hold."""

    coder: str  # empty for all coders
    files: tuple[Path, ...]
    movements: int
    people: int
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The lines for a terminal."""
        what = f"{counted(self.movements, 'movement')} of {people(self.people)}"
        by = f", as coded by {self.coder}" if self.coder else ""
        lines = [f"{self.files[0] if len(self.files) == 1 else f'{len(self.files)} files'}: {what}{by}"]
        lines += [f"written: {path}" for path in self.files] if len(self.files) > 1 else []
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def export_study(study: Study, target: str | Path, *, coder: str | None = None, force: bool = False) -> StudyExport:
    """Write the study to a file whose name selects the format (see the top of this module)."""
    path = resolved(target)
    study.check_people()
    ending = path.suffix.casefold()
    if ending not in (".csv", ".eaf", ".textgrid"):
        raise StudyError(f"the name {target} selects no format", fix=f"name it {FILE_NAMES}")
    if path.name.casefold() == "decisions.csv":
        return _write_decisions(study, path, coder, force)
    name = exported_coder(study, coder)
    coded = accepted(codings(study, [name]))
    notes = [*_open_cases(study, name), *_missing_videos(study, coded)]
    writers: Mapping[str, Callable[..., Written]] = {
        "megc.csv": _write_megc,
        "intervals.csv": _write_intervals,
    }
    if ending != ".csv":
        files, written, more = _write_tiers(study, path, coded, force)
    else:
        write = writers.get(path.name.casefold(), _write_manifest)
        with claimed_file(path, force=force, inputs=[study.path(recording) for recording in study.recordings()]):
            files, written, more = write(study, path, coded)
    persons = {coding.person for coding in written}
    return StudyExport(name, tuple(files), len(written), len(persons), (*more, *notes))


def exported_coder(study: Study, coder: str | None = None) -> str:
    """The coder to export: the named one, adjudication, or the only one."""
    names = study.coders()
    if coder is not None:
        if coder not in names:
            known = f"name one of: {', '.join(names)}" if names else f"code it first: epir annotate {study.folder}"
            raise StudyError(f"{coder} has decided nothing in {study.folder}", fix=known)
        return coder
    if AGREED in names or len(names) == 1:
        return AGREED if AGREED in names else names[0]
    if not names:
        raise StudyError(f"nobody has decided anything in {study.folder}", fix=f"epir annotate {study.folder}")
    raise StudyError(
        f"{study.folder} has decisions of {', '.join(names)}, but no adjudication",
        fix=f"settle them: epir annotate {study.folder} --coder agreed; or export one coder: --coder {names[0]}",
    )


def _open_cases(study: Study, coder: str) -> list[str]:
    """Notes about movements that adjudication has not settled yet."""
    if coder != AGREED:
        return []
    waiting = [case for case in cases(study) if case.settled is None]
    differing = sum(bool(case.differs) for case in waiting)
    alone = sum(
        not case.differs and any(decision and decision.state == "accept" for decision in case.decisions.values())
        for case in waiting
    )
    notes = [f"{counted(differing, 'disagreement')} not settled yet"] if differing else []
    return notes + ([f"left out: {counted(alone, 'movement')} that only one coder has seen"] if alone else [])


def _missing_videos(study: Study, coded: Sequence[Coding]) -> list[str]:
    """Notes about recordings with movements whose video was moved or removed."""
    used = {coding.recording for coding in coded}
    recordings = [recording for recording in study.recordings() if recording.id in used]
    missing = [recording.path for recording in recordings if not study.path(recording).exists()]
    return [f"{path} does not exist: put it back, or start epir annotate on its new folder" for path in missing]


# ------------------------------------------------------------------------------------------------------- manifest


def _write_manifest(study: Study, path: Path, coded: Sequence[Coding]) -> Written:
    recordings = {recording.id: recording for recording in study.recordings()}
    micro = [coding for coding in coded if coding.decision.kind == "micro"]
    usable = [coding for coding in micro if coding.decision.emotion and coding.decision.apex > coding.decision.onset]
    shares = agreement_of(usable, codings(study))
    numbers: dict[int, Iterator[int]] = defaultdict(partial(count, 1))  # of the clips of each recording
    rows = [
        {
            "clip": f"{recordings[coding.recording].name}_{next(numbers[coding.recording]):02d}",
            "subject": coding.person,
            "emotion": coding.decision.emotion,
            "frames": str(study.path(recordings[coding.recording])),
            "onset": str(coding.decision.onset),
            "apex": str(coding.decision.apex),
            "offset": str(coding.decision.offset),
            "fps": f"{coding.fps:.10g}",
            "action_units": unit_codes(coding.decision),
            "coder": coding.decision.coder,
            "agreement": share,
            "unit_agreement": units,
            "note": " ".join(coding.decision.note.split()),
        }
        for coding, (share, units) in zip(usable, shares, strict=True)
    ]
    if not rows:
        raise StudyError(
            f"{study.folder} has no micro-expression with an emotion yet",
            fix="accept candidates and name their emotions, or export decisions.csv",
        )
    write_text(path, manifest_text(rows, path.parent, EXTRA_COLUMNS))
    unnamed = sum(not coding.decision.emotion for coding in micro)
    left = [
        counted(number, one, several)
        for number, one, several in (
            (len(coded) - len(micro), "macro-expression", "macro-expressions"),
            (unnamed, "movement without an emotion", "movements without an emotion"),
            (len(micro) - len(usable) - unnamed, "movement with apex at onset", "movements with apex at onset"),
        )
        if number
    ]
    notes = [f"left out: {', '.join(left)}"] if left else []
    others = sum(coding.face > 0 for coding in usable)
    if others:
        notes.append(f"{counted(others, 'movement')} of other faces: epir prepare uses only the largest face")
    return [path], usable, notes


def unit_codes(decision: Decision) -> str:
    """Action units as annotators write them: `L12B+4`."""
    return "+".join(map(str, decision.units))


def agreement_of(exported: Sequence[Coding], everything: Sequence[Coding]) -> list[tuple[str, str]]:
    """For each movement, the share of other coders with the same emotion, and the reliability of its units.

    Only coders who decided something in the recording count; both are empty if there are none.
    """
    same: list[list[bool]] = [[] for _ in exported]
    units: list[list[tuple[frozenset[int], frozenset[int]]]] = [[] for _ in exported]
    names = {coding.decision.coder for coding in exported}
    for coder in sorted({coding.decision.coder for coding in everything} - names):
        decided = [coding for coding in everything if coding.decision.coder == coder]
        others = accepted(decided)
        partners = {place: others[other] for place, other in match_movements(exported, others)}
        coded_recordings = {coding.recording for coding in decided}
        for place, one in enumerate(exported):
            if one.recording in coded_recordings:
                other = partners.get(place)
                same[place].append(other is not None and other.decision.emotion == one.decision.emotion)
                units[place] += [(one.units, other.units)] if other is not None else []
    return [
        (f"{sum(hits) / len(hits):.2f}" if hits else "", _number(unit_reliability(pairs)))
        for hits, pairs in zip(same, units, strict=True)
    ]


def _number(value: float) -> str:
    return "" if value != value else f"{value:.2f}"


# ------------------------------------------------------------------------------------------------ lists of movements


def _write_megc(study: Study, path: Path, coded: Sequence[Coding]) -> Written:
    names = {recording.id: recording.name for recording in study.recordings()}
    rows = [
        (names[coding.recording], coding.decision.onset + 1, coding.decision.offset + 1, TYPES[_kind(coding)])
        for coding in coded
    ]
    write_text(path, csv_text(SPOTTING_HEADERS[CHALLENGE], rows))
    return [path], coded, []


def _write_intervals(study: Study, path: Path, coded: Sequence[Coding]) -> Written:
    videos = []
    for recording in study.recordings():
        name = recording.name
        for face in sorted({coding.face for coding in coded if coding.recording == recording.id}) or [0]:
            person = study.person(recording, face)
            intervals = in_order(
                Interval(name, person, _kind(coding), *_frames(coding.decision), coding.decision.emotion)
                for coding in coded
                if (coding.recording, coding.face) == (recording.id, face)
            )
            videos.append(
                LongVideo(
                    "manifest", person, name, study.path(recording), recording.fps, recording.frames, intervals, 0
                )
            )
    write_intervals(path, videos)
    others = sum(coding.face > 0 for coding in coded)
    largest = f"{counted(others, 'movement')} of other faces: epir spot manifest follows only the largest face"
    return [path], coded, [largest] if others else []


def _write_decisions(study: Study, path: Path, coder: str | None, force: bool) -> StudyExport:
    if coder is not None:
        exported_coder(study, coder)
    recordings = {recording.id: recording for recording in study.recordings()}
    movements = {movement.id: movement for movement in study.movements()}
    rows, persons = [], set()
    clocks = cache(lambda recording, face: clock_of(study, recordings[recording], face))
    for decision in study.decisions(coder):
        movement = movements[decision.movement]
        recording = recordings[movement.recording]
        clock, person = clocks(recording.id, movement.face), study.person(recording, movement.face)
        persons.add(person)
        probability = f"{movement.probability:.4f}" if movement.source == "spotter" else ""
        rows.append((
            recording.path, person, movement.face, movement.id, movement.source, probability, movement.rule,
            decision.coder, int(decision.blind), decision.state, decision.kind, *_frames(decision),
            *(f"{clock(number):.4f}" for number in _frames(decision)),
            decision.emotion, unit_codes(decision), decision.note,
        ))  # fmt: skip
    with claimed_file(path, force=force):
        write_text(path, csv_text(DECISION_COLUMNS, rows))
    return StudyExport(coder or "", (path,), len({row[3] for row in rows}), len(persons))


def _kind(coding: Coding) -> Kind:
    return cast(Kind, coding.decision.kind)


def _frames(decision: Decision) -> tuple[int, int, int]:
    return decision.onset, decision.apex, decision.offset


# ---------------------------------------------------------------------------------------------------------- tiers


def _write_tiers(study: Study, path: Path, coded: Sequence[Coding], force: bool) -> Written:
    """Write one file per recording with movements; if there are several, the recording's name is added to the name."""
    coded_ids = {coding.recording for coding in coded}
    used = [recording for recording in study.recordings() if recording.id in coded_ids]
    if not used:
        raise StudyError(f"no movement of {study.folder} is accepted yet", fix="accept one, or export decisions.csv")
    written = []
    for recording in used:
        name = PurePosixPath(recording.path).with_suffix("").as_posix().replace("../", "").replace("/", "-")
        place = path if len(used) == 1 else path.with_name(f"{path.stem}-{name}{path.suffix}")
        tiers = _tiers(study, recording, [coding for coding in coded if coding.recording == recording.id])
        with claimed_file(place, force=force, inputs=[study.path(recording)]):
            if path.suffix.casefold() == ".eaf":
                write_eaf(place, tiers, study.path(recording))
            else:
                write_textgrid(place, tiers, recording.seconds)
        written.append(place)
    return written, coded, []


def _tiers(study: Study, recording: Recording, coded: Sequence[Coding]) -> list[Tier]:
    """The tiers that `epir import-annotations` reads, plus macro-expressions and notes; one set per face if several."""
    faces = sorted({coding.face for coding in coded})
    tiers: list[Tier] = []
    for face in faces:
        of = f" of {face}" if len(faces) > 1 else ""
        clock = clock_of(study, recording, face)
        here = [coding.decision for coding in coded if coding.face == face]
        micro = [decision for decision in here if decision.kind == "micro"]
        macro = [decision for decision in here if decision.kind == "macro"]
        frame, span = 1 / recording.fps, partial(_span, clock)
        apexes = [TierInterval(clock(decision.apex), clock(decision.apex) + frame, "apex") for decision in micro]
        of_face = without_overlap(EMOTION + of, (span(decision, decision.emotion or "unnamed") for decision in micro))
        of_face += without_overlap(APEX + of, apexes, points=True)
        of_face += without_overlap(
            UNITS + of, (span(decision, unit_codes(decision)) for decision in micro if decision.units)
        )
        of_face += without_overlap(MACRO + of, (span(decision, decision.emotion or "unnamed") for decision in macro))
        of_face += without_overlap(
            NOTE + of, (span(decision, decision.note) for decision in (*micro, *macro) if decision.note)
        )
        tiers += [replace(tier, person=study.person(recording, face)) for tier in of_face]
    return tiers


def _span(clock: Callable[[int], float], decision: Decision, label: str) -> TierInterval:
    return TierInterval(clock(decision.onset), clock(decision.offset), label)


def clock_of(study: Study, recording: Recording, face: int) -> Callable[[int], float]:
    """A function from frame number to seconds: by time stamp where the face was tracked, otherwise by frame rate."""
    curves = study.curves(recording.id, face)
    numbers, stamps = curves.get("numbers", np.zeros(0)), curves.get("seconds", np.zeros(0))

    def seconds(number: int) -> float:
        if len(numbers) and numbers[0] <= number <= numbers[-1]:
            return float(np.interp(number, numbers, stamps))
        return number / recording.fps

    return seconds
