"""Preparing many clips at once: in this process, or in several."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import cv2

from epir.core.errors import EpirError
from epir.core.processes import process_pool
from epir.core.records import Clip
from epir.flow.recipe import Recipe
from epir.maps.clip import prepare_clip
from epir.maps.finished import FinishedClips
from epir.maps.left_out import LeftOut


def work_off(
    clips: Sequence[Clip], recipe: Recipe, size: int, finished: FinishedClips, workers: int | None = None
) -> Iterator[tuple[Clip, LeftOut | None]]:
    """Prepare the clips into `finished`, in any order; yields each with the reason if it is left out."""
    workers = min(workers or os.cpu_count() or 1, len(clips))
    if workers <= 1:
        for clip in clips:
            yield prepare_one(clip, recipe, size, finished)
        return

    from joblib import delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    pool = process_pool(workers, in_order=False)
    try:
        yield from pool(delayed(prepare_one)(clip, recipe, size, finished) for clip in clips)
    except TerminatedWorkerError:
        raise EpirError(
            "a worker process was ended from outside, perhaps for want of memory",
            fix="run the same command again with fewer --workers; finished clips are kept",
        ) from None


def prepare_one(clip: Clip, recipe: Recipe, size: int, finished: FinishedClips) -> tuple[Clip, LeftOut | None]:
    """Prepare one clip and keep it; a clip that cannot be prepared stops nothing."""
    with one_thread():
        try:
            finished.add(prepare_clip(clip, recipe, size))
        except (EpirError, OSError, cv2.error) as error:
            return clip, LeftOut.because(clip, error)
    return clip, None


@contextmanager
def one_thread() -> Iterator[None]:
    """OpenCV with one thread: clips are done side by side, and each must give the same in any company."""
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(threads)
