"""The choices of a recognizer: what it remembers of a video, and from when it warns."""

from dataclasses import dataclass

from epir.core.config import check_ranges
from epir.core.errors import ConfigError


@dataclass(frozen=True)
class RecognitionSettings:
    """Lengths of motion are shares of the width of the face."""

    threshold: float = 0.5  # a score below is `uncertain`, where the model has no threshold of its own
    least_probability: float = 0.5  # of being a micro-expression at all: below it the answer is `uncertain`
    memory: float = 6.0  # seconds of faces that are kept, for movements that become certain later
    patch: int = 320  # px: most that is kept of the surroundings of a face
    batch: int = 16  # maps that the model sees at once
    pictures: int = 32  # movements of a video whose pixels are kept, the strongest
    near: float = 1.5  # of the longest movement: how far around a given apex the onset is looked for
    least_rise: int = 2  # frames from onset to apex
    low_rate: float = 50.0  # frames a second: below, a movement may span two frames or fewer
    small_face: float = 100.0  # px: below, the flow sees less than the map shows
    strong_head: float = 0.04  # between onset and apex
    hardly_moved: float = 0.002  # as much as noise
    least_gap: float = 0.25  # seconds without a face that are worth a note
    most_notes: int = 3  # about such gaps

    def __post_init__(self) -> None:
        check_ranges(self, {"memory": 3600, "patch": 8192, "batch": 65_536, "pictures": 100_000})
        if not 0 <= self.threshold <= 1:
            raise ConfigError(f"the threshold cannot be {self.threshold:g}", fix="give a score from 0 to 1")
        if self.least_rise < 1 or self.memory <= 0 or self.patch < 64:
            raise ConfigError(
                "a recognizer must remember faces",
                fix="give least_rise of 1 or more, memory above 0 and patch of 64 or more",
            )
