import pytest

from epir.core.errors import ConfigError
from epir.models.registry import model_settings
from epir.training.replay import synthetic_replay

THREE = ("negative", "positive", "surprise")


def test_replay_has_the_classes_of_the_protocol_in_their_order():
    found = synthetic_replay(30, tuple(reversed(THREE)), model_settings("epir", map_size=14))
    assert found.classes == ("surprise", "positive", "negative") and found.maps.shape == (30, 3, 14, 14)
    assert sorted(set(found.labels.tolist())) == [0, 1, 2]
    assert (
        synthetic_replay(30, tuple(reversed(THREE)), model_settings("epir", map_size=14)) is found
    )  # made once a process
    five = synthetic_replay(10, ("disgust", "happiness", "others", "repression", "surprise"), model_settings("epir"))
    assert set(five.labels.tolist()) == set(range(5))


def test_there_is_none_for_other_classes_or_when_none_is_wanted():
    assert synthetic_replay(0, THREE, model_settings("epir")) is None
    assert synthetic_replay(30, ("happy", "not happy"), model_settings("epir", classes=2)) is None


def test_maps_of_another_scale_are_refused():
    words = "model.normalise=fold does not take away\n  fix: set training.replay=0, or model.normalise=map"
    with pytest.raises(ConfigError, match=words):
        synthetic_replay(30, THREE, model_settings("epir", normalise="fold"))
