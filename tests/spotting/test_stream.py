import numpy as np
import pytest

from epir.spotting.stream import MotionStream


def faces(count, size=48):
    """A spot that comes and goes around the mouth, on a textured ground."""
    import cv2

    random = np.random.default_rng(0)
    ground = cv2.GaussianBlur(random.uniform(0, 255, (size, size)).astype(np.float32), (0, 0), 1.5)
    ground = (ground - ground.min()) / np.ptp(ground) * 255
    rows, columns = np.mgrid[0:size, 0:size].astype(np.float32)
    away = np.exp(-((columns - 0.5 * size) ** 2 + (rows - 0.72 * size) ** 2) / (2 * 5.0**2))
    for number in range(count):
        lift = 2.0 * np.exp(-(((number - 20) / 4) ** 2))
        yield cv2.remap(ground, columns, (rows + lift * away).astype(np.float32), cv2.INTER_LINEAR).astype(np.uint8)


def run(reach, count):
    stream = MotionStream(reach)
    samples = [sample for face in faces(count) for sample in stream.push(face)]
    return samples + list(stream.close())


@pytest.mark.parametrize(("reach", "count"), [(12, 41), (60, 41), (5, 6), (5, 5), (3, 1)])
def test_every_face_gets_one_sample(reach, count):
    assert len(run(reach, count)) == count


@pytest.mark.parametrize("reach", [12, 60])
def test_the_motion_is_greatest_where_the_face_is_furthest_from_before_and_after(reach):
    motion = np.array([sample.regions.max() for sample in run(reach, 41)])
    assert abs(int(motion.argmax()) - 20) <= 1
    assert motion[:8].max() < 0.25 * motion.max()


def test_no_more_faces_are_kept_than_the_reach_asks_for():
    stream = MotionStream(10)
    for face in faces(35):
        list(stream.push(face))
    assert len(stream._faces) == 11
    assert len(stream._since) == 11
