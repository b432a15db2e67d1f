"""A detected face, a plausibility check of its landmarks, and the settings of detection and tracking."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from epir.core.config import check_literals, check_ranges, setting
from epir.core.errors import ConfigError

TEMPLES = 2.06  # width between the temples, relative to the mean of eye distance and height from eyes to mouth

Point = tuple[float, float]
LEAST_FACE = 60.0  # px between the temples: smaller faces are not classified
RELIABLE_FACE = 100.0  # px between the temples: below it, small movements are less than a pixel, and a note says so


@dataclass(frozen=True, slots=True)
class Face:
    """One face, in pixels of the frame; left and right as the viewer sees them."""

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
        """Mean of eye distance and height from eyes to mouth: a turned head shortens one of them, seldom both."""
        distance, height = self._lengths()
        return (distance + abs(height)) / 2

    @property
    def temples(self) -> float:
        """Estimated width between the temples, in px."""
        return TEMPLES * self.span

    @property
    def is_plausible(self) -> bool:
        """Whether the landmarks fit a face that roughly looks at the camera; the head may be tilted."""
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
    """How the face of a clip is found, by default on its onset frame, and cut out of all its frames."""

    detector: Literal["mtcnn", "none"] = setting("mtcnn", "none: the frames are already cropped")
    choice: Literal["largest", "central"] = setting("largest", "which face to use if there are several")
    min_face: int = setting(80, "px: smallest face width of the first search; if none is found, smaller ones are tried")
    margin: float = setting(
        0.53, "margin on each side of the square from eye line to mouth line, as a share of its side"
    )
    align: bool = setting(True, "turn the crop so that the eyes are level")
    frames: Literal["onset", "both"] = setting("onset", "both: find a second crop on the apex, which adds false motion")

    def __post_init__(self) -> None:
        check_literals(self, section="face")
        if not 20 <= self.min_face <= 1000:
            raise ConfigError(f"face.min_face cannot be {self.min_face}", fix="give a width in pixels from 20 to 1000")
        if not 0.0 <= self.margin <= 3.0:
            raise ConfigError(f"face.margin cannot be {self.margin}", fix="give a share from 0 to 3; 0.53 is usual")


@dataclass(frozen=True)
class TrackingSettings:
    """How faces are tracked through a video, and what counts as a face."""

    face: FaceSettings = field(default_factory=FaceSettings)
    size: int = 84  # px: width of the small face that the tracker returns
    faces: Literal["largest", "all"] = "largest"  # one person at a time, or everybody
    patch: int = 0  # px: longest side of the colour patch kept around a face; 0 keeps none
    least_face: float = LEAST_FACE
    least_score: float = 0.9  # detector score that a new face needs
    flattest: float = 0.35  # share of a face without shading: above it, the face is a drawing
    redetect: float = 1.0  # seconds between two detections of a tracked face
    again: float = 0.25  # seconds between two detections while no face is tracked, or after a miss
    confirm: float = 0.1  # seconds after which a new face must still be detected
    restless: float = 0.12  # shift, as a share of the face, that triggers a detection at once
    far: float = 0.08  # shift, as a share of the face, from which the head gets a new crop
    other_size: float = 0.15  # relative change of size that also does
    other_angle: float = 6.0  # change of angle in degrees that also does
    cut: float = 0.7  # shared colours of neighbouring frames: below it is a cut, unless the face stays the same
    torn: float = 0.55  # correlation of neighbouring faces: below it, the face is hidden, gone or another one
    same_person: float = 0.7  # likeness from which a returning face keeps its track number

    def __post_init__(self) -> None:
        check_ranges(self, {"size": 4096, "patch": 4096}, section="tracking")
        check_literals(self, section="tracking")
        for name in ("least_face", "redetect", "again", "confirm", "far"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"tracking.{name} cannot be {getattr(self, name)}", fix="give a number above 0")
