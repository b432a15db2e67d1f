import numpy as np
import pytest

from epir.spotting.course import courses, key_times


def course(count, rate, onset, apex, offset):
    """0 until the onset, up to 1 at the apex, and 0 from the offset on; seconds."""
    times = np.arange(count) / rate
    up, down = (times - onset) / (apex - onset), (offset - times) / (offset - apex)
    return np.sin(np.pi / 2 * np.clip(np.minimum(up, down), 0, 1)) ** 2


@pytest.mark.parametrize("rate", [25.0, 30.0, 60.0, 100.0])
@pytest.mark.parametrize(("rise", "fall"), [(0.11, 0.18), (0.18, 0.28), (0.22, 0.14)])
def test_a_clear_course_gives_its_key_times(rate, rise, fall):
    values = course(round(3 * rate), rate, 1.5 - rise, 1.5, 1.5 + fall)
    found = np.array(key_times(values, round(1.53 * rate), rate)) / rate
    assert found == pytest.approx([1.5 - rise, 1.5, 1.5 + fall], abs=0.02 + 1 / rate)


def test_a_slow_drift_below_does_not_matter():
    values = course(90, 30.0, 1.35, 1.5, 1.7)
    assert key_times(values, 45, 30.0) == key_times(values + 5 - 0.07 * np.arange(90), 45, 30.0)


def test_noise_moves_onset_and_offset_little():
    random = np.random.default_rng(0)
    values = course(180, 60.0, 1.36, 1.5, 1.72)
    found = [key_times(values + random.normal(0, 0.3, 180), 90, 60.0) for _ in range(40)]
    assert np.abs(np.array(found) / 60.0 - [1.36, 1.5, 1.72]).mean(axis=0) == pytest.approx([0, 0, 0], abs=0.05)


def test_key_times_stay_within_the_video():
    values = course(60, 30.0, -0.1, 0.03, 0.2)
    onset, apex, offset = key_times(values, 1, 30.0)
    assert 0 <= onset < apex < offset < 60


@pytest.mark.parametrize("rate", [15.0, 24.0, 100.0])
def test_courses_are_brief_and_free_of_lines(rate):
    keys, prior, shapes, line = courses(rate)
    assert (keys[:, 2] - keys[:, 0]).max() / rate <= 0.55
    assert prior.sum() == pytest.approx(1.0)
    assert shapes @ line == pytest.approx(np.zeros((len(keys), 2)), abs=1e-9)
