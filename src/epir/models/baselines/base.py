"""The settings that every baseline has: plain values, no torch, the sizes of the methods' papers as defaults."""

from dataclasses import dataclass, fields
from typing import ClassVar

from epir.core.config import check_ranges
from epir.core.errors import ConfigError
from epir.models.settings import Normalisation

MOST = {"map_size": 1024, "classes": 10_000, "width": 4096, "routings": 100, "length": 1000, "cost": 1e6}
MOST_OTHERS = ("grid", "bins", "heads", "patch_size", "radius", "reach", "pool", "face_size")  # at most 1024


@dataclass(frozen=True)
class BaselineSettings:
    """What every baseline has; `smallest` is the smallest map that its layers can take."""

    name: str
    map_size: int = 28
    classes: int = 3
    normalise: Normalisation = "map"

    smallest: ClassVar[int] = 8
    normalisations: ClassVar[tuple[str, ...]] = ("map", "squash", "fold", "none")

    def __post_init__(self) -> None:
        check_ranges(self, {**MOST, **dict.fromkeys(MOST_OTHERS, 1024)})
        own = {field.name: field.default for field in fields(self)}
        if self.name != own["name"]:
            raise ConfigError(f"{self.name!r} is not the name of this model", fix=f"write name = {own['name']!r}")
        for name, value in ((field.name, getattr(self, field.name)) for field in fields(self)):
            if type(value) is int and value < 1:
                raise ConfigError(f"{name} cannot be {value}", fix="set it to 1 or more")
        if self.map_size < self.smallest:
            raise ConfigError(
                f"{self.name} cannot take {self.map_size} px maps",
                fix=f"use maps of {self.smallest} px or more, for example {own['map_size']}",
            )
        if self.classes < 2:
            raise ConfigError(f"{self.name} cannot classify {self.classes} classes", fix="set classes to 2 or more")
        if self.normalise not in self.normalisations:
            raise ConfigError(
                f"{self.name} cannot normalise by {self.normalise!r}",
                fix=f"use one of: {', '.join(self.normalisations)}",
            )
        dropout = getattr(self, "dropout", 0.0)
        if not 0 <= dropout < 1:
            raise ConfigError(f"dropout cannot be {dropout}", fix="use 0 or more, and less than 1")
