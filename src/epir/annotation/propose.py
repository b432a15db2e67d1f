"""Spotting every recording of a study once, in the background: candidates with their measures, and the curves.

Several recordings are spotted at once, each by a process of its own that writes into the study as it goes, so that what
was spotted can be reviewed while the rest is still being read. After an interruption a recording is read again from its
beginning: the same candidates come again, and keep what was decided about them.
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
BETWEEN_CURVES = 20.0  # seconds: these are written as a whole each time
LIKELY_UNIT = 0.3  # probability from which a unit is part of a proposal


def spot_study(folder: Path, workers: int | None = None, progress: Progress | None = None) -> None:
    """Spot every recording of a study that is not done; only one process at a time may do so."""
    progress = progress or Silent()
    with locked(folder / "spotting"), Study.open(folder) as study:
        waiting = [each.id for each in study.recordings() if each.state != "done"]  # what failed is tried again
        progress.start("spotting recordings", len(waiting))
        for path in Engine(workers=workers).run(spot_recording, waiting, str(folder)):
            progress.advance(note=path)
        progress.finish()


def spot_recording(id: int, folder: str) -> str:
    """Spot one recording and write what was found, or why it cannot be done; gives its path."""
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
    """What one recording gives, written every few seconds."""

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
        """The frames; what was spotted is written in passing."""
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
        """Classify and store what has become certain."""
        if not self._waiting:
            return
        answers = self._recognizer.classifier.answers(self._waiting, self._recording.path, self._recording.fps)
        spotted = []
        for each, answer in zip(self._waiting, answers, strict=True):
            assert each.spotted is not None, "movements are spotted"
            self._proposals[_identity(each.spotted)] = proposal_of(answer)
            spotted.append(each.spotted)
        self._waiting = []
        self._store(spotted)

    def _store(self, spotted: list[FaceMovement]) -> None:
        rows = [
            StudyMovement(
                id=0,
                recording=self._recording.id,
                face=each.track,
                onset=each.onset,
                apex=each.apex,
                offset=each.offset,
                probability=round(each.probability, 4),
                rule=each.reason,
                region=each.region,
                side=OTHER_SIDE[each.side],
                strength=round(each.strength, 5),
                measures={name: round(value, 5) for name, value in each.measures.items()},
                proposal=self._proposals.get(_identity(each), {}),
            )
            for each in spotted
        ]
        self._ids |= dict(zip(map(_identity, spotted), self._study.add_movements(rows), strict=True))

    def _finish(self, one_pass: OnePass, frames: VideoFrames) -> None:
        """The last movements, how the whole changes the reasons of some, and which were another's in the end."""
        self._write()
        self._write_curves(one_pass)
        final = [each for timeline in one_pass.timelines().values() for each in timeline.candidates]
        known = [each for each in final if _identity(each) in self._ids]
        self._store(known)
        self._study.keep_movements(self._recording.id, [self._ids[_identity(each)] for each in known])
        count = self._steps.frames
        self._study.update_recording(
            self._recording.id, state="done", spotted=count, frames=count, seconds=round(self._seconds, 4),
            message="; ".join([*frames.notes, *([] if one_pass.tracks else ["no face was found"])]),
        )  # fmt: skip

    def _write_curves(self, one_pass: OnePass) -> None:
        for face, timeline in one_pass.timelines().items():
            self._study.set_curves(self._recording.id, face, curves_of(timeline))


def curves_of(timeline: Timeline) -> dict[str, np.ndarray]:
    """What is stored of a face: frame numbers, seconds, motion of each group of regions, head, and its square."""
    squares = np.array([[getattr(each, name) for name in CROP] for each in timeline.squares], np.float32)
    return {
        "numbers": timeline.numbers.astype(np.int32),
        "seconds": timeline.stamps.astype(np.float64),
        "motion": timeline.motion.astype(np.float32),
        "head": timeline.head.astype(np.float32),
        "squares": squares.reshape(-1, len(CROP)),
    }


def proposal_of(answer: Answer) -> dict[str, Any]:
    """What the model says about a movement."""
    units = [each for each in answer.units if each.probability >= LIKELY_UNIT]
    return {
        "class": answer.best or "",
        "scores": {name: round(score, 4) for name, score in answer.scores.items()},
        "units": [{"number": each.number, "side": each.side, "probability": each.probability} for each in units],
        "words": answer.text,
    }


@lru_cache(maxsize=1)
def _recognizer() -> Recognizer:
    return Recognizer.from_pretrained()


def _identity(movement: FaceMovement) -> tuple[int, ...]:
    return movement.track, movement.onset, movement.apex, movement.offset
