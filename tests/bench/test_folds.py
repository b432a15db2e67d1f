import pytest

from epir.bench.folds import measure


@pytest.mark.slow
def test_the_ratios_are_measured():
    workers, share, htnet = measure(quick=True)
    assert workers.name == "one worker / two workers" and workers.value > 0 and "s and" in workers.detail
    assert share.target == 0.95 and 0 < share.value <= 1
    assert htnet.target == 5.0 and htnet.value > 0
