"""The settings of every peer: plain values, no torch, the sizes of the methods' papers as defaults."""

from dataclasses import dataclass, fields
from typing import ClassVar, Literal

from epir.core.errors import ConfigError

Normalise = Literal["map", "squash", "fold", "none"]


@dataclass(frozen=True)
class PeerSettings:
    """What every peer has; `smallest` is the smallest map that its layers can take."""

    name: str
    map_size: int = 28
    classes: int = 3
    normalise: Normalise = "map"

    smallest: ClassVar[int] = 8
    normalisations: ClassVar[tuple[str, ...]] = ("map", "squash", "fold", "none")

    def __post_init__(self) -> None:
        own = {field.name: field.default for field in fields(self)}
        if self.name != own["name"]:
            raise ConfigError(f"{self.name!r} is not the name of this peer", fix=f"write name = {own['name']!r}")
        for name, value in ((field.name, getattr(self, field.name)) for field in fields(self)):
            if type(value) is int and value < 1:
                raise ConfigError(f"{name} cannot be {value}", fix="set it to 1 or more")
        if self.map_size < self.smallest:
            raise ConfigError(
                f"{self.name} cannot take {self.map_size} px maps",
                fix=f"use maps of {self.smallest} px or more, for example {own['map_size']}",
            )
        if self.classes < 2:
            raise ConfigError(f"{self.name} cannot tell {self.classes} classes apart", fix="set classes to 2 or more")
        if self.normalise not in self.normalisations:
            raise ConfigError(
                f"{self.name} cannot normalise by {self.normalise!r}",
                fix=f"use one of: {', '.join(self.normalisations)}",
            )
        dropout = getattr(self, "dropout", 0.0)
        if not 0 <= dropout < 1:
            raise ConfigError(f"dropout cannot be {dropout}", fix="use 0 or more, and less than 1")


@dataclass(frozen=True)
class StstnetSettings(PeerSettings):
    """STSTNet: three shallow streams side by side, of 3, 5 and 8 kernels."""

    name: Literal["ststnet"] = "ststnet"
    dropout: float = 0.5


@dataclass(frozen=True)
class OffApexNetSettings(PeerSettings):
    """OFF-ApexNet: one stream for u, one for v, then two wide layers."""

    name: Literal["off-apexnet"] = "off-apexnet"
    dropout: float = 0.5
    width: int = 1024


@dataclass(frozen=True)
class DualInceptionSettings(PeerSettings):
    """Dual-Inception: one stream of two inception blocks for u, one for v, then one wide layer."""

    name: Literal["dual-inception"] = "dual-inception"
    dropout: float = 0.5
    width: int = 1024


@dataclass(frozen=True)
class CapsuleNetSettings(PeerSettings):
    """CapsuleNet: a residual stem, primary capsules, one capsule per class."""

    name: Literal["capsulenet"] = "capsulenet"
    width: int = 32  # channels before the capsules; the method's paper has 256, from an ImageNet ResNet-18
    routings: int = 3
    smallest: ClassVar[int] = 19  # two 9 px kernels without padding must leave more than one place


@dataclass(frozen=True)
class RcnASettings(PeerSettings):
    """RCN-A: one recurrent convolution and attention that borrows the classifier's weights."""

    name: Literal["rcn-a"] = "rcn-a"
    dropout: float = 0.5
    width: int = 32
    pool: int = 5  # places per side that the classifier sees
    smallest: ClassVar[int] = 12

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pool > (self.map_size - 4) // 4:
            raise ConfigError(
                f"rcn-a cannot pool a {self.map_size} px map to {self.pool} places per side",
                fix=f"set pool to at most {(self.map_size - 4) // 4}",
            )


@dataclass(frozen=True)
class HtnetSettings(PeerSettings):
    """HTNet: transformers over ever larger blocks of patches, 139.58 M parameters."""

    name: Literal["htnet"] = "htnet"
    dropout: float = 0.0
    patch_size: int = 7
    width: int = 256
    heads: int = 3
    blocks: tuple[int, ...] = (2, 2, 10)  # per level of the hierarchy

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.blocks or min(self.blocks) < 1:
            raise ConfigError(
                f"htnet cannot have the blocks {list(self.blocks)}", fix="give one block or more per level"
            )
        if self.heads > self.width:
            raise ConfigError(f"{self.heads} heads do not fit in a width of {self.width}", fix="use fewer heads")
        step = self.patch_size * 2 ** (len(self.blocks) - 1)
        if self.map_size % step:
            raise ConfigError(
                f"htnet cannot divide a {self.map_size} px map into {self.patch_size} px patches in "
                f"{len(self.blocks)} levels",
                fix=f"use a map size that is a multiple of {step}, or another patch_size",
            )


@dataclass(frozen=True)
class ResnetSettings(PeerSettings):
    """ResNet-18 on flow maps, with a stem for small pictures."""

    name: Literal["resnet18-flow"] = "resnet18-flow"
    width: int = 64  # channels of the first stage; doubled at each of the other three
    stride: Literal[1, 2] = 2  # of the stem; 1 keeps the map's size and costs four times as much


@dataclass(frozen=True)
class PipelineSettings(PeerSettings):
    """What the classical methods have: a linear SVM on their features.

    `normalise` is `map` (the zero of u and v is each map's own median) or `none` (as it is).
    """

    cost: float = 1.0  # the C of the machine
    balanced: bool = False  # errors on rare classes cost more
    normalisations: ClassVar[tuple[str, ...]] = ("map", "none")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cost <= 0:
            raise ConfigError(f"the cost of an error cannot be {self.cost}", fix="set cost to more than 0")


@dataclass(frozen=True)
class BiWoofSettings(PipelineSettings):
    """Bi-WOOF: histograms of flow direction per block, weighted by magnitude and by strain."""

    name: Literal["bi-woof"] = "bi-woof"
    cost: float = 4.0
    grid: int = 5  # blocks per side
    bins: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_grid(self, self.grid, self.bins)


@dataclass(frozen=True)
class MdmoSettings(PipelineSettings):
    """MDMO: the mean flow of each region's main direction."""

    name: Literal["mdmo"] = "mdmo"
    grid: int = 6  # regions per side: 36, as many as the method's paper has
    bins: int = 8
    balance: float = 0.9  # weight of the magnitude against the direction

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_grid(self, self.grid, self.bins)
        if not 0 <= self.balance <= 1:
            raise ConfigError(f"balance cannot be {self.balance}", fix="use a number from 0 to 1")


@dataclass(frozen=True)
class LbpTopSettings(PipelineSettings):
    """LBP-TOP: local binary patterns on three orthogonal planes of the clip's frames."""

    name: Literal["lbp-top"] = "lbp-top"
    cost: float = 4.0
    grid: int = 5  # blocks per side
    face_size: int = 140  # of the face crops, in pixels
    length: int = 20  # frames that each clip is brought to
    radius: int = 1  # in pixels
    reach: int = 4  # the radius in time, in frames

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.length <= 2 * self.reach:
            raise ConfigError(
                f"{self.length} frames are too few for a reach of {self.reach} frames",
                fix=f"set length to {2 * self.reach + 1} or more, or reach to less",
            )
        if self.grid > self.face_size - 2 * self.radius:
            raise ConfigError(
                f"a {self.face_size} px face has no {self.grid} x {self.grid} blocks", fix="set grid to less"
            )


def _check_grid(settings: PeerSettings, grid: int, bins: int) -> None:
    if grid > settings.map_size:
        raise ConfigError(
            f"{settings.name} cannot divide a {settings.map_size} px map into {grid} x {grid} blocks",
            fix=f"set grid to at most {settings.map_size}",
        )
    if bins < 2:
        raise ConfigError(f"{settings.name} cannot use {bins} directions", fix="set bins to 2 or more")
