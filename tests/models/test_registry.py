import tomllib

import pytest
import tomli_w
import torch

from epir.core.config import digest, to_dict
from epir.core.errors import CheckpointError, ConfigError, EpirWarning
from epir.models import registry
from epir.models.estimator import Estimator
from epir.models.folder import HEAD
from epir.models.network import Network
from epir.models.registry import (
    build,
    create_model,
    find_method,
    list_models,
    model_settings,
    parse_models,
    settings_from_dict,
)
from epir.models.settings import PRESETS

BASELINES = (
    *("ststnet", "off-apexnet", "dual-inception", "capsulenet", "rcn-a", "htnet", "resnet18-flow", "featref"),
    *("bi-woof", "mdmo", "lbp-top"),
)


def test_epir_and_its_rungs_come_first_then_the_baselines():
    assert list_models() == (*PRESETS, "paper", *BASELINES)
    assert "epir" in list_models()


def test_the_classical_methods_are_estimators():
    assert [name for name in list_models() if find_method(name).kind == "estimator"] == ["bi-woof", "mdmo", "lbp-top"]


@pytest.mark.parametrize("name", list_models())
def test_settings_know_their_name_and_survive_toml(name):
    settings = model_settings(name, classes=5)
    assert settings.name == name and settings.classes == 5 and settings.map_size == 28
    values = tomllib.loads(tomli_w.dumps(to_dict(settings)))
    assert settings_from_dict(values) == settings
    assert digest(settings_from_dict(values)) == digest(settings)


@pytest.mark.parametrize("name", [name for name in list_models() if name != "htnet"])
def test_build_gives_a_network_or_an_estimator(name):
    model = build(model_settings(name))
    assert isinstance(model, Estimator if find_method(name).kind == "estimator" else Network)
    assert model.settings == model_settings(name)


def test_left_out_settings_have_the_values_of_the_named_model():
    assert settings_from_dict({"name": "rcn-a"}) == model_settings("rcn-a")
    assert settings_from_dict({"name": "vit", "classes": 5}) == model_settings("vit", classes=5)


def test_unknown_names_are_refused_with_the_nearest():
    for refuse in (create_model, model_settings, find_method):
        with pytest.raises(ConfigError, match=r"there is no model 'stsnet'\n  fix: did you mean 'ststnet'\?"):
            refuse("stsnet")
    with pytest.raises(ConfigError, match=r"\[model\] has no setting 'droput'\n  fix: did you mean 'dropout'\?"):
        create_model("ststnet", droput=0.1)
    with pytest.raises(ConfigError, match="have no name\n  fix: write name = 'epir'"):
        settings_from_dict({"classes": 3})


def test_an_estimator_is_no_network():
    with pytest.raises(ConfigError, match=r"'mdmo' is an estimator, not a network\n  fix: .*--model mdmo"):
        create_model("mdmo")


def test_wrong_types_are_refused():
    with pytest.raises(ConfigError, match=r"model\.classes cannot be 'three'\n  fix: give a whole number"):
        model_settings("ststnet", classes="three")
    with pytest.raises(ConfigError, match=r"model\.normalise cannot be 'clip'\n  fix: use one of: map, squash, none"):
        model_settings("htnet", normalise="clip")


@pytest.mark.parametrize("name", [name for name in list_models() if find_method(name).kind == "network"])
def test_the_classifier_is_called_head(name):
    three, four = (create_model(name, classes=classes).state_dict() for classes in (3, 4))
    assert {key.removeprefix("module.").split(".")[0] for key in three if three[key].shape != four[key].shape} == {HEAD}


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


# ----------------------------------------------------------------------------------------------- methods of the user's


NET = """
import torch
from torch import nn


class MyNet(nn.Module):
    def __init__(self, classes: int, width: int = 4):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, width, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Linear(width, classes)

    def forward(self, maps):
        return self.head(self.body(maps))


def make_net(classes: int, width: int = 2):
    return MyNet(classes, width)
"""


class Plain(torch.nn.Module):
    def __init__(self, num_classes: int, img_size: int = 28):
        super().__init__()
        self.linear = torch.nn.Linear(3 * img_size**2, num_classes)

    def forward(self, maps):
        return self.linear(maps.flatten(1))


@pytest.fixture
def net_file(tmp_path):
    path = tmp_path / "my_net.py"
    path.write_text(NET)
    return path


@pytest.fixture
def on_path(tmp_path, monkeypatch):
    """A folder that Python imports from."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def test_a_class_a_file_and_a_module_are_methods(net_file, on_path):
    (on_path / "their_nets.py").write_text(NET)
    plain = find_method(Plain)
    assert (plain.name, plain.kind, plain.recipe) == ("Plain", "network", "baseline")
    assert plain.source.reference.endswith("test_registry:Plain") and len(plain.source.digest) == 16
    by_file = find_method(f"{net_file}:MyNet")
    assert (by_file.name, by_file.source.reference) == ("MyNet", "my_net.py:MyNet")
    by_module = find_method("their_nets:MyNet")
    assert (by_module.name, by_module.source.reference) == ("MyNet", "their_nets:MyNet")
    assert by_file.source.digest == by_module.source.digest
    for method in (plain, by_file, by_module, find_method(f"{net_file}:make_net")):
        network = create_model(method, classes=5, map_size=12).eval()
        assert network(torch.zeros(2, 3, 12, 12)).shape == (2, 5) and network.source == method.source


def test_an_installed_package_offers_its_methods_by_an_entry_point(on_path):
    (on_path / "their_nets.py").write_text(NET)
    record = on_path / "their_nets-1.2.dist-info"
    record.mkdir()
    (record / "METADATA").write_text("Metadata-Version: 2.1\nName: their-nets\nVersion: 1.2\n")
    (record / "entry_points.txt").write_text("[epir.models]\ntheir-net = their_nets:MyNet\n")
    assert list_models()[-1] == "their-net"
    method = find_method("their-net")
    assert method.name == "their-net" and method.settings().width == 4
    assert (method.source.distribution, method.source.version) == ("their-nets", "1.2")
    with pytest.raises(ConfigError, match=r"there is no model 'their-ne'\n  fix: did you mean 'their-net'\?"):
        find_method("their-ne")


def test_two_names_that_meet_a_built_in_one_stay_apart(tmp_path):
    (tmp_path / "mine.py").write_text(NET.replace("class MyNet", "class epir").replace("MyNet(", "epir("))
    assert find_method(f"{tmp_path / 'mine.py'}:epir").name == "mine:epir"


def test_the_attributes_recipe_and_normalise_of_a_class_are_its_defaults():
    class Raw(Plain):
        recipe, normalise = "scratch", "none"

    method = find_method(Raw)
    assert method.recipe == "scratch" and method.settings().normalise == "none"


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        (NET, "MyNte", r"my_net.py:MyNte cannot be loaded: there is no 'MyNte' in it\n  fix: did you mean 'MyNet'\?"),
        (NET, "", r"names no model\n  fix: write the name after a colon"),
        ("import torch\nimport nowhere_else\n", "MyNet", r"my_net.py, line 2, cannot be imported: Module"),
        ("class MyNet(:\n", "MyNet", r"my_net.py, line 1, cannot be imported: SyntaxError"),
        ("MyNet = 3\n", "MyNet", r"is a value of type int, not a model\n  fix: name a function or a class"),
        ("class MyNet:\n    pass\n", "MyNet", r"MyNet is neither a torch module nor an estimator\n  fix: use a"),
        ("def MyNet(classes):\n    return 3\n", "MyNet", r"MyNet returns a int, which is neither .*\n  fix: use a"),
        (NET.replace("classes: int, width", "width"), "MyNet", r"MyNet has no argument for .* classes\n  fix: let its"),
        ("def MyNet(classes):\n    return 1 / 0\n", "MyNet", r"MyNet cannot be built: ZeroDivisionError: div"),
    ],
)  # fmt: skip
def test_what_is_no_method_is_refused_with_a_fix(net_file, text, name, words):
    net_file.write_text(text)
    with pytest.raises(ConfigError, match=words) as caught:
        find_method(f"{net_file}:{name}")
    assert str(caught.value).count("\n") == 1


def test_a_file_or_module_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"there is no file .*nowhere.py\n  fix: check the path"):
        find_method(f"{tmp_path}/nowhere.py:MyNet")
    with pytest.raises(ConfigError, match=r"there is no module 'no_such_package.nets' .*\n  fix: install its package"):
        find_method("no_such_package.nets:MyNet")
    with pytest.raises(ConfigError, match=r"^int is a int, not a method\n  fix: give a torch module class"):
        find_method(3)


@pytest.mark.parametrize(
    ("forward", "words"),
    [
        ("return self.head(self.body(maps))[:, :2]", r"MyNet gives \(2, 2\) for maps \(2, 3, 12, 12\), not log"),
        ("return None", r"MyNet gives NoneType for maps"),
        ("return self.head(self.body(maps)) / 0 * 0", "MyNet gives logits that are not finite\n  fix: check its"),
        ("return self.head(maps)", r"MyNet cannot be built: RuntimeError: mat1 and mat2 shapes.*\n  fix: check"),
    ],
)  # fmt: skip
def test_logits_of_another_shape_are_refused_before_training(net_file, forward, words):
    net_file.write_text(NET.replace("return self.head(self.body(maps))", forward))
    method = find_method(f"{net_file}:MyNet")
    with pytest.raises(ConfigError, match=words):
        method.check_logits(method.with_settings(name="MyNet", map_size=12))


def test_a_setting_without_a_default_must_be_given(net_file):
    net_file.write_text(NET.replace("width: int = 4", "width: int"))
    method = find_method(f"{net_file}:MyNet")
    assert method.with_settings(width=3).width == 3
    with pytest.raises(ConfigError, match=r"MyNet needs a value for 'width'\n  fix: add --set model.width="):
        method.with_settings()


def test_checking_a_method_leaves_the_random_numbers_alone(net_file):
    torch.manual_seed(0)
    method = find_method(f"{net_file}:MyNet")
    method.check_logits(method.with_settings())
    after = torch.rand(1)
    torch.manual_seed(0)
    assert torch.equal(after, torch.rand(1))


# ----------------------------------------------------------------------------------------- their model folders


@pytest.fixture
def nothing_named(monkeypatch):
    monkeypatch.setattr(registry, "_NAMED", [])
    monkeypatch.setenv(registry.CODE, "")


def test_a_model_folder_says_where_its_code_must_come_from(net_file, tmp_path, nothing_named, monkeypatch):
    torch.manual_seed(0)
    network = create_model(f"{net_file}:MyNet", map_size=12, width=3).eval()
    folder = network.save_pretrained(tmp_path / "model", labels=("a", "b", "c"))
    registry._NAMED.clear()
    with pytest.raises(ConfigError, match=r"model in .* needs code .*: my_net.py:MyNet\n  fix: add --code my"):
        Network.from_pretrained(folder)
    monkeypatch.chdir(net_file.parent)
    registry.name_code(["my_net.py:MyNet"])
    monkeypatch.chdir("/")  # a worker may be anywhere
    registry._NAMED.clear()
    maps = torch.randn(2, 3, 12, 12)
    again = Network.from_pretrained(folder)
    assert torch.equal(again(maps), network(maps)) and again.settings.width == 3
    with pytest.raises(ConfigError, match=r"there is no file nowhere.py"):
        registry.name_code(["nowhere.py:MyNet"])


def test_code_that_has_changed_is_told_and_refused_where_it_does_not_fit(net_file, tmp_path, nothing_named):
    folder = create_model(f"{net_file}:MyNet", map_size=12, width=3).save_pretrained(tmp_path / "model")
    net_file.write_text(NET.replace("width: int = 4", "width: int = 4, depth: int = 1"))
    find_method(f"{net_file}:MyNet")
    with pytest.warns(EpirWarning, match="my_net.py:MyNet has changed since the weights in model were trained"):
        assert Network.from_pretrained(folder).settings.depth == 1
    net_file.write_text(NET.replace("nn.Linear(width, classes)", "nn.Linear(width, classes, bias=False)"))
    find_method(f"{net_file}:MyNet")
    fix = "fix: restore the version of my_net.py:MyNet"
    with pytest.warns(EpirWarning), pytest.raises(CheckpointError, match=f"weights 'module.head.bias' .*\n  {fix}"):
        Network.from_pretrained(folder)
    net_file.write_text(NET.replace("width", "wide"))
    find_method(f"{net_file}:MyNet")
    with (
        pytest.warns(EpirWarning),
        pytest.raises(CheckpointError, match=r"cannot be built .*'width'\n  fix: restore"),
    ):
        Network.from_pretrained(folder)


def test_models_are_named_with_commas():
    assert parse_models("epir, ststnet,epir") == ("epir", "ststnet")
    with pytest.raises(ConfigError, match="there is no model 'stsnet'\n  fix: did you mean 'ststnet'"):
        parse_models("epir,stsnet")
    for text in (",", "epir,,vit", "epir,"):
        words = f"--model {text} has a comma too many\n  fix: write --model epir,ststnet"
        with pytest.raises(ConfigError, match=words):
            parse_models(text)
