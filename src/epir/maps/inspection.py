"""Problems with the frames of one clip: `epir check --deep` lists them, `prepare` stops at them or notes them."""

from pathlib import Path

import numpy as np

from epir.core.errors import FrameError
from epir.core.records import Clip
from epir.faces.align import face_crop
from epir.faces.face import FaceSettings
from epir.faces.finder import SMALLEST_FRAME, check_one_person, find_face, find_turn
from epir.frames.folder import FolderFrames
from epir.frames.reader import Frames, check_same_size, open_frames, same_size, size_of, turn_note, unreadable


def inspect_clip(clip: Clip) -> list[str]:
    """Decode every frame of a clip and check the face of its key frames; returns the problems in words.

    Problems that the annotation and the folder listing already show (missing frames) are not repeated.
    """
    assert clip.frames is not None, "only clips with frames are inspected"
    try:
        with open_frames(clip.frames) as frames:
            if isinstance(frames, FolderFrames):
                return _folder_problems(clip, frames)
            return _video_problems(clip, frames)
    except FrameError as error:
        return [] if Path(clip.frames).is_dir() else [error.problem]  # an empty folder is listed already


def _folder_problems(clip: Clip, frames: FolderFrames) -> list[str]:
    first, last = clip.onset or 0, frames.numbers[-1] if clip.offset is None else clip.offset
    problems: list[str] = []
    bad: list[int] = []
    key: dict[int, np.ndarray] = {}
    for number in frames.numbers:
        if not first <= number <= last:
            continue
        try:
            pixels = frames.read(number)
        except FrameError:
            bad.append(number)
            continue
        if number in (clip.onset, clip.apex):
            key[number] = pixels
    if bad:
        problems.append(unreadable(bad))
    try:
        frames.inspect(first, last)
    except FrameError as error:
        return [*problems, error.problem]
    return [*problems, *_face_problems(clip, key)]


def _video_problems(clip: Clip, frames: Frames) -> list[str]:
    """Decode a video to its end, and check that the annotated frames lie within it."""
    count, problems, key = 0, list[str](), dict[int, np.ndarray]()
    try:
        for frame in same_size(frames):
            count += 1
            if frame.number in (clip.onset, clip.apex):
                key[frame.number] = frame.pixels
        problems += frames.notes
    except FrameError as error:
        problems.append(error.problem)
    for name, number in (("onset", clip.onset), ("apex", clip.apex), ("offset", clip.offset)):
        if number is not None and number >= count:
            problems.append(f"the {name} {number} is past the end of the video, whose last frame is {count - 1}")
    return [*problems, *_face_problems(clip, key)]


def _face_problems(clip: Clip, key: dict[int, np.ndarray]) -> list[str]:
    """A face that is not upright at the onset, or another person at the apex; nothing if no face is found."""
    if clip.onset not in key or min(key[clip.onset].shape[:2]) < SMALLEST_FRAME:
        return []
    before, settings = key[clip.onset], FaceSettings()
    turns = find_turn(before, settings)
    if turns or clip.apex not in key:
        return turn_note(turns)
    face = find_face(before, settings)
    try:
        check_same_size(clip.onset, size_of(before), clip.apex, size_of(key[clip.apex]))
        if face is not None:
            crop = face_crop(face, settings)
            check_one_person(clip.onset, before, clip.apex, key[clip.apex], crop, settings)
    except FrameError as error:
        return [error.problem]
    return []
