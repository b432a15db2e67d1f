"""A face as a detector sees it, whether its landmarks can belong to a face, and the choices about finding one."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from epir.core.config import check_known, check_ranges, setting
from epir.core.errors import ConfigError

TEMPLES = 2.06  # width between the temples, against the mean of eye distance and height from eyes to mouth

Point = tuple[float, float]
LEAST_FACE = 60.0  # px between the temples: smaller faces get no answer
RELIABLE_FACE = 100.0  # px between the temples: below, small movements are less than a pixel, and a note says so


@dataclass(frozen=True, slots=True)
class Face:
    """One face in a frame; all in pixels of the frame, left and right as the viewer sees them."""

    box: tuple[float, float, float, float]  # left, top, right, bottom
    left_eye: Point
    right_eye: Point
    nose: Point
    mouth_left: Point
    mouth_right: Point
    confidence: float

    @property
    def landmarks(self) -> tuple[Point, Point, Point, Point, Point]:
        """Eyes, nose, corners of the mouth, in the order of the detector."""
        return self.left_eye, self.right_eye, self.nose, self.mouth_left, self.mouth_right

    @property
    def width(self) -> float:
        """Width of the box."""
        return self.box[2] - self.box[0]

    @property
    def height(self) -> float:
        """Height of the box."""
        return self.box[3] - self.box[1]

    @property
    def centre(self) -> Point:
        """Middle of the box."""
        return (self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2

    @property
    def span(self) -> float:
        """Mean of eye distance and height from eyes to mouth: a turned head shortens one of the two, seldom both."""
        distance, height = self._lengths()
        return (distance + abs(height)) / 2

    @property
    def temples(self) -> float:
        """About the width between the temples."""
        return TEMPLES * self.span

    @property
    def is_plausible(self) -> bool:
        """Whether the landmarks lie as in a face that looks roughly at the camera; eyes may be on a tilted line."""
        distance, height = self._lengths()
        if distance <= 0 or height <= 0:
            return False
        left, right, nose, mouth_left, mouth_right = (np.array(point) for point in self.landmarks)
        across = (right - left) / distance
        down = np.array([-across[1], across[0]])
        from_eyes = nose - (left + right) / 2
        mouth = float((mouth_right - mouth_left) @ across) / distance
        return (
            0.5 < height / distance < 2.2
            and abs(float(from_eyes @ across)) < 0.8 * distance
            and 0.05 < float(from_eyes @ down) / height < 0.95
            and 0.3 < mouth < 1.8
            and 1.2 * distance < self.width < 4.0 * distance
            and all(self.box[0] <= x <= self.box[2] and self.box[1] <= y <= self.box[3] for x, y in self.landmarks[:3])
        )

    def _lengths(self) -> tuple[float, float]:
        """Distance between the eyes, and height from their line down to the middle of the mouth."""
        left, right = np.array(self.left_eye), np.array(self.right_eye)
        across = right - left
        distance = float(np.hypot(*across))
        if distance == 0:
            return 0.0, 0.0
        mouth = (np.array(self.mouth_left) + np.array(self.mouth_right)) / 2 - (left + right) / 2
        return distance, float(mouth @ np.array([-across[1], across[0]])) / distance


@dataclass(frozen=True)
class FaceSettings:
    """How the face of a clip is found, on its onset frame unless said otherwise, and cut out of all its frames."""

    detector: Literal["mtcnn", "none"] = setting("mtcnn", "none: the frames are cropped already")
    choice: Literal["largest", "central"] = setting("largest", "where several people are in the picture")
    min_face: int = setting(80, "px: width of the smallest face looked for at first; smaller ones when none is found")
    margin: float = setting(
        0.53, "added on each side of the square from eye line to mouth line, as a share of its side"
    )
    align: bool = setting(True, "turn the crop so that the eyes are level")
    frames: Literal["onset", "both"] = setting(
        "onset", "both: a second crop is found on the apex, which adds false motion"
    )

    def __post_init__(self) -> None:
        check_known(self.detector, ("mtcnn", "none"), section="face.detector", what="choice")
        check_known(self.frames, ("onset", "both"), section="face.frames", what="choice")
        check_known(self.choice, ("largest", "central"), section="face.choice", what="choice")
        if not 20 <= self.min_face <= 1000:
            raise ConfigError(f"face.min_face cannot be {self.min_face}", fix="give a width in pixels from 20 to 1000")
        if not 0.0 <= self.margin <= 3.0:
            raise ConfigError(f"face.margin cannot be {self.margin}", fix="give a share from 0 to 3; 0.53 is usual")


@dataclass(frozen=True)
class TrackingSettings:
    """How faces are followed through a video, and what counts as one."""

    face: FaceSettings = field(default_factory=FaceSettings)
    size: int = 84  # px: width of the small face that is given back
    faces: Literal["largest", "all"] = "largest"  # one person at a time, or everybody
    patch: int = 0  # px: most that is kept of the surroundings of a face, in colour; 0 keeps nothing
    least_face: float = LEAST_FACE
    least_score: float = 0.9  # of the detector: a face begins with so much
    flattest: float = 0.35  # share of a face without shading: above it is drawn
    redetect: float = 1.0  # seconds between two looks at a face that is followed
    again: float = 0.25  # seconds between two looks while there is none, or it was missed
    confirm: float = 0.1  # seconds after which a new face must still be there
    restless: float = 0.12  # of the face: a shift from which the face is looked for at once
    far: float = 0.08  # of the face: a head that went so far gets a new crop
    other_size: float = 0.15  # relative
    other_angle: float = 6.0  # degrees
    cut: float = 0.7  # shared colours of neighbouring frames: below is a cut, unless the face stays as it was
    torn: float = 0.55  # correlation of neighbouring faces: below the face is hidden, gone, or another
    same_person: float = 0.7  # likeness from which a face that comes back keeps its track number

    def __post_init__(self) -> None:
        check_ranges(self, {"size": 4096, "patch": 4096}, section="tracking")
        check_known(self.faces, ("largest", "all"), section="tracking.faces", what="choice")
        for name in ("least_face", "redetect", "again", "confirm", "far"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"tracking.{name} cannot be {getattr(self, name)}", fix="give a number above 0")
