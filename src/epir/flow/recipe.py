"""Flow recipes: all settings that turn two frames into a map, with a name and a digest.

A map set carries its flow recipe, so that maps made with different recipes are never mixed by accident.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, Literal

from epir.core.config import check_known, check_literals, check_ranges, differences, digest, override, setting, to_dict
from epir.core.errors import ConfigError
from epir.core.plugins import is_plugin_name, list_plugins, load_object
from epir.faces.face import FaceSettings

METHODS = ("farneback", "dis", "tvl1")
GROUP = "epir.flows"  # the entry points of installed packages


@dataclass(frozen=True)
class FlowSettings:
    """How the motion between two faces is estimated."""

    method: str = setting("farneback", "farneback, dis, tvl1, or your own function: my_flow.py:raft")
    size: int = setting(168, "px: width and height of the face while the flow is computed")
    context: float = setting(
        0.125, "margin around the face while the flow is computed, as a share of its side, then cut off"
    )
    window: int = setting(15, "px: farneback averages over this window")
    levels: int = setting(3, "farneback: pyramid levels, each half the size of the one below")
    iterations: int = setting(3, "farneback: refinements per level")
    attachment: float = setting(0.15, "tvl1: weight of the pictures against smoothness; less is smoother")
    code: str = setting("", "digest of the source of your own function; epir fills it in")

    def __post_init__(self) -> None:
        check_ranges(self, {"window": 1024, "levels": 16, "iterations": 1000, "attachment": 1e6}, section="flow")
        if not self.is_plugin:
            check_known(self.method, METHODS, section="flow.method", what="choice")
        if not 16 <= self.size <= 1024:
            raise ConfigError(f"flow.size cannot be {self.size}", fix="give a size in pixels from 16 to 1024")
        if not 0.0 <= self.context <= 0.5:
            raise ConfigError(f"flow.context cannot be {self.context}", fix="give a share from 0 to 0.5")
        for name in ("window", "levels", "iterations", "attachment"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"flow.{name} cannot be {getattr(self, name)}", fix="give a number above 0")

    @property
    def is_plugin(self) -> bool:
        """Whether the method is a user's function."""
        return self.method not in METHODS and (is_plugin_name(self.method) or self.method in list_plugins(GROUP))

    @property
    def border(self) -> int:
        """The context in pixels of the flow."""
        return round(self.size * self.context)


@dataclass(frozen=True)
class FlowRecipe:
    """A flow recipe: two frames -> a map of u, v and strain."""

    name: str = "epir"
    face: FaceSettings = field(default_factory=FaceSettings)
    flow: FlowSettings = field(default_factory=FlowSettings)
    strain: Literal["paper", "tensor", "magnitude"] = "paper"
    strain_at: Literal["flow", "map"] = "flow"  # differentiate before or after averaging to the map's size
    head_motion: Literal["keep", "median", "similarity"] = "keep"
    normalise: Literal["none", "minmax"] = "none"
    apex: Literal["spotted", "middle"] = "spotted"  # for clips whose apex is not annotated

    def __post_init__(self) -> None:
        check_literals(self)

    @property
    def digest(self) -> str:
        """The digest of all settings but the name."""
        choices = to_dict(self)
        del choices["name"]
        choices["flow"] |= {"method": self.method_name}
        if not self.flow.code:
            del choices["flow"]["code"]
        return digest(choices)

    def to_meta(self) -> dict[str, Any]:
        """The flow recipe as meta.json of a map set holds it."""
        values = to_dict(self)
        values["flow"] |= {"method": self.method_name}
        return {**values, "digest": self.digest}

    @property
    def method_name(self) -> str:
        """The flow method without the folder of its file, which differs between machines."""
        return PurePath(self.flow.method).name if self.flow.is_plugin else self.flow.method


FLOW_RECIPES: Mapping[str, FlowRecipe] = {
    recipe.name: recipe
    for recipe in (
        FlowRecipe(name="epir"),
        FlowRecipe(
            name="ststnet-like",
            flow=FlowSettings(method="tvl1"),
            strain="tensor",
            normalise="minmax",
        ),
        FlowRecipe(name="htnet-like", strain="magnitude"),
    )
}


def flow_recipe(name: str | FlowRecipe = "epir", changes: Iterable[str] = ()) -> FlowRecipe:
    """The flow recipe called `name`, with changes such as `flow.size=160` applied."""
    if isinstance(name, FlowRecipe):
        recipe = name
    else:
        check_known(name, FLOW_RECIPES, what="flow recipe")
        recipe = FLOW_RECIPES[name]
    return _with_code(override(recipe, changes))


def _with_code(recipe: FlowRecipe) -> FlowRecipe:
    """The recipe with the reference and the digest of a user's function; an error if it cannot be loaded."""
    if not recipe.flow.is_plugin:
        return recipe
    _, plugin = load_object(recipe.flow.method, group=GROUP, what="flow method")
    return replace(recipe, flow=replace(recipe.flow, method=plugin.reference, code=plugin.digest))


def changed(recipe: FlowRecipe) -> list[str]:
    """How a flow recipe differs from the built-in one of its name, one line per setting."""
    known = FLOW_RECIPES.get(recipe.name)
    return differences(known, replace(recipe, name=known.name)) if known else []
