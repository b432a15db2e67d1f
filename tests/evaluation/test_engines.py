import builtins
import os
import signal
import sys
import time

import pytest

from epir.core.errors import ConfigError, MissingExtra, RunError
from epir.evaluation import engines
from epir.evaluation.engines import Engine, run_local
from epir.evaluation.fold import run_fold
from epir.evaluation.run import evaluate


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"workers": 0}, "--workers must be at least 1, not 0\n  fix: leave it out for one per core"),
        ({"name": "rai"}, "there is no engine 'rai'\n  fix: use --engine local or --engine ray"),
        ({"gpus": -1.0}, "--gpus must not be negative: -1\n  fix: for example --gpus 0.25"),
    ],
)
def test_impossible_engines_are_refused(choices, words):
    with pytest.raises(ConfigError, match=words):
        Engine(**choices)


def test_one_worker_works_in_this_process(monkeypatch):
    monkeypatch.setattr(engines, "run_fold", lambda task: (task, os.getpid()))
    assert list(run_local(["a", "b"], workers=1)) == [("a", os.getpid()), ("b", os.getpid())]


def test_nothing_to_do_is_done_at_once():
    assert list(run_local([], workers=4)) == []


@pytest.mark.slow
def test_a_worker_that_dies_costs_only_its_fold(make_maps, tmp_path, monkeypatch):
    out = tmp_path / "run"

    def die_in_the_second_fold(task):
        if task.fold == "casme2/02":
            while not list(out.glob("folds/[!.]*.json")):  # until the first fold is stored
                time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGKILL)
        return run_fold(task)

    monkeypatch.setattr(engines, "run_fold", die_in_the_second_fold)
    call = dict(protocol="cde", model="bi-woof", out=out)
    maps = make_maps(people=5)
    with pytest.raises(RunError, match=r"a worker process died, .* are kept\n  fix: run the same .*--workers 1"):
        evaluate(maps, engine=Engine(workers=2), **call)
    assert (out / "folds" / "casme2+00__seed0.json").exists() and not (out / "folds" / "casme2+02__seed0.json").exists()
    monkeypatch.undo()
    assert len(evaluate(maps, engine=Engine(workers=1), **call).folds) == 5


def test_an_engine_that_is_not_installed_is_reported(make_maps, tmp_path, monkeypatch):
    real = builtins.__import__

    def without_ray(name, *rest):
        if name == "ray":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_ray)
    with pytest.raises(MissingExtra, match=r'the engine ray is not installed\n  fix: pip install "epir\[ray\]"'):
        evaluate(make_maps(), protocol="cde", model="bi-woof", out=tmp_path / "run", engine=Engine("ray"))


@pytest.mark.slow
def test_ray_gives_the_same_predictions_though_a_worker_dies_and_returns_errors(
    make_maps, tmp_path, monkeypatch, quick
):
    ray = pytest.importorskip("ray")
    maps, marker = make_maps(people=3), tmp_path / "died"
    call = dict(protocol="cde", model="ststnet", changes=quick)
    evaluate(maps, out=tmp_path / "local", engine=Engine(workers=1), **call)
    real = engines._remote_fold

    def die_once(task, *rest):
        if not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return real(task, *rest)

    with engines._connected(ray, workers=2, address="", gpus=0.0, size=0):
        with monkeypatch.context() as patch:
            patch.setattr(engines, "_remote_fold", die_once)
            evaluate(maps, out=tmp_path / "ray", engine=Engine("ray", workers=2), **call)
        wrong = [
            "training.lr=1000",
            "training.weight_decay=1000",
            "training.gradient_limit=0",
            "training.warmup=0",
            "training.epochs=20",
        ]
        with pytest.raises(Exception, match=r"not a number any more in epoch .; .*\n  fix: train with a lower rate"):
            evaluate(maps, out=tmp_path / "wrong", engine=Engine("ray", workers=1), **call | {"changes": wrong})
    assert marker.exists() and not ray.is_initialized()
    assert (tmp_path / "ray" / "predictions.csv").read_bytes() == (tmp_path / "local" / "predictions.csv").read_bytes()


@pytest.mark.slow
def test_a_missing_cluster_is_reported(make_maps, tmp_path):
    pytest.importorskip("ray")
    engine = Engine("ray", address="127.0.0.1:1")
    with pytest.raises(RunError, match=r"there is no Ray cluster at 127.0.0.1:1: .*\n  fix: check --address"):
        evaluate(make_maps(), protocol="cde", model="bi-woof", out=tmp_path / "run", engine=engine)


def test_ray_does_not_decide_what_sigterm_does(monkeypatch):
    """Ray puts a handler in place that exits with 15."""

    class Ray:
        is_initialized = staticmethod(lambda: False)
        init = staticmethod(lambda **options: signal.signal(signal.SIGTERM, lambda *rest: sys.exit(15)))
        shutdown = staticmethod(lambda: None)

    before = signal.getsignal(signal.SIGTERM)
    with engines._connected(Ray, workers=1, address="", gpus=0.0, size=0):
        assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("options", [{"gpus": 0.5}, {"address": "127.0.0.1:6379"}])
def test_options_of_ray_need_ray(options):
    (name,) = options
    with pytest.raises(ConfigError, match=f"--{name} needs --engine ray\n  fix: add --engine ray"):
        Engine(**options)
