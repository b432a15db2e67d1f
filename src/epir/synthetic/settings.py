"""The choices about a synthetic corpus."""

from dataclasses import dataclass, field
from typing import Literal

from epir.core.config import refuse_unknown
from epir.core.errors import ConfigError
from epir.synthetic.course import refuse_slow
from epir.synthetic.expressions import emotions
from epir.synthetic.nuisance import Nuisances

SMALLEST, LARGEST = 96, 2048  # px


@dataclass(frozen=True)
class CorpusSettings:
    """Who is in a synthetic corpus, what they do and how it is recorded."""

    people: int = 12
    clips: int = 9  # with an expression, per person
    idle: int = 3  # without one, per person: still, blinking and turning in turn
    classes: int = 3
    size: int = 480  # px: width and height of a frame
    fps: float = 200.0
    rest: float = 0.07  # seconds: about so long is the face at rest before the onset and after the offset
    seed: int = 0
    picture: Literal["jpg", "png"] = "jpg"
    quality: int = 92  # of jpg
    truth: bool = False  # write the true flow from onset to apex too
    nuisances: Nuisances = field(default_factory=Nuisances)

    def __post_init__(self) -> None:
        if self.people < 1:
            raise ConfigError(f"a corpus of {self.people} people is empty", fix="give --people 1 or more; 12 is usual")
        if self.clips < 0 or self.idle < 0 or self.clips + self.idle < 1:
            raise ConfigError(
                f"{self.clips} clips with and {self.idle} without an expression are no clips",
                fix="give --clips 1 or more; 9 is usual",
            )
        emotions(self.classes)
        if not SMALLEST <= self.size <= LARGEST:
            raise ConfigError(
                f"a frame cannot be {self.size} px wide", fix=f"give --size from {SMALLEST} to {LARGEST}; 480 is usual"
            )
        refuse_slow(self.fps)
        if not 0 <= self.rest <= 60:
            raise ConfigError(f"a rest of {self.rest:g} seconds cannot be drawn", fix="give from 0 to 60 seconds")
        refuse_unknown(self.picture, ("jpg", "png"), section="picture", what="choice")
        if not 1 <= self.quality <= 100:
            raise ConfigError(
                f"the jpg quality cannot be {self.quality}", fix="give --quality from 1 to 100; 92 is usual"
            )
