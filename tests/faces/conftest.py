import cv2
import numpy as np
import pytest
from skimage.data import astronaut as photograph

# Read off the picture by eye: pupils, tip of the nose, corners of the mouth.
LANDMARKS = np.array([(203.0, 101.0), (246.0, 103.0), (224.0, 128.0), (201.0, 140.0), (244.0, 142.0)])
BOX = np.array([(179.0, 60.0), (267.0, 173.0)])  # chin to hairline, ear to ear


@pytest.fixture(scope="session")
def astronaut():
    """The public-domain photograph, (512, 512, 3) uint8 RGB, with a face about 90 px wide."""
    return photograph()


@pytest.fixture(scope="session")
def landmarks():
    """Where eyes, nose and mouth of the astronaut are, (5, 2)."""
    return LANDMARKS


@pytest.fixture(scope="session")
def assert_found():
    """Checks box and landmarks of a face against the photograph's, moved by a (2, 3) matrix."""

    def check(face, matrix=((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), tolerance=4.0):
        assert face is not None
        matrix = np.asarray(matrix)
        scale = np.sqrt(abs(np.linalg.det(matrix[:, :2])))
        expected = LANDMARKS @ matrix[:, :2].T + matrix[:, 2]
        away = np.hypot(*(np.array(face.landmarks) - expected).T) / scale
        assert away.max() < tolerance, away
        corners = np.array([(x, y) for x in BOX[:, 0] for y in BOX[:, 1]]) @ matrix[:, :2].T + matrix[:, 2]
        (left, top), (right, bottom) = corners.min(axis=0), corners.max(axis=0)
        wide = min(right, face.box[2]) - max(left, face.box[0])
        high = min(bottom, face.box[3]) - max(top, face.box[1])
        shared = max(wide, 0) * max(high, 0)
        assert shared / ((right - left) * (bottom - top) + face.width * face.height - shared) > 0.6
        assert face.confidence > 0.9

    return check


@pytest.fixture(scope="session")
def frame_of(astronaut):
    """The astronaut moved by a (2, 3) matrix into a grey frame of another size."""

    def make(matrix, width, height):
        return cv2.warpAffine(
            astronaut,
            np.asarray(matrix, dtype=np.float64),
            (width, height),
            flags=cv2.INTER_AREA,
            borderValue=(90, 90, 90),
        )

    return make
