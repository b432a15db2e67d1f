import os

import cv2
import pytest

from epir.core.errors import EpirError
from epir.flow.recipe import get_recipe
from epir.maps.finished import FinishedClips
from epir.maps.workers import one_thread, work_off


class Deadly:
    """Unpacking this ends the process that does it."""

    def __reduce__(self):
        return os._exit, (9,)


def test_a_worker_that_dies_is_told_in_two_lines(tmp_path, face_clips):
    from dataclasses import replace

    clips = [replace(clip, extra={"bomb": Deadly()}) for clip in face_clips(1, 2)]
    with pytest.raises(EpirError, match=r"a worker process was ended from outside.*\n  fix: .*fewer --workers"):
        list(work_off(clips, get_recipe(), 28, FinishedClips(tmp_path / "maps", "x"), workers=2))


def test_threads_are_given_back_also_after_an_error():
    before = cv2.getNumThreads()
    with pytest.raises(ValueError, match="boom"), one_thread():
        assert cv2.getNumThreads() == 1
        raise ValueError("boom")
    assert cv2.getNumThreads() == before
