import cv2
import numpy as np
import pytest

from epir.bench import flow
from epir.bench.flow import MOTIONS, accuracies, astronaut_pairs, by_amplitude, by_size, drawn_pair, drawn_pairs
from epir.core.errors import ConfigError, DatasetError
from epir.faces.align import Crop
from epir.flow.recipe import flow_recipe


@pytest.fixture(scope="module")
def results(pair_of):
    pairs = [pair_of(kind, 1.0, noise=1.0) for kind in ("translation", "rotation", "expansion", "bump")]
    recipes = [flow_recipe("epir", [f"flow.method={method}"]) for method in ("farneback", "dis", "tvl1")]
    return accuracies(pairs, recipes)


def test_every_pair_is_measured_with_every_recipe(results):
    assert len(results) == 12
    assert all(0 < result.endpoint < 0.2 for result in results)
    assert all(result.share < 0.6 for result in results)
    assert {result.kind for result in results if np.isnan(result.strain)} == {"translation", "rotation", "expansion"}


def test_an_estimator_without_flow_has_the_whole_motion_as_error(pair_of, monkeypatch):
    monkeypatch.setitem(
        accuracies.__globals__, "flow_between", lambda a, b, recipe: np.zeros((*a.shape[:2], 2), np.float32)
    )
    (result,) = accuracies([pair_of("translation", 1.0)], [flow_recipe()])
    assert result.endpoint == pytest.approx(1.0, abs=1e-3)
    assert result.share == pytest.approx(1.0, abs=1e-3)


def test_there_is_a_line_per_method_and_size(results):
    lines = by_size(results)
    assert [line.name.split(":")[0] for line in lines] == [f"{m}, 168 px" for m in ("farneback", "dis", "tvl1")]
    mine = [result.share for result in results if result.recipe.flow.method == "dis"]
    assert lines[1].value == pytest.approx(np.mean(mine))
    assert lines[1].detail.startswith(f"translation {mine[0]:.3f}, rotation {mine[1]:.3f}, ")


def test_there_is_a_line_per_method_and_amplitude(results):
    lines = by_amplitude(results, 168)
    assert [line.name.split(":")[0] for line in lines] == [
        f"{method}, 168 px, motion 1 px" for method in ("farneback", "dis", "tvl1")
    ]
    mine = [result.endpoint for result in results if result.recipe.flow.method == "farneback"]
    assert lines[0].value == pytest.approx(np.mean(mine))
    assert by_amplitude(results, 84) == []


def test_the_area_takes_a_flow_recipe_and_at_most_one_corpus(pair_of, monkeypatch):
    monkeypatch.setattr(flow, "astronaut_pairs", lambda *options: [pair_of("bump", 1.0)])
    monkeypatch.setattr(flow, "METHODS", ("dis",))
    lines = flow.measure(quick=True, changes=["flow.size=96"])
    assert [line.name.split(":")[0] for line in lines] == ["dis, 84 px", "dis, 96 px", "dis, 96 px, motion 1 px"]
    with pytest.raises(ConfigError, match=r"flow takes one corpus, not 2\n  fix: "):
        flow.measure(inputs=["a", "b"])


@pytest.mark.parametrize("kind", MOTIONS)
def test_the_apex_shows_the_onset_moved_by_the_true_flow(pair_of, kind):
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


def test_the_true_flow_is_cut_to_the_crop():
    flow = np.zeros((100, 100, 2), np.float32)
    flow[..., 0] = 3.0  # 3 px to the right in the frame
    frame = np.zeros((100, 100, 3), np.uint8)
    pair = drawn_pair(frame, frame, Crop(50, 50, 40), flow)
    assert pair.amplitude == pytest.approx(3.0)
    np.testing.assert_allclose(pair.truth(40), np.broadcast_to([3.0, 0.0], (40, 40, 2)), atol=1e-5)
    np.testing.assert_allclose(pair.truth(10), np.broadcast_to([0.75, 0.0], (10, 10, 2)), atol=1e-5)
    turned = drawn_pair(frame, frame, Crop(50, 50, 40, angle=90), flow)
    np.testing.assert_allclose(turned.truth(40), np.broadcast_to([0.0, -3.0], (40, 40, 2)), atol=1e-4)


def test_a_corpus_with_truth_gives_its_pairs(tmp_path, pair_of):
    pair = pair_of("bump", 2.0)
    (tmp_path / "001" / "c").mkdir(parents=True)
    for number, frame in ((1, pair.onset), (5, pair.apex)):
        cv2.imwrite(str(tmp_path / "001" / "c" / f"img{number}.png"), cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))
    (tmp_path / "annotations.csv").write_text(
        "clip,subject,emotion,frames,onset,apex,offset,fps\nc,001,positive,001/c,1,5,9,200\n"
    )
    with pytest.raises(DatasetError, match=r"holds no true flow\n  fix: write it: epir synth .* --truth"):
        list(drawn_pairs(tmp_path))
    height, width = pair.onset.shape[:2]
    places = np.stack(np.meshgrid(np.arange(width), np.arange(height)), axis=-1).reshape(-1, 2)
    true = pair.truth(512)
    inside = pair.crop.to_crop(places.astype(float), 512).astype(np.float32).reshape(height, width, 2)
    seen = cv2.remap(true, inside[..., 0], inside[..., 1], cv2.INTER_LINEAR)
    flow = seen @ pair.crop.matrix(512)[:, :2].T
    (tmp_path / "truth" / "001").mkdir(parents=True)
    np.savez(tmp_path / "truth" / "001" / "c.npz", flow=flow)
    (loaded,) = drawn_pairs(tmp_path)
    assert np.array_equal(loaded.apex, pair.apex)
    assert np.abs(loaded.truth(84) - pair.truth(84))[8:-8, 8:-8].max() < 0.1
