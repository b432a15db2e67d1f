"""Long videos -> spotted intervals, one video after the other or several at once.

The videos of a corpus are taken with its frame numbers and rate. A micro-expression carries the class that the model
gives it, also where `predict` would say `uncertain`: spotting is scored on intervals, and recognition on classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from epir.core.config import check_known
from epir.core.engines import Engine, Progress, Silent
from epir.core.errors import EpirError, FrameError
from epir.core.files import file_digest, readable
from epir.core.output import resolved
from epir.core.words import percent
from epir.datasets.intervals import Kind, LongVideo
from epir.datasets.registry import list_long_corpora, load_long_videos
from epir.frames.reader import ASSUMED_RATE, open_frames
from epir.models.folder import find_folder, weights_digest
from epir.models.packed import PackedModel, pack_model
from epir.recognition.answer import Answer
from epir.recognition.batch import FailedInput, gather_inputs
from epir.recognition.recognizer import Recognizer
from epir.recognition.source import check_times
from epir.spotting.megc.spotted import (
    PLAIN,
    FailedVideo,
    SpotSettings,
    Spotted,
    SpottedRecord,
    SpottedStore,
    failure,
    open_spotted,
)
from epir.spotting.settings import THRESHOLDS, Sensitivity
from epir.spotting.timeline import FaceMovement


@dataclass(frozen=True)
class SpotResult:
    """What became of the videos."""

    folder: Path
    videos: int
    spotted: int  # in this call; the others were done
    failed: tuple[FailedVideo, ...]


@dataclass(frozen=True)
class SpotInputs:
    """What all videos share; each worker loads the model once."""

    model: str | PackedModel | None  # packed for another machine
    settings: SpotSettings


def find_videos(inputs: Sequence[str], fps: float | None = None, **options: Any) -> list[LongVideo]:
    """`CORPUS ROOT` -> the videos of that corpus; anything else -> videos and folders of frames as they are.

    Options are those of the corpus, such as `sheet` and `tree`.
    """
    check_times(fps, None, None)
    if inputs and inputs[0].casefold() in list_long_corpora() and not Path(inputs[0]).exists():
        if len(inputs) != 2:
            raise EpirError(
                f"{inputs[0]} is a corpus, and needs the one folder that holds it",
                fix=f"for example: epir spot {inputs[0]} data/{inputs[0]} --out spotted/{inputs[0]}",
            )
        return load_long_videos(inputs[0], inputs[1], **options)
    if options:
        raise EpirError(f"--{next(iter(options))} is for corpora", fix="leave it out, or give CORPUS ROOT")
    videos: list[LongVideo] = []
    for each in gather_inputs(inputs):
        if isinstance(each, FailedInput):
            raise each.error
        if isinstance(each, tuple):
            raise FrameError(f"{each[0]} is one picture", fix="give videos, or folders of frames")
        videos.append(_plain_video(Path(each), fps, {video.name for video in videos}, inputs))
    return videos


def spot_videos(
    videos: Sequence[LongVideo],
    out: str | Path,
    *,
    model: str | Path | None = None,
    sensitivity: Sensitivity = "normal",
    detector: str | None = None,
    fps: float | None = None,
    workers: int | None = None,
    engine: Engine | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> SpotResult:
    """Spot every video that is not done yet, and write all intervals to the folder `out`."""
    progress, engine = progress or Silent(), engine or Engine(workers=workers)
    engine.check_address()
    check_known(sensitivity, THRESHOLDS, what="sensitivity")
    settings = SpotSettings(model_digest(model), sensitivity, detector or "", fps or 0.0)
    videos = [replace(video, path=resolved(video.path)) for video in videos]
    failed: list[FailedVideo] = []
    done = 0
    with open_spotted(out, settings, force=force, inputs=[video.path for video in videos]) as store:
        store.add_videos(videos)
        missing = store.missing(videos)
        named = None if model is None else str(Path(model).absolute() if Path(model).exists() else model)
        inputs = SpotInputs(pack_model(model) if engine.is_cluster else named, settings)
        counts = [_frame_count(video) for video in missing]
        by_frames = bool(missing) and all(counts)
        progress.start(
            "spotting frames" if by_frames else "spotting videos", sum(counts) if by_frames else len(missing)
        )
        if not engine.is_cluster and min(engine.processes, len(missing)) == 1:
            for video, count in zip(missing, counts, strict=True):
                name = f"{video.name}, {len(failed) + done + 1} of {len(missing)}"
                steps = FrameSteps(progress, count if by_frames else 1, name, whole=not by_frames)
                done += _keep(store, spot_video(video, inputs, steps), failed)
                steps.complete()
        else:
            steps_of = {video.key: count if by_frames else 1 for video, count in zip(missing, counts, strict=True)}
            for result in engine.run(spot_video, missing, inputs, files=lambda video: [video.path]):
                done += _keep(store, result, failed)
                progress.advance(steps_of[result.key], note=f"{result.video}, {len(failed) + done} of {len(missing)}")
        progress.finish()
        store.finish(failed)
    return SpotResult(Path(out), len(videos), done, tuple(failed))


class FrameSteps(Silent):
    """Progress within one video, on the bar of all: as many steps as it is said to have frames, whatever it holds."""

    def __init__(self, progress: Progress, total: int, name: str, *, whole: bool) -> None:
        self._progress, self._left, self._name, self._whole = progress, total, name, whole

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Some frames are done."""
        steps = 0 if self._whole else min(steps, self._left)
        if steps:
            self._left -= steps
            self._progress.advance(steps, self._name)

    def complete(self) -> None:
        """The video is done: the steps that are left."""
        if self._left:
            self._progress.advance(self._left, self._name)


def spot_video(video: LongVideo, inputs: SpotInputs, progress: Progress | None = None) -> SpottedRecord | FailedVideo:
    """What one video shows, or what went wrong."""
    recognizer = _recognizer(inputs.model, inputs.settings)
    fps = inputs.settings.fps or (video.fps if video.path.is_dir() else None)  # a video file says its times itself
    try:
        answer = recognizer.predict(video.path, fps=fps, progress=progress)
    except EpirError as error:
        return failure(video, error)
    shift = 0 if video.path.is_dir() else video.first  # frames of a video file are counted from 0
    intervals = tuple(sorted(_intervals(answer, shift), key=lambda each: (each.onset, each.offset)))
    return SpottedRecord(video.corpus, video.subject, video.name, str(video.path), intervals, answer.warnings)


def _keep(store: SpottedStore, result: SpottedRecord | FailedVideo, failed: list[FailedVideo]) -> int:
    """Write what was spotted in a video, or add to the failures; how many were written."""
    if isinstance(result, FailedVideo):
        failed.append(result)
        return 0
    store.add(result)
    return 1


def model_digest(model: str | Path | None) -> str:
    """The digest of a model folder's weights, or of an ONNX file."""
    folder = find_folder(model)
    return file_digest(folder) if folder.is_file() else weights_digest(folder)


def _intervals(answer: Answer, shift: int) -> list[Spotted]:
    """Micro-expressions with their classes, and macro-expressions, of everybody who was followed."""
    timelines = answer.timelines
    known = {
        (track, each.onset, each.offset): each for track, timeline in timelines.items() for each in timeline.movements
    }
    intervals = []
    for each in answer.all:
        assert each.onset is not None and each.offset is not None, "movements are spotted"
        movement = known[each.track or 0, each.onset, each.offset]
        micro = _spotted("micro", movement, shift)
        probability = round(movement.probability, 4)
        intervals.append(replace(micro, emotion=each.best or "", score=each.confidence, probability=probability))
    return intervals + [_spotted("macro", each, shift) for timeline in timelines.values() for each in timeline.macros]


def _spotted(kind: Kind, movement: FaceMovement, shift: int) -> Spotted:
    onset_s, apex_s, offset_s = (round(seconds, 4) for seconds in movement.seconds)
    return Spotted(
        kind=kind,
        onset=movement.onset + shift,
        apex=movement.apex + shift,
        offset=movement.offset + shift,
        onset_s=onset_s,
        apex_s=apex_s,
        offset_s=offset_s,
        strength=percent(movement.strength),
        region=movement.region,
    )


@lru_cache(maxsize=1)
def _recognizer(model: str | PackedModel | None, settings: SpotSettings) -> Recognizer:
    return Recognizer.from_pretrained(
        model.unpack() if isinstance(model, PackedModel) else model,
        detector=settings.detector or None,  # type: ignore[arg-type]
        sensitivity=settings.sensitivity,
    )


def _plain_video(path: Path, fps: float | None, names: set[str], inputs: Sequence[str]) -> LongVideo:
    """A video that was given by its path; it is its own subject."""
    if not path.exists():
        known = ", ".join(list_long_corpora())
        is_corpus = len(inputs) == 2 and str(path) == inputs[0] and Path(inputs[1]).is_dir()
        raise FrameError(
            f"there is no folder or video {path}",
            fix=f"check the path; corpora of long videos are: {known}" if is_corpus else "check the path",
        )
    stem = readable(path.name if path.is_dir() else path.stem)
    name, number = stem, 2
    while name in names:
        name, number = f"{stem}-{number}", number + 1
    with open_frames(path, fps) as frames:
        rate = frames.fps or ASSUMED_RATE
        first = frames.numbers[0] if path.is_dir() else 1
        return LongVideo(PLAIN, name, name, path, rate, frames.announced, (), first=first)


def _frame_count(video: LongVideo) -> int:
    """About how many frames a video has; 0 where that is not known."""
    if video.frames:
        return video.frames
    try:
        with open_frames(video.path) as frames:
            return frames.announced or 0
    except EpirError:  # it fails again, with its reason, when it is spotted
        return 0
