"""The choices about spotting; lengths of motion are shares of the width of the face."""

from dataclasses import dataclass, field
from typing import Literal

from epir.core.config import check_known, check_ranges
from epir.core.errors import ConfigError
from epir.faces.face import FaceSettings

SHORTEST, LONGEST = 1 / 25, 1 / 2  # seconds from onset to offset: what is called a micro-expression
LONGEST_MACRO = 4.0  # seconds: what lasts longer is a state of the face, no expression
Sensitivity = Literal["low", "normal", "high"]
THRESHOLDS: dict[str, float] = {"low": 0.8, "normal": 0.53, "high": 0.4}  # least probability of a micro-expression


@dataclass(frozen=True)
class SpottingSettings:
    """What counts as a micro-expression, and how closely the face is looked at."""

    face: FaceSettings = field(default_factory=FaceSettings)
    sensitivity: Sensitivity = "normal"  # high finds more, and more that is none
    size: int = 84  # px: width of the face while its motion is measured
    shortest: float = SHORTEST  # seconds
    longest: float = LONGEST  # seconds

    def __post_init__(self) -> None:
        check_ranges(self, {"shortest": 3600, "longest": 3600}, section="spotting")
        check_known(self.sensitivity, THRESHOLDS, section="spotting.sensitivity", what="choice")
        if not 24 <= self.size <= 512:
            raise ConfigError(f"spotting.size cannot be {self.size}", fix="give a size in pixels from 24 to 512")
        if not 0 < self.shortest < self.longest:
            raise ConfigError(
                f"a movement cannot last from {self.shortest:g} to {self.longest:g} seconds",
                fix="give shortest below longest, both above 0; usual are 0.04 and 0.5",
            )

    @property
    def threshold(self) -> float:
        """The least probability of what is reported."""
        return THRESHOLDS[self.sensitivity]
