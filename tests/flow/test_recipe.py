from dataclasses import replace

import pytest

from epir.core.config import from_dict, to_dict
from epir.core.errors import ConfigError
from epir.flow.recipe import FLOW_RECIPES, FlowRecipe, FlowSettings, changed, flow_recipe


def test_the_default_is_the_papers():
    recipe = flow_recipe()
    assert recipe.name == "epir"
    assert recipe.flow.method == "farneback"
    assert recipe.strain == "paper"
    assert (recipe.head_motion, recipe.normalise, recipe.apex) == ("keep", "none", "spotted")


def test_the_presets_are_what_their_papers_did():
    like = flow_recipe("ststnet-like")
    assert (like.flow.method, like.strain, like.normalise) == ("tvl1", "tensor", "minmax")
    like = flow_recipe("htnet-like")
    assert (like.flow.method, like.strain) == ("farneback", "magnitude")
    assert all(recipe.name == name for name, recipe in FLOW_RECIPES.items())


def test_the_digest_tells_choices_apart_and_ignores_the_name():
    digests = {recipe.digest for recipe in FLOW_RECIPES.values()}
    assert len(digests) == len(FLOW_RECIPES)
    assert replace(flow_recipe(), name="mine").digest == flow_recipe().digest
    for change in ("flow.size=96", "face.margin=0.4", "strain=tensor", "apex=middle", "head_motion=median"):
        assert flow_recipe("epir", [change]).digest != flow_recipe().digest


def test_a_recipe_survives_its_meta():
    recipe = flow_recipe("ststnet-like", ["flow.size=140"])
    meta = recipe.to_meta()
    assert meta.pop("digest") == recipe.digest
    assert from_dict(FlowRecipe, meta) == recipe
    assert to_dict(recipe) == meta


def test_changes_are_told():
    assert changed(flow_recipe()) == []
    assert changed(flow_recipe("epir", ["flow.size=96", "strain=tensor"])) == [
        "flow.size: 168 -> 96",
        "strain: paper -> tensor",
    ]
    assert changed(FlowRecipe(name="mine")) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("flow.method=farnback", r"has no choice 'farnback'\n  fix: did you mean 'farneback'\?"),
        ("flow.size=4", r"flow.size cannot be 4\n  fix: give a size in pixels from 16"),
        ("flow.context=0.9", r"flow.context cannot be 0.9"),
        ("flow.window=0", r"flow.window cannot be 0\n  fix: give a number above 0"),
        ("flow.sise=100", r"\[flow\] has no setting 'sise'\n  fix: did you mean 'size'"),
        ("strain=papre", r"strain cannot be 'papre'\n  fix: use one of"),
        ("apex=first", r"apex cannot be 'first'"),
    ],
)
def test_wrong_settings_are_refused(change, words):
    with pytest.raises(ConfigError, match=words):
        flow_recipe("epir", [change])


def test_wrong_choices_in_python_are_refused_too():
    with pytest.raises(ConfigError, match=r"\[strain\] has no choice 'papre'\n  fix: did you mean 'paper'"):
        FlowRecipe(strain="papre")
    with pytest.raises(ConfigError, match=r"\[flow.method\] has no choice 'lucas'"):
        FlowSettings(method="lucas")
    with pytest.raises(ConfigError, match=r"there is no flow recipe 'ststnet'\n  fix: did you mean 'ststnet-like'"):
        flow_recipe("ststnet")
