"""Constructor arguments are settings, whatever the constructor looks like."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

import pytest

from epir.core.config import to_dict
from epir.core.errors import ConfigError
from epir.models.arguments import Range, call_with_settings, plain_settings, read_signature, settings_class


def settings_of(method, **values):
    return settings_class("mine", read_signature(method, "mine"))(**values)


def test_the_types_come_from_annotations_or_else_from_defaults():
    def method(classes, num_blocks: int, map_size=28, rate=0.5, name="x", kernels: tuple[int, ...] = (3, 5)):
        return None

    signature = read_signature(method, "mine")
    assert [(name, kind) for name, kind, _ in signature.fields] == [
        *[("num_blocks", int), ("rate", float), ("kernels", tuple[int, ...])]
    ]
    assert signature.classes == "classes" and signature.map_size == "map_size"


@pytest.mark.parametrize(("classes", "size"), [("num_classes", "img_size"), ("n_classes", "image_size")])
def test_the_usual_names_of_classes_and_size_are_understood(classes, size):
    names: dict = {}
    exec(f"def method({classes}, {size}=224, width=8):\n    return ({classes}, {size}, width)", names)
    settings = settings_of(names["method"], classes=5, map_size=12, width=3)
    assert call_with_settings(names["method"], settings, read_signature(names["method"], "mine")) == (5, 12, 3)


def test_a_method_that_does_not_ask_for_the_size_is_not_given_it():
    def method(classes, width=8):
        return (classes, width)

    assert call_with_settings(method, settings_of(method), read_signature(method, "mine")) == (3, 8)


def test_arguments_that_cannot_be_settings_keep_their_defaults():
    def method(classes, layer: type = dict, hook=None, *more, **others):
        return (layer, hook, more, others)

    assert to_dict(settings_of(method)) == {"name": "mine", "map_size": 28, "classes": 3, "normalise": "map"}
    assert call_with_settings(method, settings_of(method), read_signature(method, "mine")) == (dict, None, (), {})


def test_one_without_a_default_that_cannot_be_written_is_refused():
    def method(classes, layer: type):
        return layer

    with pytest.raises(ConfigError, match=r"mine needs a value for 'layer', which .*\n  fix: give layer a default"):
        read_signature(method, "mine")


def test_positional_only_and_unreadable_annotations_are_refused():
    def by_place(classes, /):
        return classes

    def unreadable(classes: "Nowhere"):  # noqa: F821
        return classes

    with pytest.raises(ConfigError, match="takes 'classes' by position only\n  fix: remove the slash"):
        read_signature(by_place, "mine")
    with pytest.raises(ConfigError, match=r"arguments of mine cannot be read: .*Nowhere.*\n  fix: correct its annot"):
        read_signature(unreadable, "mine")


def test_a_dataclass_of_settings_is_filled_in():
    @dataclass(frozen=True)
    class Sizes:
        num_classes: int
        width: int = 8
        kernels: tuple[int, ...] = field(default_factory=lambda: (3, 5))
        name: str = ""

    def method(sizes: Sizes):
        return sizes

    settings = settings_of(method, classes=4, width=2)
    assert call_with_settings(method, settings, read_signature(method, "mine")) == Sizes(4, 2, (3, 5), "mine")


def test_ranges_and_choices_of_annotations_are_kept():
    def method(
        classes,
        map_size: Annotated[int, Range(ge=8)] = 28,
        rate: Annotated[float, Range(gt=0, lt=1), "share of units"] = 0.5,
        kind: Literal["a", "b"] = "a",
    ):
        return None

    kind = settings_class("mine", read_signature(method, "mine"))
    assert kind.__dataclass_fields__["rate"].metadata["about"] == "share of units"
    with pytest.raises(ConfigError, match=r"rate cannot be 1.0\n  fix: use more than 0 and less than 1"):
        kind(rate=1.0)
    with pytest.raises(ConfigError, match="mine cannot take 4 px maps\n  fix: use maps of 8 px or more"):
        kind(map_size=4)
    with pytest.raises(ConfigError, match="mine cannot take 2000 px maps\n  fix: use maps of 1024 px or less"):
        kind(map_size=2000)
    with pytest.raises(ConfigError, match="mine cannot classify 1 classes\n  fix: set classes to 2 or more"):
        kind(classes=1)
    with pytest.raises(ConfigError, match="'other' is not the name of this model\n  fix: write name = 'mine'"):
        kind(name="other")


def test_settings_without_their_method_are_the_values_as_written():
    settings = plain_settings({"name": "MyNet", "classes": 3, "kernels": [3, 5]})
    assert settings.kernels == (3, 5) and to_dict(settings) == {"name": "MyNet", "classes": 3, "kernels": [3, 5]}
    assert plain_settings({"name": "MyNet", "classes": 3, "kernels": [3, 5]}) == settings
