"""Faces that the detector finds, and flow that the Farneback recipe finds, against what was drawn."""

import json

import numpy as np
import pytest

from epir.bench.synthetic import flow_error, landmark_errors, main
from epir.flow.recipe import get_recipe
from epir.synthetic.corpus import plan_corpus
from epir.synthetic.settings import CorpusSettings

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


def test_measures_are_written_as_json(capsys):
    main(["speed", "--maps", "8", "--recipe", "direct"])
    assert json.loads(capsys.readouterr().out)["maps_per_core_second"] > 0
    main(["detection", "--people", "1", "--size", "200"])
    assert json.loads(capsys.readouterr().out)["found"] in (0.0, 1.0)
