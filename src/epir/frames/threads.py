"""OpenCV with one thread."""

from collections.abc import Iterator
from contextlib import contextmanager

import cv2


@contextmanager
def one_thread() -> Iterator[None]:
    """OpenCV with one thread: processes share the cores, and the result must not depend on their number."""
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(threads)
