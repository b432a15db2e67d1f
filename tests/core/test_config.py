from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epir.core import config
from epir.core.config import differences, digest, from_dict, override, read_toml, to_dict, write_toml
from epir.core.errors import ConfigError
from epir.faces.face import FaceSettings
from epir.flow.recipe import FlowSettings
from epir.models.settings import ModelSettings
from epir.spotting.decision import SpottingSettings
from epir.training.recipe import TrainingSettings


@dataclass(frozen=True)
class Inner:
    depth: int = 3
    rate: float = 0.5
    kind: Literal["a", "b"] = "a"
    start: Path | None = None
    sizes: tuple[int, ...] = (1, 2)


@dataclass(frozen=True)
class Outer:
    name: str = "x"
    careful: bool = True
    model: Inner = field(default_factory=Inner)


@given(
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
    st.booleans(),
    st.lists(st.integers(-9, 9)),
)
def test_settings_survive_the_way_through_plain_values(depth, rate, name, careful, sizes):
    settings = Outer(name, careful, Inner(depth, rate, "b", Path("weights"), tuple(sizes)))
    assert from_dict(Outer, to_dict(settings)) == settings


def test_settings_survive_the_way_through_toml(tmp_path):
    settings = Outer('ü = "1"', False, Inner(7, 1.0, "b", None, ()))
    write_toml(settings, tmp_path / "config.toml")
    assert read_toml(Outer, tmp_path / "config.toml") == settings


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("model.depth=6", 6),
        ("model.rate=2", 2.0),
        ("model.kind=b", "b"),
        ("model.start=some/folder", Path("some/folder")),
        ("model.start=none", None),
        ("model.sizes=[4, 5]", (4, 5)),
        ("name=plain words", "plain words"),
        ("careful=false", False),
    ],
)
def test_dotted_names_change_one_setting(change, value):
    settings = override(Outer(), [change])
    place = settings.model if change.startswith("model.") else settings
    assert getattr(place, change.split("=")[0].split(".")[-1]) == value


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("model.dept=6", r"\[model\] has no setting 'dept'\n  fix: did you mean 'depth'\?"),
        ("modle.depth=6", r"there is no setting 'modle'\n  fix: did you mean 'model'\?"),
        ("zzz=6", r"fix: use one of: careful, model, name"),
        ("model.depth=deep", r"model.depth cannot be 'deep'\n  fix: give a whole number"),
        ("model.depth=true", r"model.depth cannot be True"),
        ("model.kind=c", r"model.kind cannot be 'c'\n  fix: use one of: a, b"),
        ("careful=1", r"careful cannot be 1\n  fix: give true or false"),
        ("model=3", r"model is a section, not a single setting\n  fix: name one of its settings: model.depth"),
        ("name.first=3", r"name is a single setting, not a section\n  fix: write --set name=value"),
        ("depth", r"--set depth has no value\n  fix: write name=value"),
    ],
)
def test_wrong_settings_are_refused_with_what_to_do(change, words):
    with pytest.raises(ConfigError, match=words):
        override(Outer(), [change])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, r"there is no settings file .*a.toml"),
        ("name = x y", r"a.toml is not valid TOML: "),
        ("[model]\ndepht = 3\n", r"\[model\] has no setting 'depht'\n  fix: did you mean 'depth'"),
    ],
)
def test_files_that_cannot_be_used_are_named(tmp_path, text, words):
    if text is not None:
        (tmp_path / "a.toml").write_text(text)
    with pytest.raises(ConfigError, match=words):
        read_toml(Outer, tmp_path / "a.toml")


def test_the_digest_depends_on_values_and_on_nothing_else():
    assert digest(Outer()) == digest(from_dict(Outer, {"careful": True, "name": "x"}))
    assert digest(Outer()) != digest(Outer(name="y"))
    assert digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1}) == "d3626ac30a87e6f7"  # the same on every machine


def test_differences_name_each_setting():
    assert differences(Outer(), Outer("y", True, Inner(depth=4))) == ["model.depth: 3 -> 4", "name: x -> y"]


@pytest.mark.parametrize("text", ["inf", "-inf", "nan"])
@pytest.mark.parametrize("name", ["lr", "weight_decay", "noise", "gradient_limit"])
def test_a_setting_is_finite(name, text):
    with pytest.raises(ConfigError, match=rf"{name} cannot be -?(inf|nan)\n  fix: give a finite number"):
        config.override(TrainingSettings(), [f"{name}={text}"])
    with pytest.raises(ConfigError, match=rf"training.{name} cannot be"):
        TrainingSettings(**{name: float(text)})


@pytest.mark.parametrize("section", [TrainingSettings, ModelSettings, FlowSettings, SpottingSettings, FaceSettings])
def test_every_number_has_a_bound(section):
    """No size, count or rate of 10^23 gets as far as a loop or an allocation."""
    numbers = [each for each in config.describe(section) if each.kind in ("int", "float")]
    assert numbers
    for each in numbers:
        value = 10**23 if each.kind == "int" else 1e23
        with pytest.raises(ConfigError, match=r"\n  fix: "):
            section(**{each.name: value})
        with pytest.raises(ConfigError):
            config.override(section(), [f"{each.name}={10**23}"])


def test_a_bound_is_named():
    with pytest.raises(ConfigError, match=r"model.blocks cannot be 10{23}\n  fix: give 1,000 or less"):
        ModelSettings(blocks=10**23)
    with pytest.raises(ConfigError, match="billion weights"):
        ModelSettings(blocks=1000, width=16384)


@pytest.mark.parametrize("text", ["9" * 5000, "[" * 5000, "1e" + "9" * 5000])
def test_a_value_of_thousands_of_characters_is_refused(text):
    with pytest.raises(ConfigError):
        config.override(TrainingSettings(), [f"lr={text}"])
