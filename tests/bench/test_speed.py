from types import SimpleNamespace

import pytest
import torch

from epir.bench import speed
from epir.bench.speed import (
    HEIGHT,
    WIDTH,
    draw_clip,
    measure_folds,
    measure_onnx,
    seconds_each,
    training_step,
)
from epir.flow.recipe import flow_recipe
from epir.frames.reader import open_frames
from epir.maps.prepare import prepare_clip
from epir.models.epir import Epir
from epir.models.settings import ModelSettings, preset


def test_a_timed_training_step_really_trains():
    model = Epir(preset("epir", width=24, feed_forward=32))
    before = model.head.weight.detach().clone()
    training_step(model, torch.randn(6, 3, 28, 28))()
    assert not torch.equal(model.head.weight, before)


def test_the_clip_has_two_key_frames_of_a_face_that_moves(tmp_path):
    clip = draw_clip(tmp_path)
    frames = open_frames(tmp_path)
    assert frames.numbers == (clip.onset, clip.apex)
    assert frames.read(clip.onset).shape == (HEIGHT, WIDTH, 3)
    assert abs(prepare_clip(clip, flow_recipe()).map[:2]).max() > 0.05


def test_every_flow_recipe_is_measured_and_the_default_has_a_target(monkeypatch):
    monkeypatch.setattr(speed, "draw_clip", lambda folder: None)
    monkeypatch.setattr(speed, "prepare_clip", lambda clip, recipe: sum(range(1000)))
    ratios = speed.measure_preparation(quick=True)
    assert [ratio.target for ratio in ratios] == [25.0, None, None]
    assert all(ratio.value > 0 for ratio in ratios)


def test_the_exported_model_is_measured_against_eager_torch(monkeypatch):
    small, exported = ModelSettings(width=16, heads=2, feed_forward=16, blocks=3), []

    def export(folder, path, *, int8):
        exported.append(int8)
        return SimpleNamespace(path=path)

    monkeypatch.setattr(speed, "Epir", lambda: Epir(small))
    monkeypatch.setattr(speed, "export", export)
    monkeypatch.setattr(speed, "OnnxBackend", lambda path: SimpleNamespace(run=lambda maps: maps.sum()))
    plain, int8 = measure_onnx(quick=True)
    assert exported == [False, True]
    assert [plain.name, int8.name] == [f"eager / {name}, one answer of 10 views" for name in ("onnx", "onnx int8")]
    assert all(ratio.value > 0 and "ms against" in ratio.detail for ratio in (plain, int8))
    assert plain.target is None and int8.target == 2.0


def test_folds_are_measured_with_one_and_two_workers(monkeypatch):
    """The folds are those of an evaluation; here each says that it took 2 s, 1.9 s of them in training."""
    ran = []

    class Folds:
        def __init__(self, workers):
            self.workers = workers

        def run(self, work, jobs, inputs):
            ran.append((inputs.experiment.model.name, self.workers, len(jobs)))
            return [SimpleNamespace(seconds=2.0, training_seconds=1.9) for _ in jobs]

    monkeypatch.setattr(speed, "Engine", Folds)
    workers, share, htnet = measure_folds(quick=True)
    assert ran == [("epir", 2, 4), ("epir", 1, 4), ("epir", 2, 4), ("htnet", 1, 1)]
    assert workers.name == "one worker / two workers" and workers.value > 0 and "s and" in workers.detail
    assert (share.target, share.value) == (0.95, pytest.approx(0.95))
    assert (htnet.target, htnet.value) == (5.0, pytest.approx(1.0))


def test_functions_take_turns_and_the_fastest_round_counts(monkeypatch):
    clock, calls = [0.0], []
    monkeypatch.setattr(speed.time, "process_time", lambda: clock[0])

    def piece(name, durations):
        def work():
            calls.append(name)
            clock[0] += durations[(calls.count(name) - 1) % len(durations)]

        return work

    work = {"a": piece("a", [9, 4, 2, 3, 3, 5, 1]), "b": piece("b", [7])}
    seconds = seconds_each(work, rounds=3, warm_up=1, calls=2)
    assert "".join(calls) == "ab" + "aabb" * 3
    assert seconds == {"a": (4 + 2) / 2, "b": 7}  # rounds of 4 + 2, 3 + 3 and 5 + 1 seconds


@pytest.mark.parametrize(("rounds", "expected"), [(5, 1.0), (20, 1.5), (39, 2.0)])
def test_the_fastest_tenth_of_the_rounds_counts_and_at_least_one(monkeypatch, rounds, expected):
    clock = [0.0]
    left = list(range(rounds, 0, -1))  # the rounds take this many seconds, the quickest last
    monkeypatch.setattr(speed.time, "process_time", lambda: clock[0])

    def work():
        clock[0] += left.pop(0)

    assert seconds_each({"a": work}, rounds=rounds, warm_up=0) == {"a": pytest.approx(expected)}
