import pytest

from epir.bench import folds
from epir.models.registry import model_settings


@pytest.mark.slow
def test_the_ratios_are_measured(monkeypatch):
    measured = []

    def small(name):
        measured.append(name)
        return model_settings("ststnet")

    monkeypatch.setattr(folds, "model_settings", small)
    workers, share, htnet = folds.measure(quick=True)
    assert set(measured) == {"epir", "htnet"}
    assert workers.name == "one worker / two workers" and workers.value > 0 and "s and" in workers.detail
    assert share.target == 0.95 and 0 < share.value <= 1
    assert htnet.target == 5.0 and htnet.value > 0
