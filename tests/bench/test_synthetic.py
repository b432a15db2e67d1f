"""Faces that the detector finds, and flow that the Farneback recipe finds, against what was drawn."""

import numpy as np
import pytest

from epir.bench.synthetic import flow_error, landmark_errors, measure
from epir.core.errors import ConfigError
from epir.flow.recipe import get_recipe
from epir.synthetic.corpus import CorpusSettings, plan_corpus

BOUND = 0.06  # mean endpoint error over clips, face units (0.2 % of the face's width)


@pytest.mark.slow
def test_farneback_recovers_the_true_flow():
    plans = plan_corpus(CorpusSettings(people=4, clips=2, idle=0, size=320))
    errors, lengths, agreement = np.array([flow_error(plan, 0, 320, get_recipe("epir")) for plan in plans]).T
    assert errors.mean() < BOUND
    assert errors.mean() < 0.6 * lengths.mean(), "far nearer than no flow at all"
    assert np.median(agreement) > 0.7


@pytest.mark.slow
def test_the_detector_finds_them_with_every_landmark_in_its_place():
    found = [landmark_errors(8, f"{number:03d}", 320) for number in range(25)]
    assert all(errors is not None for errors in found)
    assert max(errors.max() for errors in found) < 2.5, "within a tenth of the face"


def test_parts_are_left_out_with_0():
    (speed,) = measure(changes=["detection=0", "flow=0", "maps=8", "recipe=direct"])
    assert speed.name == "maps per second and core, direct"
    assert speed.value > 0
    found, *_ = measure(changes=["detection=1", "flow=0", "maps=0", "size=200"])
    assert found.value in (0.0, 1.0)
    (error,) = measure(changes=["detection=0", "flow=1", "maps=0", "size=200"])
    assert 0 < error.value < 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"inputs": ["corpus"]}, r"synthetic takes no input, not 'corpus'\n  fix: "),
        ({"changes": ["maps=-1"]}, r"maps cannot be -1\n  fix: give 0 or"),
        ({"changes": ["peple=3"]}, r"no setting 'peple'"),
    ],
)
def test_what_cannot_be_measured_is_refused(given, words):
    with pytest.raises(ConfigError, match=words):
        measure(**given)
