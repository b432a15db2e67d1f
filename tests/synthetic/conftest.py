from dataclasses import replace

import cv2
import pytest

from epir.synthetic.drawing.canvas import Canvas
from epir.synthetic.drawing.portrait import draw_portrait
from epir.synthetic.identity import draw_identity


@pytest.fixture(autouse=True)
def one_cv_thread():
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    yield
    cv2.setNumThreads(threads)


@pytest.fixture(scope="session")
def person():
    """Someone with bare eyes and short hair."""
    drawn = draw_identity(0, "005")
    return replace(drawn, looks=replace(drawn.looks, glasses="none", hair="short", beard="none"))


@pytest.fixture(scope="session")
def portrait(person):
    return draw_portrait(person, Canvas.frame(192))
