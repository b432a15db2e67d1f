import numpy as np
import pytest

from epir.bench.warps import MOTIONS, astronaut_pairs


@pytest.mark.parametrize("kind", MOTIONS)
def test_the_apex_shows_the_onset_moved_by_the_true_flow(pair_of, kind):
    import cv2

    pair = pair_of(kind, 3.0)
    size = 84
    before, after = (pair.crop.apply(frame, size).astype(np.float32) for frame in (pair.onset, pair.apex))
    flow = pair.truth(size)
    y, x = np.mgrid[0:size, 0:size].astype(np.float32)
    back = cv2.remap(after, x + flow[..., 0], y + flow[..., 1], cv2.INTER_CUBIC)
    inner = np.s_[6:-6, 6:-6]
    assert np.abs(back - before)[inner].mean() < 1.5
    assert np.abs(after - before)[inner].mean() > 3.0


@pytest.mark.parametrize("kind", MOTIONS)
def test_the_amplitude_is_the_longest_displacement(pair_of, kind):
    pair = pair_of(kind, 2.0)
    flow = pair.truth(200) * pair.crop.side / 200
    longest = np.hypot(flow[..., 0], flow[..., 1])
    reached = longest.max() if kind in ("translation", "bump") else longest[100, -1]
    assert reached == pytest.approx(2.0, rel=0.02)


def test_the_true_flow_scales_with_the_size(pair_of):
    pair = pair_of("bump", 1.0)
    assert pair.truth(168).mean() == pytest.approx(2 * pair.truth(84).mean(), rel=0.01)


def test_pairs_are_the_same_each_time_and_have_their_own_noise():
    first, second = (list(astronaut_pairs((1.0,), (1,))) for _ in range(2))
    assert [pair.kind for pair in first] == list(MOTIONS)
    assert all(np.array_equal(a.apex, b.apex) for a, b in zip(first, second, strict=True))
    assert not np.array_equal(first[0].onset, first[1].onset)
