import tomllib

import pytest
import tomli_w
import torch

from epir.core.config import digest, override, to_dict
from epir.core.errors import ConfigError
from epir.models.baselines.pipeline import Pipeline
from epir.models.folder import HEADS
from epir.models.network import Network
from epir.models.registry import build, create_model, is_pipeline, list_models, model_settings, settings_from_dict
from epir.models.settings import PRESETS

BASELINES = (
    *("ststnet", "off-apexnet", "dual-inception", "capsulenet", "rcn-a", "htnet", "resnet18-flow"),
    *("bi-woof", "mdmo", "lbp-top"),
)


def test_epir_and_its_rungs_come_first_then_the_baselines():
    assert list_models() == (*PRESETS, "epir-small", "epir-seq", "paper", *BASELINES)
    assert "epir" in list_models()


def test_the_classical_methods_are_pipelines():
    assert [name for name in list_models() if is_pipeline(name)] == ["bi-woof", "mdmo", "lbp-top"]


@pytest.mark.parametrize("name", list_models())
def test_settings_know_their_name_and_survive_toml(name):
    settings = model_settings(name, classes=5)
    assert settings.name == name and settings.classes == 5 and settings.map_size == 28
    values = tomllib.loads(tomli_w.dumps(to_dict(settings)))
    assert settings_from_dict(values) == settings
    assert digest(settings_from_dict(values)) == digest(settings)


@pytest.mark.parametrize("name", list_models())
def test_settings_change_by_dotted_names(name):
    assert override(model_settings(name), ["classes=7"]).classes == 7


@pytest.mark.parametrize("name", [name for name in list_models() if name != "htnet"])
def test_build_gives_a_network_or_a_pipeline(name):
    model = build(model_settings(name))
    assert isinstance(model, Pipeline if is_pipeline(name) else Network)
    assert model.settings == model_settings(name)


def test_left_out_settings_have_the_values_of_the_named_model():
    assert settings_from_dict({"name": "rcn-a"}) == model_settings("rcn-a")
    assert settings_from_dict({"name": "vit", "classes": 5}) == model_settings("vit", classes=5)


def test_unknown_names_are_refused_with_the_nearest():
    for refuse in (create_model, model_settings, is_pipeline):
        with pytest.raises(ConfigError, match=r"there is no model 'stsnet'\n  fix: did you mean 'ststnet'\?"):
            refuse("stsnet")
    with pytest.raises(ConfigError, match=r"\[model\] has no setting 'droput'\n  fix: did you mean 'dropout'\?"):
        create_model("ststnet", droput=0.1)
    with pytest.raises(ConfigError, match="need its name\n  fix: write name = 'epir'"):
        settings_from_dict({"classes": 3})


def test_a_pipeline_is_no_network():
    with pytest.raises(ConfigError, match=r"'mdmo' is a pipeline .* not a network\n  fix: .*--model mdmo"):
        create_model("mdmo")


def test_wrong_types_are_refused():
    with pytest.raises(ConfigError, match=r"model\.classes cannot be 'three'\n  fix: give a whole number"):
        model_settings("ststnet", classes="three")
    with pytest.raises(
        ConfigError, match=r"model\.normalise cannot be 'clip'\n  fix: use one of: map, squash, fold, none"
    ):
        model_settings("htnet", normalise="clip")


@pytest.mark.parametrize("name", [name for name in list_models() if not is_pipeline(name)])
def test_the_classifier_is_called_head(name):
    three, four = (create_model(name, classes=classes).state_dict() for classes in (3, 4))
    assert {key.split(".")[0] for key in three if three[key].shape != four[key].shape} == {HEADS[0]}


def test_a_pretrained_model_gives_the_answers_of_the_shipped_one():
    maps = torch.randn(2, 3, 28, 28)
    shipped = Network.from_pretrained()
    model = create_model("epir", pretrained=True).eval()
    assert model.settings == shipped.settings
    with torch.no_grad():
        torch.testing.assert_close(model(maps), shipped(maps))


def test_a_pretrained_model_of_other_classes_has_a_new_head_on_the_same_features():
    model = create_model("epir", pretrained=True, classes=5).eval()
    with torch.no_grad():
        maps = torch.randn(2, 3, 28, 28)
        torch.testing.assert_close(model.forward_features(maps), Network.from_pretrained().forward_features(maps))
        assert model(maps).shape == (2, 5)


@pytest.mark.parametrize(("name", "changes"), [("ststnet", {}), ("vit", {}), ("epir", {"width": 192})])
def test_without_weights_that_fit_nothing_is_called_pretrained(name, changes):
    with pytest.raises(ConfigError, match="no shipped weights") as caught:
        create_model(name, pretrained=True, **changes)
    assert "epir" in caught.value.fix
