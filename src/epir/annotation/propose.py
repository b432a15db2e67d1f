"""Spot the recordings of a study in the background: candidates with their measures, and motion curves.

Recordings are spotted in parallel processes that write to the study as they go, so that coders can review the first
candidates while the rest is still being read. After an interruption a recording is read again from the start: the same
candidates keep their decisions.
"""

import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from epir.annotation.recordings import check_recording
from epir.annotation.records import CROP, Recording, StudyMovement
from epir.annotation.study import Study
from epir.core.engines import Engine, Progress, Silent, one_thread
from epir.core.errors import EpirError, machine_fault
from epir.core.output import locked
from epir.frames.pace import TimeSteps, without_repeats
from epir.frames.reader import Frame, same_size, turn_note, upright
from epir.frames.video import VideoFrames
from epir.recognition.answer import Answer
from epir.recognition.movement import MovementMap, spotted_map
from epir.recognition.onepass import OnePass
from epir.recognition.recognizer import Recognizer
from epir.spotting.regions import OTHER_SIDE
from epir.spotting.timeline import FaceMovement, Timeline

BETWEEN_WRITES = 2.0  # seconds
BETWEEN_CURVES = 20.0  # seconds; longer, because curves are always rewritten as a whole
LIKELY_UNIT = 0.3  # least probability of a unit in a proposal


def spot_study(folder: Path, workers: int | None = None, progress: Progress | None = None) -> None:
    """Spot every recording of a study that is not done, failed ones included; one process at a time may do so."""
    progress = progress or Silent()
    with locked(folder / "spotting"), Study.open(folder) as study:
        waiting = [recording.id for recording in study.recordings() if recording.state != "done"]
        progress.start("spotting recordings", len(waiting))
        for path in Engine(workers=workers).run(spot_recording, waiting, str(folder)):
            progress.advance(note=path)
        progress.finish()


def spot_recording(id: int, folder: str) -> str:
    """Spot one recording, store its candidates or the error, and return its path."""
    with Study.open(folder) as study, one_thread():
        recording = study.recording(id)
        study.update_recording(id, state="spotting", spotted=0)
        try:
            _Proposals(study, recording).run()
        except (EpirError, OSError) as fault:
            error = fault if isinstance(fault, EpirError) else machine_fault(fault)
            study.update_recording(id, state="failed", message=f"{error.problem}. {error.fix}")
        return recording.path


class _Proposals:
    """Spots one recording and stores candidates every few seconds."""

    def __init__(self, study: Study, recording: Recording) -> None:
        self._study, self._recording = study, recording
        self._recognizer = _recognizer()
        self._steps = TimeSteps()  # also counts the frames
        self._waiting: list[MovementMap] = []
        self._ids: dict[tuple[int, ...], int] = {}
        self._proposals: dict[tuple[int, ...], dict[str, Any]] = {}
        self._written = self._drawn = time.monotonic()

    def run(self) -> None:
        """Read the video once."""
        path = check_recording(self._study, self._recording)
        faces = cast(Literal["largest", "all"], self._study.words.faces)
        with VideoFrames(path) as frames:
            turns = self._recognizer.turns(frames, None)
            pace = self._recognizer.pace(frames)
            frames.notes += turn_note(turns)
            self._study.update_recording(self._recording.id, fps=pace.stored, turns=turns)
            one_pass = self._recognizer.one_pass(pace.fps, faces, candidates=True)
            chosen = self._counted(upright(frames, turns), one_pass)
            for spotted in one_pass.run(without_repeats(same_size(chosen), pace)):
                size = self._recognizer.backend.config.map_size
                self._waiting.append(spotted_map(spotted, self._recognizer.recipe, size))
            self._finish(one_pass, frames)

    def _counted(self, frames: Any, one_pass: OnePass) -> Iterator[Frame]:
        """Pass the frames on, and store new candidates and curves now and then."""
        for frame in frames:
            self._steps.push(frame.seconds)
            self._seconds = frame.seconds
            yield frame
            if time.monotonic() - self._written >= BETWEEN_WRITES:
                self._write()
                self._study.update_recording(self._recording.id, spotted=self._steps.frames)
                self._written = time.monotonic()
            if time.monotonic() - self._drawn >= BETWEEN_CURVES:
                self._write_curves(one_pass)
                self._drawn = time.monotonic()

    def _write(self) -> None:
        """Classify and store the waiting movements."""
        if not self._waiting:
            return
        answers = self._recognizer.classifier.answers(self._waiting, self._recording.path, self._recording.fps)
        spotted = []
        for movement, answer in zip(self._waiting, answers, strict=True):
            assert movement.spotted is not None, "movements are spotted"
            self._proposals[_identity(movement.spotted)] = proposal_of(answer)
            spotted.append(movement.spotted)
        self._waiting = []
        self._store(spotted)

    def _store(self, spotted: list[FaceMovement]) -> None:
        rows = [
            StudyMovement(
                id=0,
                recording=self._recording.id,
                face=movement.track,
                onset=movement.onset,
                apex=movement.apex,
                offset=movement.offset,
                probability=round(movement.probability, 4),
                rule=movement.reason,
                region=movement.region,
                side=OTHER_SIDE[movement.side],
                strength=round(movement.strength, 5),
                measures={name: round(value, 5) for name, value in movement.measures.items()},
                proposal=self._proposals.get(_identity(movement), {}),
            )
            for movement in spotted
        ]
        self._ids |= dict(zip(map(_identity, spotted), self._study.add_movements(rows), strict=True))

    def _finish(self, one_pass: OnePass, frames: VideoFrames) -> None:
        """Store the last movements, update reasons that the whole video changed, and drop superseded candidates."""
        self._write()
        self._write_curves(one_pass)
        final = [movement for timeline in one_pass.timelines().values() for movement in timeline.candidates]
        known = [movement for movement in final if _identity(movement) in self._ids]
        self._store(known)
        self._study.keep_movements(self._recording.id, [self._ids[_identity(movement)] for movement in known])
        count = self._steps.frames
        self._study.update_recording(
            self._recording.id, state="done", spotted=count, frames=count, seconds=round(self._seconds, 4),
            message="; ".join([*frames.notes, *([] if one_pass.tracks else ["no face was found"])]),
        )  # fmt: skip

    def _write_curves(self, one_pass: OnePass) -> None:
        for face, timeline in one_pass.timelines().items():
            self._study.set_curves(self._recording.id, face, curves_of(timeline))


def curves_of(timeline: Timeline) -> dict[str, np.ndarray]:
    """The stored curves of a face: frame numbers, seconds, motion of each group of regions, head, and its crop."""
    squares = np.array([[getattr(crop, name) for name in CROP] for crop in timeline.squares], np.float32)
    return {
        "numbers": timeline.numbers.astype(np.int32),
        "seconds": timeline.stamps.astype(np.float64),
        "motion": timeline.motion.astype(np.float32),
        "head": timeline.head.astype(np.float32),
        "squares": squares.reshape(-1, len(CROP)),
    }


def proposal_of(answer: Answer) -> dict[str, Any]:
    """The model's answer for a movement, as JSON."""
    units = [unit for unit in answer.units if unit.probability >= LIKELY_UNIT]
    return {
        "class": answer.best or "",
        "scores": {name: round(score, 4) for name, score in answer.scores.items()},
        "units": [{"number": unit.number, "side": unit.side, "probability": unit.probability} for unit in units],
        "words": answer.text,
    }


@lru_cache(maxsize=1)
def _recognizer() -> Recognizer:
    return Recognizer.from_pretrained()


def _identity(movement: FaceMovement) -> tuple[int, ...]:
    return movement.track, movement.onset, movement.apex, movement.offset
