import pytest

from epir.core.errors import ConfigError
from epir.models.baselines.ststnet import StstnetSettings
from epir.models.registry import model_settings

IMPOSSIBLE = [
    ("ststnet", {"map_size": 4}, r"ststnet cannot take 4 px maps\n  fix: use maps of 8 px or more, for example 28"),
    ("ststnet", {"classes": 1}, "ststnet cannot classify 1 classes\n  fix: set classes to 2 or more"),
    ("ststnet", {"dropout": 1.0}, "dropout cannot be 1.0\n  fix: use 0 or more, and less than 1"),
    ("capsulenet", {"map_size": 14}, "capsulenet cannot take 14 px maps\n  fix: use maps of 19 px"),
    ("capsulenet", {"routings": 0}, "routings cannot be 0\n  fix: set it to 1 or more"),
    ("rcn-a", {"map_size": 20}, "rcn-a cannot pool a 20 px map to 5 places per side\n  fix: set pool to at most 4"),
    ("htnet", {"map_size": 42}, "cannot divide a 42 px map into 7 px patches in 3 levels\n  fix: .*multiple of 28"),
    ("htnet", {"blocks": ()}, r"cannot have the blocks \[\]\n  fix: give one block"),
    ("htnet", {"width": 2}, "3 heads do not fit in a width of 2\n  fix: use fewer heads"),
    ("bi-woof", {"grid": 40}, "cannot divide a 28 px map into 40 x 40 blocks\n  fix: set grid to at most 28"),
    ("bi-woof", {"cost": 0.0}, "the cost of an error cannot be 0.0\n  fix: set cost to more than 0"),
    ("bi-woof", {"normalise": "fold"}, "bi-woof cannot normalise by 'fold'\n  fix: use one of: map, none"),
    ("mdmo", {"bins": 1}, "mdmo cannot use 1 directions\n  fix: set bins to 2 or more"),
    ("mdmo", {"balance": 1.5}, "balance cannot be 1.5\n  fix: use a number from 0 to 1"),
    ("lbp-top", {"length": 8}, "8 frames are too few for a reach of 4 frames\n  fix: set length to 9 or more"),
    ("lbp-top", {"grid": 139}, "a 140 px face has no 139 x 139 blocks\n  fix: set grid to less"),
]


@pytest.mark.parametrize(("name", "changes", "words"), IMPOSSIBLE)
def test_what_cannot_work_is_refused_before_anything_is_built(name, changes, words):
    with pytest.raises(ConfigError, match=words):
        model_settings(name, **changes)


def test_a_baseline_keeps_its_name():
    with pytest.raises(ConfigError, match="'epir' is not the name of this model\n  fix: write name = 'ststnet'"):
        StstnetSettings(name="epir")
