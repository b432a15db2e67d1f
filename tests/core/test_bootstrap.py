import numpy as np
import pytest

from epir.core.bootstrap import interval, resample_people


def test_every_resampling_has_as_many_people_and_every_call_gives_the_same():
    counts = resample_people(7, 50)
    assert counts.shape == (50, 7) and (counts.sum(axis=1) == 7).all()
    np.testing.assert_array_equal(counts, resample_people(7, 50))
    assert counts.mean() == pytest.approx(1) and counts.std() > 0.5


def test_the_interval_leaves_out_scores_that_are_undefined():
    scores = np.append(np.arange(101.0), np.nan)
    assert interval(scores, level=0.5) == (25.0, 75.0)
