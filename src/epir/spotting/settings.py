"""The choices about spotting; lengths of motion are shares of the width of the face."""

from dataclasses import dataclass, field

from epir.core.errors import ConfigError
from epir.faces.settings import FaceSettings

SHORTEST, LONGEST = 1 / 25, 1 / 2  # seconds from onset to offset: what is called a micro-expression


@dataclass(frozen=True)
class SpottingSettings:
    """What counts as a micro-expression, and how closely the face is looked at."""

    face: FaceSettings = field(default_factory=FaceSettings)
    size: int = 84  # px: width of the face while its motion is measured
    shortest: float = SHORTEST  # seconds
    longest: float = LONGEST  # seconds
    least_motion: float = 0.0035  # of the face's width: weaker movements are not told from noise
    above_noise: float = 4.0  # a movement stands out from the quiet part of the video by this factor
    least_blink: float = 0.010  # of the face's width
    blink_share: float = 0.5  # of the motion of the eyes: lids that go down by more shut, by as much up open wide
    blink_ratio: float = 1.2  # eyes against brows: above it the brows only follow the lids
    blink_drag: float = 0.3  # share of a blink that nose and cheeks go along with
    head_ratio: float = 4.0  # head against face: above it the movement comes from turning the head
    redetect: float = 1.0  # seconds between two looks for the face

    def __post_init__(self) -> None:
        if not 24 <= self.size <= 512:
            raise ConfigError(f"spotting.size cannot be {self.size}", fix="give a size in pixels from 24 to 512")
        if not 0 < self.shortest < self.longest:
            raise ConfigError(
                f"a movement cannot last from {self.shortest:g} to {self.longest:g} seconds",
                fix="give shortest below longest, both above 0; usual are 0.04 and 0.5",
            )
        for name in ("least_motion", "above_noise", "least_blink", "blink_ratio", "head_ratio", "redetect"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"spotting.{name} cannot be {getattr(self, name)}", fix="give a number above 0")
