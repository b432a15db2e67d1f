"""Answers for a running camera, as soon as movements are certain.

The tracker, spotter and model are those of a video: pushing frames here gives the same answers as `predict` on a file
with these frames. A movement is certain after two to four seconds.
"""

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from epir.faces.align import Crop
from epir.faces.tracking import NO_FACE, TOO_SMALL
from epir.frames.pace import ENOUGH, Freshness, measure_pace
from epir.frames.reader import Frame
from epir.recognition.answer import Answer
from epir.recognition.onepass import OnePass, SpottedMovement
from epir.recognition.recognizer import Recognizer
from epir.spotting.timeline import GAP, Timeline, longest_gap

LONGEST_START = 2.0  # seconds after which the frame rate counts as measured
NAME = "camera"


class LiveAnswer(NamedTuple):
    """One movement seen by a camera, and where the face was."""

    answer: Answer
    crop: Crop  # of the frames


class LiveStream:
    """One camera: `push` its frames; `close` returns the last answers.

    The first frames are held back until the frame rate is known.
    """

    def __init__(self, recognizer: Recognizer, faces: Literal["largest", "all"] = "largest") -> None:
        self._recognizer, self._faces = recognizer, faces
        self._first: list[Frame] = []
        self._pass: OnePass | None = None
        self._fresh: Freshness | None = None
        self._reported: dict[int, int] = {}  # entries of each person's timeline that were reported
        self.fps: float | None = None  # of the camera, once known
        self.coverage = Coverage()

    def push(self, frame: Frame) -> list[LiveAnswer]:
        """Take the next frame and return the answers for movements that have become certain."""
        if self._pass is not None:
            return self._take([frame])
        self._first.append(frame)
        if len(self._first) >= ENOUGH or frame.seconds - self._first[0].seconds >= LONGEST_START:
            return self._begin()
        return []

    def close(self) -> list[LiveAnswer]:
        """Return the answers for the last seconds."""
        answers = self._begin() if self._pass is None and len(self._first) > 1 else []
        return answers if self._pass is None else answers + self._answers(self._pass.close())

    @property
    def face(self) -> str:
        """Why the latest frame has no tracked face, `no face` or `face too small`; empty if it has one."""
        if self._pass is None or not self._pass.tracker.is_without:
            return ""
        return TOO_SMALL if self._pass.tracker.gaps[-1].reason == TOO_SMALL else NO_FACE

    def new_motion(self) -> list[tuple[int, Timeline, int]]:
        """The timelines that have grown since the last call: track, timeline, index of the first new entry."""
        grown: list[tuple[int, Timeline, int]] = []
        for track, timeline in self._pass.timelines().items() if self._pass is not None else ():
            first = self._reported.get(track, 0)
            if len(timeline.numbers) > first:
                self._reported[track] = len(timeline.numbers)
                grown.append((track, timeline, first))
        return grown

    def _begin(self) -> list[LiveAnswer]:
        pace = measure_pace(self._first)
        self.fps = pace.fps
        self.coverage.gap = longest_gap(pace.fps)
        self._pass, self._fresh = self._recognizer.one_pass(pace.fps, self._faces), Freshness(pace)
        first, self._first = self._first, []
        return self._take(first)

    def _take(self, frames: Iterable[Frame]) -> list[LiveAnswer]:
        assert self._pass is not None and self._fresh is not None, "the rate is known"
        answers: list[LiveAnswer] = []
        for frame in frames:
            self.coverage.push(frame.seconds)
            if self._fresh.is_new(frame):
                answers += self._answers(self._pass.push(frame))
        return answers

    def _answers(self, spotted: Iterator[SpottedMovement]) -> list[LiveAnswer]:
        assert self.fps is not None, "the rate is known"
        return [LiveAnswer(self._recognizer.answer_movement(each, NAME, self.fps), each.onset.crop) for each in spotted]


class Coverage:
    """How much of the time was analysed: frames must follow each other closely enough for the spotter."""

    WINDOW = 5.0  # seconds over which the frame rate is averaged

    def __init__(self) -> None:
        self.gap = GAP  # seconds between two frames beyond which the time between them is not analysed
        self.frames = 0
        self.covered = 0.0  # seconds
        self._times: list[float] = []  # of the latest frames

    def push(self, seconds: float) -> None:
        """Count the next analysed frame."""
        self.frames += 1
        if self._times and seconds - self._times[-1] <= self.gap:
            self.covered += seconds - self._times[-1]
        self._times.append(seconds)
        while self._times[0] < seconds - self.WINDOW:
            self._times.pop(0)

    @property
    def rate(self) -> float | None:
        """Analysed frames per second, over the last seconds."""
        length = self._times[-1] - self._times[0] if len(self._times) > 1 else 0.0
        return (len(self._times) - 1) / length if length > 0 else None
