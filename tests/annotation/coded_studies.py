"""Studies for tests: people, candidates, and coders who decided."""

from epir.annotation.records import StudyMovement
from epir.annotation.study import Study

FPS = 100.0


def new_study(folder, people=("p1", "p2", "p3"), candidates=4, frames=2000):
    """One recording of each person, with candidates of 40 frames every 200 frames."""
    study = Study.create(folder)
    for number, person in enumerate(people):
        recording = study.add_recording(f"../{person}.mp4", f"{number:064d}", frames=frames, fps=FPS)
        study.add_movements(
            StudyMovement(0, recording.id, 0, 200 * n + 100, 200 * n + 120, 200 * n + 139, probability=0.5)
            for n in range(candidates)
        )
    return study


def accept(study, coder, movement, **fields):
    return study.decide(coder, movement, state="accept", **fields)
