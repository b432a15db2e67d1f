import json

import pytest

from epir.core.errors import CheckpointError
from epir.models.folder import shipped_folder
from epir.models.schema import check_config

GOOD = {
    "model": {"name": "epir", "classes": 3},
    "labels": ["negative", "positive", "surprise"],
    "units": [1, 12],
    "notes": {"temperature": 0.8, "units": {"present": [1.0, 0.0], "thresholds": {"12": 0.4}}},
}


def test_what_epir_writes_passes():
    check_config(GOOD, "here")
    check_config({"model": {}}, "here")  # nothing is missing that is read
    check_config(json.loads((shipped_folder() / "config.json").read_text()), "here")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": []}, "no model settings"),
        ({"model": {"classes": 10**23}}, "model.classes is 10{23}, not a whole number from 2 to 10000"),
        ({"model": {"classes": 3.0}}, "model.classes"),
        ({"labels": "abc"}, "labels is 'abc', not a list of names"),
        ({"labels": ["a", "b", 3]}, "not a list of names"),
        ({"labels": ["a", "b", "b"]}, "3 different names"),
        ({"labels": ["a", "b"]}, "3 different names, one for each class"),
        ({"units": 12}, "a list of action unit numbers"),
        ({"units": [12, 12]}, "a list of distinct action units"),
        ({"units": [True]}, "a list of action unit numbers"),
        ({"notes": []}, "notes is \\[\\], not an object"),
        ({"notes": {"threshold": 2}}, "a number from 0 to 1"),
        ({"notes": {"mirror": "no"}}, "true or false"),
        ({"notes": {"shift": 10**6}}, "a whole number from 0 to 8"),
        ({"notes": {"recipe": "epir"}}, "notes.recipe"),
        ({"notes": {"recipe": {"recipes": [1]}}}, "a list of objects"),
        ({"notes": {"data": {"corpora": []}}}, "notes.data.corpora"),
        ({"notes": {"units": {"present": [1, float("nan")]}}}, "two finite numbers"),
        ({"notes": {"units": {"thresholds": {"x": 1}}}}, "for each action unit"),
        ({"notes": {"units": {"side_margin": "1"}}}, "a finite number"),
        ({"notes": {"real_people": {"reliability": [{"low": 1}]}}}, "low, high, clips and right"),
    ],
)
def test_a_field_of_another_type_is_refused(change, words):
    with pytest.raises(CheckpointError, match=words) as caught:
        check_config(GOOD | change, "config.json")
    assert str(caught.value).startswith("config.json") and "restore it from a copy" in caught.value.fix
