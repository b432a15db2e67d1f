import numpy as np
import pytest

from epir.bench.ways import Computation, clip_map, computations, scores, share_when_slow, smoothed_8_bit
from epir.core.errors import ConfigError
from epir.core.seeds import generator


def test_every_way_gives_a_map_of_its_own_of_the_same_clip():
    found = {name: clip_map(2, computation) for name, computation in computations().items()}
    maps = list(found.values())
    assert len(maps) == 13 and all(each.shape == (3, 28, 28) and np.isfinite(each).all() for each in maps)
    for number, one in enumerate(maps):
        assert not any(np.array_equal(one, other) for other in maps[:number])
    np.testing.assert_array_equal(maps[0], clip_map(2, Computation()))


def test_a_slow_camera_sees_a_part_of_the_expression():
    shares = [share_when_slow(generator(0, "slow", number)) for number in range(200)]
    assert all(0 < share <= 1 for share in shares)
    assert 0.5 < np.mean(shares) < 0.98


def test_eight_bits_have_256_steps_at_most():
    made = smoothed_8_bit(generator(0, "map").normal(size=(3, 28, 28)).astype(np.float32))
    assert made.min() == 0 and made.max() == 1
    np.testing.assert_allclose(made * 255, (made * 255).round(), atol=1e-4)


def test_too_few_clips_are_refused():
    with pytest.raises(ConfigError, match=r"clips cannot be 2\n  fix: give --set clips=3 or more"):
        scores(clips=2)
