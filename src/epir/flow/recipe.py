"""Flow recipes: every choice between two frames and a map, under one name and with a digest.

A map set carries its flow recipe, so that maps made in two ways are never mixed by accident.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from epir.core.config import check_ranges, differences, digest, override, refuse_unknown, to_dict
from epir.core.errors import ConfigError
from epir.faces.settings import FaceSettings

METHODS = ("farneback", "dis", "tvl1")
STRAINS = ("paper", "tensor", "magnitude")
HEAD_MOTIONS = ("keep", "median", "similarity")


@dataclass(frozen=True)
class FlowSettings:
    """How the motion between two faces is estimated."""

    method: Literal["farneback", "dis", "tvl1"] = "farneback"
    size: int = 168  # px: width and height of the face while the flow is computed
    context: float = 0.125  # seen by the flow around the face on each side, as a share of its side, then cut off
    window: int = 15  # px: farneback averages over this window
    levels: int = 3  # farneback: pyramid levels, each half the size of the one below
    iterations: int = 3  # farneback: refinements per level
    attachment: float = 0.15  # tvl1: weight of the pictures against smoothness; less is smoother

    def __post_init__(self) -> None:
        check_ranges(self, {"window": 1024, "levels": 16, "iterations": 1000, "attachment": 1e6}, section="flow")
        refuse_unknown(self.method, METHODS, section="flow.method", what="choice")
        if not 16 <= self.size <= 1024:
            raise ConfigError(f"flow.size cannot be {self.size}", fix="give a size in pixels from 16 to 1024")
        if not 0.0 <= self.context <= 0.5:
            raise ConfigError(f"flow.context cannot be {self.context}", fix="give a share from 0 to 0.5")
        for name in ("window", "levels", "iterations", "attachment"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"flow.{name} cannot be {getattr(self, name)}", fix="give a number above 0")

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
        refuse_unknown(self.strain, STRAINS, section="strain", what="choice")
        refuse_unknown(self.strain_at, ("flow", "map"), section="strain_at", what="choice")
        refuse_unknown(self.head_motion, HEAD_MOTIONS, section="head_motion", what="choice")
        refuse_unknown(self.normalise, ("none", "minmax"), section="normalise", what="choice")
        refuse_unknown(self.apex, ("spotted", "middle"), section="apex", what="choice")

    @property
    def digest(self) -> str:
        """Equal choices have equal digests, whatever the flow recipe is called."""
        choices = to_dict(self)
        del choices["name"]
        if self.face.frames == "onset":  # the only choice there was when the first digests were made
            del choices["face"]["frames"]
        if self.flow.method == "tvl1":  # maps of earlier releases, which had a solver of their own, differ
            choices["flow"]["solver"] = "scikit-image"
        return digest(choices)

    def to_meta(self) -> dict[str, Any]:
        """The flow recipe as it stands in a map set's meta.json."""
        return {**to_dict(self), "digest": self.digest}


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
        refuse_unknown(name, FLOW_RECIPES, what="flow recipe")
        recipe = FLOW_RECIPES[name]
    return override(recipe, changes)


def changed(recipe: FlowRecipe) -> list[str]:
    """How the flow recipe differs from the named one it began as, one line per setting."""
    known = FLOW_RECIPES.get(recipe.name)
    return differences(known, replace(recipe, name=known.name)) if known else []
