import os

import pytest

from epir.core.errors import RunError
from epir.evaluation import local
from epir.evaluation.local import cores, run_local
from epir.evaluation.run import Engine, evaluate


def test_there_is_at_least_one_core():
    assert cores() >= 1


def test_one_worker_works_in_this_process(monkeypatch):
    monkeypatch.setattr(local, "run_fold", lambda task: (task, os.getpid()))
    assert list(run_local(["a", "b"], workers=1)) == [("a", os.getpid()), ("b", os.getpid())]


def test_nothing_to_do_is_done_at_once():
    assert list(run_local([], workers=4)) == []


@pytest.mark.slow
def test_a_worker_that_dies_is_told_and_costs_only_its_fold(make_maps, tmp_path, kill_worker):
    call = dict(protocol="cde", model="ststnet", out=tmp_path / "run", changes=["training.epochs=15"])
    maps = make_maps(people=5)
    victims = kill_worker("LokyProcess", after=3.0)
    with pytest.raises(RunError, match=r"a worker process died, .* are kept\n  fix: give the same .*--workers 1"):
        evaluate(maps, engine=Engine(workers=2), **call)
    assert victims
    assert len(evaluate(maps, engine=Engine(workers=2), **call).folds) == 5
