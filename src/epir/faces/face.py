"""A face as a detector sees it: box, five landmarks, confidence."""

from dataclasses import dataclass

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
