"""Spotting into a study: measures and proposals, review while it runs, and the same result after a kill."""

import os
import signal
import subprocess
import sys
import time

import pytest

from epir.annotation.propose import spot_study
from epir.annotation.recordings import add_recordings, find_recordings
from epir.annotation.study import Study
from epir.spotting.decision import weights
from epir.spotting.regions import GROUPS
from epir.synthetic.long import LongSettings, write_long_videos

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spotting") / "long"
    write_long_videos(folder, LongSettings(people=1, seconds=12, seed=3))
    return folder


@pytest.fixture(scope="module")
def spotted(videos):
    with Study.create(videos.parent / "study") as study:
        add_recordings(study, find_recordings([videos]))
        spot_study(study.folder, 1)
        yield study


def test_every_candidate_has_its_measures_and_a_proposal(spotted):
    (recording,) = spotted.recordings()
    assert (recording.state, recording.spotted, recording.frames) == ("done", 360, 360)
    movements = spotted.movements()
    assert movements and all(each.source == "spotter" for each in movements)
    known = set(weights()) - {"constant"}
    for each in movements:
        assert known <= set(each.measures) and each.proposal["class"] and each.proposal["words"]
        assert 0 <= each.onset < each.apex < each.offset < 360 and each.region in GROUPS


def test_curves_cover_the_face_in_every_frame(spotted):
    curves = spotted.curves(1, 0)
    assert spotted.faces(1) == [0] and len(curves["numbers"]) > 350
    assert curves["motion"].shape == (len(curves["numbers"]), len(GROUPS))
    assert (curves["squares"][:, 2] > 60).all()


def test_a_kill_in_the_middle_costs_nothing(videos, spotted):
    """Spotting is killed while a coder decides; a second run gives the same candidates."""
    folder = videos.parent / "killed"
    with Study.create(folder) as study:
        add_recordings(study, find_recordings([videos]))
        code = (
            "from pathlib import Path; from epir.annotation import propose; propose.BETWEEN_WRITES = 0.0; "
            f"propose.spot_study(Path({str(folder)!r}), 1)"
        )
        process = subprocess.Popen([sys.executable, "-c", code])
        while not study.movements():
            assert process.poll() is None, "it ended before anything was seen"
            time.sleep(0.05)
        first = study.movements()[0]
        study.decide("anna", first.id, state="accept")
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert study.recordings()[0].state == "spotting"
        spot_study(folder, 1)
        kept = [each for each in study.movements() if each.id != first.id]

        def what(each):
            return each.onset, each.apex, each.offset, each.probability, each.rule

        assert {what(each) for each in kept} == {what(each) for each in spotted.movements()} - {what(first)}
        assert [each.movement for each in study.decisions("anna")] == [first.id]


def test_a_recording_without_a_face_says_so(tmp_path, numbered):
    numbered.write(tmp_path / "no-face.mp4", count=40)
    (tmp_path / "broken.mp4").write_bytes((tmp_path / "no-face.mp4").read_bytes())
    with Study.create(tmp_path / "study") as study:
        add_recordings(study, find_recordings([tmp_path / "no-face.mp4"]))
        spot_study(study.folder, 1)
        assert (study.recordings()[0].state, study.recordings()[0].message) == ("done", "no face was found")
        numbered.write(tmp_path / "no-face.mp4", count=41)
        study.update_recording(1, state="waiting")
        spot_study(study.folder, 1)
        assert study.recordings()[0].state == "failed" and "has changed" in study.recordings()[0].message
