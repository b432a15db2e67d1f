import numpy as np
import pytest

from epir.core.seeds import generator, interval, resample_people, stream_seed


def test_streams_are_named_and_stable():
    assert stream_seed(0, "fold", "casme2/sub01") == 1943307458288939414  # the same on every machine
    assert len({stream_seed(s, n) for s in range(20) for n in "abc"}) == 60
    assert stream_seed(1, "2", "3") != stream_seed(1, "23")
    assert 0 <= stream_seed(5) < 2**63


def test_the_same_stream_gives_the_same_numbers():
    assert generator(3, "a").normal() == generator(3, "a").normal() != generator(3, "b").normal()


def test_every_resampling_has_as_many_people_and_every_call_gives_the_same():
    counts = resample_people(7, 50)
    assert counts.shape == (50, 7) and (counts.sum(axis=1) == 7).all()
    np.testing.assert_array_equal(counts, resample_people(7, 50))
    assert counts.mean() == pytest.approx(1) and counts.std() > 0.5


def test_the_interval_leaves_out_scores_that_are_undefined():
    scores = np.append(np.arange(101.0), np.nan)
    assert interval(scores, level=0.5) == (25.0, 75.0)
