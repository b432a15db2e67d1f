"""The choices about the face: who finds it, which one, how much of it is cut out."""

from dataclasses import dataclass
from typing import Literal

from epir.core.config import refuse_unknown
from epir.core.errors import ConfigError


@dataclass(frozen=True)
class FaceSettings:
    """How the face of a clip is found on its onset frame and cut out of all its frames."""

    detector: Literal["mtcnn", "none"] = "mtcnn"  # none: the frames are cropped already
    choice: Literal["largest", "central"] = "largest"  # where several people are in the picture
    min_face: int = 80  # px: width of the smallest face looked for at first; smaller ones when none is found
    margin: float = 0.53  # added on each side of the square from eye line to mouth line, as a share of its side
    align: bool = True  # turn the crop so that the eyes are level

    def __post_init__(self) -> None:
        refuse_unknown(self.detector, ("mtcnn", "none"), section="face.detector", what="choice")
        refuse_unknown(self.choice, ("largest", "central"), section="face.choice", what="choice")
        if not 20 <= self.min_face <= 1000:
            raise ConfigError(f"face.min_face cannot be {self.min_face}", fix="give a width in pixels from 20 to 1000")
        if not 0.0 <= self.margin <= 3.0:
            raise ConfigError(f"face.margin cannot be {self.margin}", fix="give a share from 0 to 3; 0.53 is usual")
