"""A study of a video with numbered frames, with candidates and curves as written by the spotter."""

import numpy as np
import pytest

from epir.annotation.recordings import add_recordings, find_recordings
from epir.annotation.records import StudyMovement
from epir.annotation.study import Study
from epir.spotting.regions import GROUPS

FRAMES = 260
CLASSES = ("negative", "positive", "surprise")


def candidates(recording, count):
    rules = ("", "speech", "too large", "unclear")
    for number in range(count):
        onset = 10 + 20 * number
        scores = dict.fromkeys(CLASSES, 0.33)
        yield StudyMovement(
            id=0,
            recording=recording,
            face=0,
            onset=onset,
            apex=onset + 6,
            offset=onset + 12,
            probability=round(0.9 - 0.07 * number, 2),
            rule=rules[number % 4],
            region=GROUPS[number % len(GROUPS)],
            side="both",
            strength=0.004 + 0.001 * number,
            measures={"step": 0.5},
            proposal={"class": "positive", "scores": scores, "units": [], "words": f"secret {number}."},
        )


@pytest.fixture
def desk_study(tmp_path, numbered):
    """Makes a study; its video is in the folder `recordings` beside it."""
    studies = []

    def make(count=10, name="anna.mp4", folder=None):
        place = tmp_path / "recordings"
        place.mkdir(exist_ok=True)
        numbered.write(place / name)
        study = Study.create(folder or tmp_path / "study")
        studies.append(study)
        (recording,) = add_recordings(study, find_recordings([place]))
        study.add_movements(candidates(recording.id, count))
        square = [63.5, 63.5, 128 / 1.45, 0.0, 1.0]  # with its margin the whole frame
        rows = np.arange(FRAMES)
        study.set_curves(
            recording.id,
            0,
            {
                "numbers": rows.astype(np.int32),
                "seconds": rows / 30,
                "motion": np.abs(np.sin(rows[:, None] / (5 + np.arange(len(GROUPS))))).astype(np.float32) / 100,
                "head": np.zeros(FRAMES, np.float32),
                "squares": np.tile(np.array(square, np.float32), (FRAMES, 1)),
            },
        )
        study.update_recording(recording.id, state="done", spotted=FRAMES, frames=FRAMES, fps=30.0, seconds=FRAMES / 30)
        return study

    yield make
    for study in studies:
        study.close()
