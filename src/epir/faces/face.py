"""A face as a detector sees it: box, five landmarks, confidence; and whether they can belong to a face."""

from dataclasses import dataclass

import numpy as np

TEMPLES = 2.06  # width between the temples, against the mean of eye distance and height from eyes to mouth

Point = tuple[float, float]


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
