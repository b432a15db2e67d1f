import cv2
import pytest

from epir.frames.threads import one_thread


def test_threads_are_given_back_also_after_an_error():
    before = cv2.getNumThreads()
    with pytest.raises(ValueError, match="boom"), one_thread():
        assert cv2.getNumThreads() == 1
        raise ValueError("boom")
    assert cv2.getNumThreads() == before
