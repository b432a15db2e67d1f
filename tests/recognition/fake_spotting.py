"""A recognizer whose answer depends only on the video's name, so that tests of folders and commands need no pixels."""

import time
from dataclasses import replace

import numpy as np

from epir.core.errors import FrameError
from epir.recognition.answer import NOT_FOUND, Answer, Person
from epir.spotting.timeline import MACRO, FaceMovement, Timeline


def movement(onset, apex, offset, kind="micro-expression", fps=10.0):
    seconds = (onset / fps, apex / fps, offset / fps)
    return FaceMovement(onset, apex, offset, 0.01, "brows", kind, probability=0.9, seconds=seconds)


class FakeRecognizer:
    """One micro-expression (frames 10 to 14) and one macro-expression (20 to 40) in every video but `quiet`."""

    def __init__(self, seconds=0.0):
        self.seen, self.rates, self.seconds = [], [], seconds

    def predict(self, path, *, fps=None, progress=None):
        time.sleep(self.seconds)
        if not path.exists():
            raise FrameError(f"there is no folder or video {path}", fix="check the path")
        self.seen.append(path.name)
        self.rates.append(fps)
        if progress is not None:
            progress.start("spotting", 50)
            progress.advance(50)
            progress.finish()
        if "quiet" in path.name:
            return Answer(str(path), NOT_FOUND)
        micro, macro = movement(10, 12, 14), movement(20, 30, 40, MACRO)
        empty = np.zeros((0, 1), np.float32)
        timeline = Timeline(10.0, empty[:, 0], empty[:, 0], empty, empty, empty[:, 0], (), (micro,), (macro,))
        scores = {"negative": 0.2, "positive": 0.3, "surprise": 0.5}
        one = Answer(str(path), "uncertain", scores, 10, 12, 14, 1.0, 1.2, 1.4, timeline=timeline)
        return replace(one, people=(Person(0, timeline),), all=(one,), warnings=("dark",))
