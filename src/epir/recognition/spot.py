"""Spot micro- and macro-expressions in long videos, one video at a time or several in parallel.

The videos of a corpus keep its frame numbers and rate. Every micro-expression gets the class with the highest score,
even if `predict` would answer `uncertain`, because spotting is scored on intervals and recognition on classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from epir.core.config import check_known
from epir.core.engines import Engine, Progress, Silent
from epir.core.errors import EpirError, FrameError, machine_fault
from epir.core.files import file_digest, readable
from epir.core.output import resolved
from epir.core.words import percent
from epir.datasets.intervals import Kind, LongVideo
from epir.datasets.registry import list_long_corpora, load_long_videos
from epir.frames.reader import ASSUMED_RATE, open_frames
from epir.models.folder import find_folder, weights_digest
from epir.models.packed import PackedModel, pack_model
from epir.recognition.answer import Answer
from epir.recognition.batch import PrefixedProgress, gather_inputs, unused_name
from epir.recognition.recognizer import Recognizer
from epir.recognition.source import check_times, output_name
from epir.spotting.decision import THRESHOLDS, Sensitivity
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
from epir.spotting.timeline import FaceMovement


@dataclass(frozen=True)
class SpotResult:
    """The folder of spotted videos and what this call did."""

    folder: Path
    videos: int
    spotted: int  # in this call
    failed: tuple[FailedVideo, ...]


def find_videos(inputs: Sequence[str], fps: float | None = None, **options: Any) -> list[LongVideo]:
    """The videos of a corpus for `CORPUS ROOT`; otherwise the inputs are videos and folders of frames.

    Options are those of the corpus, such as `sheet` and `tree`.
    """
    check_times(fps, None, None)
    if inputs and inputs[0].casefold() in list_long_corpora() and not Path(inputs[0]).exists():
        if len(inputs) != 2:
            raise EpirError(
                f"{inputs[0]} is a corpus and needs one folder: the one that holds it",
                fix=f"for example: epir spot {inputs[0]} data/{inputs[0]} --out spotted/{inputs[0]}",
            )
        return load_long_videos(inputs[0], inputs[1], **options)
    if options:
        raise EpirError(f"--{next(iter(options))} is for corpora", fix="leave it out, or give CORPUS ROOT")
    videos: list[LongVideo] = []
    errors: list[Exception] = []
    names: set[str] = set()
    for source in gather_inputs(inputs):
        if isinstance(source, tuple):
            raise FrameError(f"{source[0]} is one picture", fix="give videos, or folders of frames")
        path = _existing(Path(source), inputs)
        name = unused_name(readable(output_name(path)), names)
        try:
            videos.append(_plain_video(path, name, fps))
        except (EpirError, OSError) as error:  # the others may still succeed; this one fails when it is spotted
            errors.append(error)
            videos.append(LongVideo(PLAIN, name, name, path, fps or ASSUMED_RATE, None))
    if errors and len(errors) == len(videos):
        raise errors[0]
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
    with open_spotted(out, settings, force=force, inputs=[video.path for video in videos]) as store:
        store.add_videos(videos)
        missing = store.missing(videos)
        named = None if model is None else str(Path(model).absolute() if Path(model).exists() else model)
        shared = (pack_model(model) if engine.is_cluster else named, settings)
        if not engine.is_cluster and min(engine.processes, len(missing)) == 1:
            for number, video in enumerate(missing, start=1):
                prefixed = PrefixedProgress(progress, video.name, number, len(missing))
                _keep(store, spot_video(video, *shared, prefixed), failed)
        else:
            progress.start("spotting videos", len(missing))
            for result in engine.run(spot_video, missing, *shared, files=lambda video: [video.path]):
                _keep(store, result, failed)
                progress.advance(note=result.video)
            progress.finish()
        store.finish(failed)
    return SpotResult(Path(out), len(videos), len(missing) - len(failed), tuple(failed))


def spot_video(
    video: LongVideo, model: str | PackedModel | None, settings: SpotSettings, progress: Progress | None = None
) -> SpottedRecord | FailedVideo:
    """Spot one video; `model` is packed if it goes to another machine."""
    recognizer = _recognizer(model, settings)
    try:
        answer = recognizer.predict(video.path, fps=settings.fps or _known_rate(video), progress=progress)
    except (EpirError, OSError) as error:  # the next video may still succeed
        return failure(video, error if isinstance(error, EpirError) else machine_fault(error))
    shift = 0 if video.path.is_dir() else video.first  # frames of a video file are counted from 0
    intervals = tuple(sorted(_intervals(answer, shift), key=lambda each: (each.onset, each.offset)))
    return SpottedRecord(video.corpus, video.subject, video.name, str(video.path), intervals, answer.warnings)


def _known_rate(video: LongVideo) -> float | None:
    """The frame rate of a folder if its corpus tells it; a video file has time stamps."""
    is_assumed = video.corpus == PLAIN and video.fps == ASSUMED_RATE
    return video.fps if video.path.is_dir() and not is_assumed else None


def _keep(store: SpottedStore, result: SpottedRecord | FailedVideo, failed: list[FailedVideo]) -> None:
    """Store what was spotted in a video, or its failure."""
    if isinstance(result, FailedVideo):
        failed.append(result)
    else:
        store.add(result)


def model_digest(model: str | Path | None) -> str:
    """The digest of a model folder's weights, or of an ONNX file."""
    folder = find_folder(model)
    return file_digest(folder) if folder.is_file() else weights_digest(folder)


def _intervals(answer: Answer, shift: int) -> list[Spotted]:
    """Everyone's micro-expressions with their classes, and macro-expressions."""
    answers = {(each.track or 0, each.onset, each.offset): each for each in answer.all}
    intervals = []
    for track, timeline in answer.timelines.items():
        for each in timeline.movements:
            classified = answers.get((track, each.onset, each.offset))
            if classified is not None:
                emotion, probability = classified.best or "", round(each.probability, 4)
                micro = _spotted("micro", each, shift)
                intervals.append(replace(micro, emotion=emotion, score=classified.confidence, probability=probability))
        intervals += [_spotted("macro", each, shift) for each in timeline.macros]
    return intervals


def _spotted(kind: Kind, movement: FaceMovement, shift: int) -> Spotted:
    onset_s, apex_s, offset_s = (round(seconds, 4) for seconds in movement.seconds)
    key_frames = (movement.onset + shift, movement.apex + shift, movement.offset + shift)
    return Spotted(kind, *key_frames, onset_s, apex_s, offset_s, percent(movement.strength), movement.region)


@lru_cache(maxsize=1)
def _recognizer(model: str | PackedModel | None, settings: SpotSettings) -> Recognizer:
    return Recognizer.from_pretrained(
        model.unpack() if isinstance(model, PackedModel) else model,
        detector=settings.detector or None,  # type: ignore[arg-type]
        sensitivity=settings.sensitivity,
    )


def _existing(path: Path, inputs: Sequence[str]) -> Path:
    """The path; raises if nothing is there."""
    if not path.exists():
        known = ", ".join(list_long_corpora())
        is_corpus = len(inputs) == 2 and str(path) == inputs[0] and Path(inputs[1]).is_dir()
        raise FrameError(
            f"there is no folder or video {path}",
            fix=f"check the path; corpora of long videos are: {known}" if is_corpus else "check the path",
        )
    return path


def _plain_video(path: Path, name: str, fps: float | None) -> LongVideo:
    """A video given by its path; its name serves as the subject."""
    with open_frames(path, fps) as frames:
        rate = frames.fps or ASSUMED_RATE
        first = frames.numbers[0] if path.is_dir() else 1
        held = frames.announced if path.is_dir() else None  # what the container of a video announces may be wrong
        return LongVideo(PLAIN, name, name, path, rate, held, (), first=first)
