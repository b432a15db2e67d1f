import builtins

import pytest

from epir.core.errors import MissingExtra, RunError
from epir.evaluation.run import Engine, evaluate


def test_an_engine_that_is_not_installed_is_told(make_maps, tmp_path, monkeypatch, quick):
    real = builtins.__import__

    def without_ray(name, *rest):
        if name == "ray":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_ray)
    with pytest.raises(MissingExtra, match=r'the engine ray is not installed\n  fix: pip install "epir\[ray\]"'):
        evaluate(
            make_maps(), protocol="cde", model="ststnet", out=tmp_path / "run", changes=quick, engine=Engine("ray")
        )


@pytest.mark.slow
def test_ray_survives_a_dying_worker_and_says_the_same(make_maps, tmp_path, kill_worker):
    pytest.importorskip("ray")
    maps = make_maps(people=3)
    call = dict(protocol="cde", model="ststnet", changes=["training.epochs=40"])
    evaluate(maps, out=tmp_path / "local", engine=Engine(workers=1), **call)
    victims = kill_worker("ray::_remote_fold", after=0.3)
    evaluate(maps, out=tmp_path / "ray", engine=Engine("ray", workers=2), **call)
    assert victims
    assert (tmp_path / "ray" / "predictions.csv").read_bytes() == (tmp_path / "local" / "predictions.csv").read_bytes()


@pytest.mark.slow
def test_errors_come_back_from_ray_and_a_missing_cluster_is_told(make_maps, tmp_path):
    pytest.importorskip("ray")
    call = dict(protocol="cde", model="ststnet", out=tmp_path / "run")
    wrong = ["training.lr=1e30", "training.gradient_limit=0", "training.warmup=0", "training.epochs=2"]
    with pytest.raises(Exception, match=r"not a number any more in epoch .; .*\n  fix: train with a lower rate"):
        evaluate(make_maps(people=2), changes=wrong, engine=Engine("ray", workers=1), **call)
    with pytest.raises(RunError, match=r"there is no Ray cluster at 127.0.0.1:1: .*\n  fix: check --address"):
        evaluate(make_maps("b", people=2), engine=Engine("ray", address="127.0.0.1:1"), force=True, **call)
