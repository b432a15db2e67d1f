import pytest

from epir.core.errors import ConfigError
from epir.spotting.settings import SpottingSettings


def test_a_micro_expression_lasts_from_a_25th_to_half_a_second():
    assert (SpottingSettings().shortest, SpottingSettings().longest) == (0.04, 0.5)


def test_a_higher_sensitivity_asks_for_less():
    low, normal, high = (SpottingSettings(sensitivity=each).threshold for each in ("low", "normal", "high"))
    assert low > normal > high


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"size": 3}, r"spotting.size cannot be 3\n  fix: give a size in pixels from 24 to 512"),
        ({"shortest": 1.0}, r"cannot last from 1 to 0.5 seconds\n  fix: give shortest below longest"),
        ({"sensitivity": "hihg"}, r"'hihg'(.|\n)*did you mean 'high'"),
    ],
)
def test_impossible_settings_are_refused(changes, words):
    with pytest.raises(ConfigError, match=words):
        SpottingSettings(**changes)
