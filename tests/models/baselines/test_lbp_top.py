from dataclasses import replace

import numpy as np
import pytest

from epir.core.errors import MapSetError, TrainingError
from epir.core.records import Clip
from epir.models.baselines import lbp_top
from epir.models.baselines.lbp_top import BINS, TABLE, binary_patterns, block_histograms, read_volume
from epir.models.registry import build, model_settings

# the neighbours in the order of the bits: right, up right, up, up left, left, down left, down, down right
XY = [(0, 0, 1), (0, -1, 1), (0, -1, 0), (0, -1, -1), (0, 0, -1), (0, 1, -1), (0, 1, 0), (0, 1, 1)]


def code(volume, plane):
    codes = binary_patterns(np.asarray(volume, dtype=np.float32), radius=1, reach=1)
    assert codes.shape == (3, 1, 1, 1)
    return int(codes[plane, 0, 0, 0])


@pytest.mark.parametrize("bit", range(8))
def test_each_neighbour_sets_its_own_bit(bit):
    t, y, x = XY[bit]
    for plane, place in enumerate([(t, y, x), (y, 0, x), (y, x, 0)]):  # XY; XT has time for y; YT has y for x as well
        volume = np.zeros((3, 3, 3))
        volume[1, 1, 1] = 5
        volume[1 + place[0], 1 + place[1], 1 + place[2]] = 7
        assert code(volume, plane) == 1 << bit


def test_a_flat_clip_has_all_bits_set_and_a_bright_spot_none():
    assert [code(np.full((3, 3, 3), 4.0), plane) for plane in range(3)] == [255] * 3
    spot = np.zeros((3, 3, 3))
    spot[1, 1, 1] = 1
    assert [code(spot, plane) for plane in range(3)] == [0] * 3


def test_a_still_clip_changes_in_space_only():
    frame = np.random.default_rng(0).random((9, 9))
    codes = binary_patterns(np.stack([frame] * 5), radius=1, reach=2)
    assert len(np.unique(codes[0])) > 10
    before, after = codes[1] >> 2 & 1, codes[1] >> 6 & 1  # straight back and forward in time: as bright as the place
    assert before.all() and after.all()


def test_uniform_patterns():
    changes = [sum((pattern >> b & 1) != (pattern >> (b + 1) % 8 & 1) for b in range(8)) for pattern in range(256)]
    uniform = [pattern for pattern in range(256) if changes[pattern] <= 2]
    assert len(uniform) == 58 and BINS == 59
    assert sorted(TABLE[uniform]) == list(range(58))
    assert set(TABLE[[pattern for pattern in range(256) if changes[pattern] > 2]]) == {58}
    assert TABLE[0b01010101] == 58 and TABLE[0] == 0


def test_histograms_count_each_block_and_plane_apart():
    codes = np.zeros((3, 2, 4, 4), dtype=np.uint8)
    codes[1, :, :2, 2:] = 255  # plane XT, block above right
    codes[2, 0, 2:, :2] = 0b01010101  # plane YT, block below left, in the first of two frames
    histograms = block_histograms(codes, 2).reshape(2, 2, 3, 59)
    np.testing.assert_allclose(histograms.sum(axis=-1), 1)
    assert histograms[0, 1, 1, TABLE[255]] == 1
    assert histograms[1, 0, 2, 58] == 0.5 and histograms[1, 0, 2, 0] == 0.5
    assert histograms[0, 0, :, 0].sum() == 3


@pytest.fixture
def corpus(tmp_path):
    """Twelve clips of grey frames: in one class the upper half brightens, in the other the lower."""
    cv2 = pytest.importorskip("cv2")
    from epir.faces.align import Crop

    random = np.random.default_rng(0)
    crop, clips = Crop(x=31.5, y=31.5, side=64.0).to_text(), []
    for number in range(12):
        folder = tmp_path / f"clip{number:02d}"
        folder.mkdir()
        face = random.integers(60, 120, (64, 64))
        for frame in range(12):
            moving = face.copy()
            half = slice(0, 32) if number % 2 else slice(32, 64)
            moving[half] = np.roll(face[half], frame, axis=1)
            cv2.imwrite(str(folder / f"img{frame + 5}.png"), np.repeat(moving[..., None], 3, axis=2).astype(np.uint8))
        extra = {"frames": str(folder), "crop": crop}
        clips.append(Clip("synthetic", f"{number // 2:02d}", f"clip{number:02d}", "x", onset=5, offset=16, extra=extra))
    return clips


def small(**changes):
    return build(model_settings("lbp-top", grid=2, face_size=64, length=12, reach=2, classes=2, **changes))


def test_clips_are_told_apart_by_their_frames(corpus):
    method, labels = small(), np.arange(12) % 2
    nothing = np.zeros((12, 3, 28, 28), dtype=np.float32)  # the maps say nothing
    method.fit(nothing[:8], labels[:8], clips=corpus[:8])
    classes, _ = method.predict(nothing[8:], clips=corpus[8:])
    np.testing.assert_array_equal(classes, labels[8:])


def test_a_clip_is_read_once(corpus, monkeypatch):
    reads = []
    monkeypatch.setattr(lbp_top, "read_volume", lambda *place, **_: reads.append(place) or np.zeros((12, 64, 64)))
    lbp_top._clip_features.cache_clear()
    method, nothing = small().estimator, np.zeros((12, 3, 28, 28), dtype=np.float32)
    for _ in range(3):
        method.features(nothing, corpus)
    assert len(reads) == 12
    lbp_top._clip_features.cache_clear()


def test_a_clip_is_brought_to_one_length(corpus):
    place = corpus[0].extra
    whole = read_volume(place["frames"], place["crop"], 0, 5, 16, size=64, length=12)
    twice = read_volume(place["frames"], place["crop"], 0, 5, 16, size=64, length=23)
    assert whole.shape == (12, 64, 64) and twice.shape == (23, 64, 64)
    np.testing.assert_allclose(twice[::2], whole, atol=1e-3)
    np.testing.assert_allclose(twice[1::2], (whole[:-1] + whole[1:]) / 2, atol=1e-3)


def test_frames_that_were_turned_for_the_maps_are_turned_here(corpus):
    place = corpus[0].extra
    whole = read_volume(place["frames"], place["crop"], 0, 5, 16, size=64, length=12)
    upside_down = read_volume(place["frames"], place["crop"], 2, 5, 16, size=64, length=12)
    np.testing.assert_allclose(upside_down, whole[:, ::-1, ::-1], atol=1e-3)
    turned = replace(corpus[0], extra={**place, "turned": "2"})
    nothing = np.zeros((1, 3, 28, 28), dtype=np.float32)
    assert not np.array_equal(
        small().estimator.features(nothing, [turned]), small().estimator.features(nothing, [corpus[0]])
    )


def test_clips_without_frames_are_refused_with_a_fix(corpus, tmp_path):
    nothing = np.zeros((1, 3, 28, 28), dtype=np.float32)
    method = small().estimator
    with pytest.raises(MapSetError, match=r"has no path to those of a/1/c\n  fix: .*epir prepare.*leave lbp-top out"):
        method.features(nothing, [Clip("a", "1", "c", "x")])
    gone = Clip("a", "1", "c", "x", extra={"frames": str(tmp_path / "gone"), "crop": "x"})
    with pytest.raises(MapSetError, match=r"those of a/1/c are not at .*gone\n  fix: move the corpus back"):
        method.features(nothing, [gone])
    with pytest.raises(TrainingError, match=r"got 0 clips for 1 maps\n  fix: pass clips=..., one per map"):
        method.features(nothing, [])
    place = corpus[0].extra
    with pytest.raises(MapSetError, match="has 1 frame between onset and offset, too few for lbp-top\n  fix: check"):
        read_volume(place["frames"], place["crop"], 0, 16, 20, size=64, length=12)
