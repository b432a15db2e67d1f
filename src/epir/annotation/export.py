"""What a study's coders decided, as files that others read.

| name | what |
|---|---|
| `megc.csv` | movements as the spotting challenges list them, frames counted from 1 |
| `intervals.csv` | all recordings with their movements, which `epir score` takes as annotation |
| `decisions.csv` | every decision of every coder, rejections and notes too |
| any other `.csv` | a manifest: a row for each micro-expression with an emotion, for `epir check manifest` and so on |
| `.eaf`, `.TextGrid` | tiers for ELAN and Praat, a file for each recording |

Except for `decisions.csv` one coder is exported: adjudication ("agreed") if there is one, or else the only coder.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
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
    name_clips,
    without_overlap,
    write_eaf,
    write_textgrid,
)
from epir.datasets.intervals import Interval, Kind, LongVideo, in_order, write_intervals
from epir.spotting.megc.submission import SPOTTING_HEADERS, TYPES

MACRO, NOTE = "macro-expression", "note"  # tiers
FURTHER = ("coder", "agreement", "unit_agreement", "note")  # columns of a manifest
DECISION_COLUMNS = (
    "recording", "person", "face", "movement", "source", "probability", "reason", "coder", "blind", "state", "kind",
    "onset", "apex", "offset", "onset_s", "apex_s", "offset_s", "emotion", "action_units", "note",
)  # fmt: skip
CHALLENGE = "2024"  # of the columns of megc.csv
FILE_NAMES = "manifest.csv, decisions.csv, intervals.csv, megc.csv, NAME.eaf or NAME.TextGrid"

Written = tuple[list[Path], Sequence[Coding], list[str]]  # files, what they hold, notes


@dataclass(frozen=True)
class StudyExport:
    """What was written."""

    coder: str  # empty where all are
    files: tuple[Path, ...]
    movements: int
    people: int
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """For a terminal."""
        what = f"{counted(self.movements, 'movement')} of {people(self.people)}"
        by = f", as coded by {self.coder}" if self.coder else ""
        lines = [f"{self.files[0] if len(self.files) == 1 else f'{len(self.files)} files'}: {what}{by}"]
        lines += [f"written: {path}" for path in self.files] if len(self.files) > 1 else []
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def export_study(study: Study, target: str | Path, *, coder: str | None = None, force: bool = False) -> StudyExport:
    """Write the study to a file whose name says what it is (see the head of this module)."""
    path = resolved(target)
    ending = path.suffix.casefold()
    if ending not in (".csv", ".eaf", ".textgrid"):
        raise StudyError(f"{target} does not say what to export", fix=f"name it {FILE_NAMES}")
    if path.name.casefold() == "decisions.csv":
        return _write_decisions(study, path, coder, force)
    name = exported_coder(study, coder)
    coded = accepted(codings(study, [name]))
    notes = [*_open_questions(study, name), *_lost(study, coded)]
    writers: Mapping[str, Callable[..., Written]] = {
        "megc.csv": _write_megc,
        "intervals.csv": _write_intervals,
    }
    if ending != ".csv":
        files, written, more = _write_tiers(study, path, coded, force)
    else:
        write = writers.get(path.name.casefold(), _write_manifest)
        with claimed_file(path, force=force, inputs=[study.path(each) for each in study.recordings()]):
            files, written, more = write(study, path, coded)
    shown = {each.person for each in written}
    return StudyExport(name, tuple(files), len(written), len(shown), (*more, *notes))


def exported_coder(study: Study, coder: str | None = None) -> str:
    """Whose decisions are exported: the named coder's, those of adjudication, or those of the only coder."""
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
        f"{study.folder} has decisions of {', '.join(names)}, and no result of adjudication",
        fix=f"settle them: epir annotate {study.folder} --coder agreed; or export one of them: --coder {names[0]}",
    )


def _open_questions(study: Study, coder: str) -> list[str]:
    """What adjudication has not settled yet."""
    if coder != AGREED:
        return []
    waiting = [case for case in cases(study) if case.settled is None]
    differing = sum(bool(case.differs) for case in waiting)
    alone = sum(
        not case.differs and any(each and each.state == "accept" for each in case.decisions.values())
        for case in waiting
    )
    notes = [f"{counted(differing, 'difference')} of coders not settled yet"] if differing else []
    return notes + ([f"{counted(alone, 'movement')} left out that one coder alone has looked at"] if alone else [])


def _lost(study: Study, coded: Sequence[Coding]) -> list[str]:
    """Recordings with movements whose video is not where it was."""
    used = {each.recording for each in coded}
    lost = [each.path for each in study.recordings() if each.id in used and not study.path(each).exists()]
    return [f"{path} is not there: put it back, or start epir annotate on its new folder" for path in lost]


# ------------------------------------------------------------------------------------------------------- manifest


def _write_manifest(study: Study, path: Path, coded: Sequence[Coding]) -> Written:
    recordings = {each.id: each for each in study.recordings()}
    micro = [each for each in coded if each.decision.kind == "micro"]
    usable = [each for each in micro if each.decision.emotion and each.decision.apex > each.decision.onset]
    shares = agreement_of(usable, codings(study))
    rows = [
        {
            "subject": each.person,
            "emotion": each.decision.emotion,
            "frames": str(study.path(recordings[each.recording])),
            "onset": str(each.decision.onset),
            "apex": str(each.decision.apex),
            "offset": str(each.decision.offset),
            "fps": f"{each.fps:.10g}",
            "action_units": unit_codes(each.decision),
            "coder": each.decision.coder,
            "agreement": share,
            "unit_agreement": units,
            "note": " ".join(each.decision.note.split()),
        }
        for each, (share, units) in zip(usable, shares, strict=True)
    ]
    if not rows:
        raise StudyError(
            f"{study.folder} has no micro-expression with an emotion yet",
            fix="accept candidates and name their emotions, or export decisions.csv",
        )
    write_text(path, manifest_text(name_clips(rows), path.parent, FURTHER))
    unnamed = sum(not each.decision.emotion for each in micro)
    left = [
        counted(number, one, several)
        for number, one, several in (
            (len(coded) - len(micro), "macro-expression", "macro-expressions"),
            (unnamed, "movement without an emotion", "movements without an emotion"),
            (len(micro) - len(usable) - unnamed, "movement whose apex is its onset", "movements with apex at onset"),
        )
        if number
    ]
    notes = [f"left out: {', '.join(left)}"] if left else []
    others = sum(each.face > 0 for each in usable)
    if others:
        notes.append(f"{counted(others, 'movement')} of further faces: epir prepare looks at the largest face alone")
    return [path], usable, notes


def unit_codes(decision: Decision) -> str:
    """Action units as annotators write them: `L12B+4`."""
    return "+".join(map(str, decision.units))


def agreement_of(exported: Sequence[Coding], everything: Sequence[Coding]) -> list[tuple[str, str]]:
    """Of each movement: the share of other coders who have it with the same emotion, and the reliability of its units.

    Other coders are those who decided something in the recording; both are empty where there is none.
    """
    same: list[list[bool]] = [[] for _ in exported]
    units: list[list[tuple[frozenset[int], frozenset[int]]]] = [[] for _ in exported]
    names = {each.decision.coder for each in exported}
    for coder in sorted({each.decision.coder for each in everything} - names):
        decided = [each for each in everything if each.decision.coder == coder]
        others = accepted(decided)
        partners = {place: others[other] for place, other in match_movements(exported, others)}
        begun = {each.recording for each in decided}
        for place, one in enumerate(exported):
            if one.recording in begun:
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
    names = {each.id: PurePosixPath(each.path).stem for each in study.recordings()}
    rows = [
        (names[each.recording], each.decision.onset + 1, each.decision.offset + 1, TYPES[_kind(each)]) for each in coded
    ]
    write_text(path, csv_text(SPOTTING_HEADERS[CHALLENGE], rows))
    return [path], coded, []


def _write_intervals(study: Study, path: Path, coded: Sequence[Coding]) -> Written:
    videos = []
    for recording in study.recordings():
        name = PurePosixPath(recording.path).stem
        for face in sorted({each.face for each in coded if each.recording == recording.id}) or [0]:
            person = study.words.person(recording.path, face)
            intervals = in_order(
                Interval(name, person, _kind(one), *_frames(one.decision), one.decision.emotion)
                for one in coded
                if (one.recording, one.face) == (recording.id, face)
            )
            videos.append(
                LongVideo(
                    "manifest", person, name, study.path(recording), recording.fps, recording.frames, intervals, 0
                )
            )
    write_intervals(path, videos)
    return [path], coded, []


def _write_decisions(study: Study, path: Path, coder: str | None, force: bool) -> StudyExport:
    if coder is not None:
        exported_coder(study, coder)
    recordings = {each.id: each for each in study.recordings()}
    movements = {each.id: each for each in study.movements()}
    rows, shown = [], set()
    clocks = cache(lambda recording, face: clock_of(study, recordings[recording], face))
    for each in study.decisions(coder):
        movement = movements[each.movement]
        recording = recordings[movement.recording]
        clock, person = clocks(recording.id, movement.face), study.words.person(recording.path, movement.face)
        shown.add(person)
        probability = f"{movement.probability:.4f}" if movement.source == "spotter" else ""
        rows.append((
            recording.path, person, movement.face, movement.id, movement.source, probability, movement.rule,
            each.coder, int(each.blind), each.state, each.kind, each.onset, each.apex, each.offset,
            *(f"{clock(number):.4f}" for number in _frames(each)), each.emotion, unit_codes(each), each.note,
        ))  # fmt: skip
    with claimed_file(path, force=force):
        write_text(path, csv_text(DECISION_COLUMNS, rows))
    return StudyExport(coder or "", (path,), len({row[3] for row in rows}), len(shown))


def _kind(coding: Coding) -> Kind:
    return cast(Kind, coding.decision.kind)


def _frames(decision: Decision) -> tuple[int, int, int]:
    return decision.onset, decision.apex, decision.offset


# ---------------------------------------------------------------------------------------------------------- tiers


def _write_tiers(study: Study, path: Path, coded: Sequence[Coding], force: bool) -> Written:
    """A file for each recording with movements; of several each has the recording's name in its own."""
    used = [each for each in study.recordings() if any(one.recording == each.id for one in coded)]
    if not used:
        raise StudyError(f"no movement of {study.folder} is accepted yet", fix="accept one, or export decisions.csv")
    written = []
    for recording in used:
        name = PurePosixPath(recording.path).with_suffix("").as_posix().replace("../", "").replace("/", "-")
        place = path if len(used) == 1 else path.with_name(f"{path.stem}-{name}{path.suffix}")
        tiers = _tiers(study, recording, [each for each in coded if each.recording == recording.id])
        with claimed_file(place, force=force, inputs=[study.path(recording)]):
            if path.suffix.casefold() == ".eaf":
                write_eaf(place, tiers, study.path(recording))
            else:
                write_textgrid(place, tiers, recording.seconds)
        written.append(place)
    return written, coded, []


def _tiers(study: Study, recording: Recording, coded: Sequence[Coding]) -> list[Tier]:
    """The tiers that `epir import-annotations` reads, macro-expressions and notes; per face if several."""
    faces = sorted({each.face for each in coded})
    tiers: list[Tier] = []
    for face in faces:
        of = f" of {face}" if len(faces) > 1 else ""
        clock = clock_of(study, recording, face)
        micro = [each.decision for each in coded if each.face == face and _kind(each) == "micro"]
        macro = [each.decision for each in coded if each.face == face and _kind(each) == "macro"]

        frame, span = 1 / recording.fps, partial(_span, clock)
        apexes = [TierInterval(clock(each.apex), clock(each.apex) + frame, "apex") for each in micro]
        tiers += without_overlap(EMOTION + of, (span(each, each.emotion or "unnamed") for each in micro))
        tiers += without_overlap(APEX + of, apexes, points=True)
        tiers += without_overlap(UNITS + of, (span(each, unit_codes(each)) for each in micro if each.units))
        tiers += without_overlap(MACRO + of, (span(each, each.emotion or "unnamed") for each in macro))
        tiers += without_overlap(NOTE + of, (span(each, each.note) for each in (*micro, *macro) if each.note))
    return tiers


def _span(clock: Callable[[int], float], decision: Decision, label: str) -> TierInterval:
    return TierInterval(clock(decision.onset), clock(decision.offset), label)


def clock_of(study: Study, recording: Recording, face: int) -> Callable[[int], float]:
    """The seconds of a frame: its time stamp where the face was followed, else by the rate."""
    curves = study.curves(recording.id, face)
    numbers, stamps = curves.get("numbers", np.zeros(0)), curves.get("seconds", np.zeros(0))

    def seconds(number: int) -> float:
        if len(numbers) and numbers[0] <= number <= numbers[-1]:
            return float(np.interp(number, numbers, stamps))
        return number / recording.fps

    return seconds
