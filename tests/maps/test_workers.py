import os

import cv2
import pytest

from epir.core.errors import ConfigError, EpirError
from epir.maps.workers import one_thread, run


class Deadly:
    """Unpacking this ends the process that does it."""

    def __reduce__(self):
        return os._exit, (9,)


@pytest.mark.parametrize("in_order", [True, False])
def test_a_worker_that_dies_is_told_in_two_lines(in_order):
    with pytest.raises(EpirError, match=r"a worker process was killed.*\n  fix: .*fewer --workers"):
        list(run(repr, [Deadly(), Deadly()], workers=2, in_order=in_order))


@pytest.mark.parametrize("workers", [1, 2, None])
def test_every_job_is_done_with_the_arguments_given(workers):
    assert list(run(divmod, [7, 8, 9], 4, workers=workers)) == [(1, 3), (2, 0), (2, 1)]
    assert sorted(run(divmod, [9, 8, 7], 4, workers=workers, in_order=False)) == [(1, 3), (2, 0), (2, 1)]
    assert list(run(divmod, [], 4, workers=workers)) == []


def test_no_workers_are_refused_before_anything_is_done():
    with pytest.raises(ConfigError, match=r"--workers must be at least 1, not 0\n  fix: give --workers 1 or more"):
        run(print, ["job"], workers=0)


def test_threads_are_given_back_also_after_an_error():
    before = cv2.getNumThreads()
    with pytest.raises(ValueError, match="boom"), one_thread():
        assert cv2.getNumThreads() == 1
        raise ValueError("boom")
    assert cv2.getNumThreads() == before
