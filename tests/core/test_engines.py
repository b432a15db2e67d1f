import os
import time

import pytest

from epir.core.engines import Engine, JobProgress, reporting_status
from epir.core.errors import ConfigError, EpirError


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"workers": 0}, "--workers must be at least 1, not 0\n  fix: leave it out for one per core"),
        ({"name": "rai"}, "there is no engine 'rai'\n  fix: use --engine local or --engine ray"),
        ({"workers": 10**9}, r"--workers must be at most 16 per core, here \d+\n  fix: leave it out for one per core"),
        ({"gpus": -1.0}, "--gpus must be a number from 0 on, not -1\n  fix: for example --gpus 0.25"),
        ({"gpus": float("nan"), "name": "ray"}, "--gpus must be a number from 0 on, not nan"),
        ({"gpus": 0.5}, "--gpus needs --engine ray\n  fix: add --engine ray"),
        ({"address": "127.0.0.1:6379"}, "--address needs --engine ray\n  fix: add --engine ray"),
    ],
)
def test_impossible_engines_are_refused(choices, words):
    with pytest.raises(ConfigError, match=words):
        Engine(**choices)


def test_one_worker_works_in_this_process():
    found = list(Engine(workers=1).run(lambda job: (job, os.getpid()), ["a", "b"]))
    assert found == [("a", os.getpid()), ("b", os.getpid())]


@pytest.mark.parametrize("workers", [1, 2, None])
def test_every_job_is_done_with_what_is_shared(workers):
    engine = Engine(workers=workers)
    assert list(engine.run(divmod, [7, 8, 9], 4, in_order=True)) == [(1, 3), (2, 0), (2, 1)]
    assert sorted(engine.run(divmod, [9, 8, 7], 4)) == [(1, 3), (2, 0), (2, 1)]
    assert list(engine.run(divmod, [], 4)) == []


def test_the_order_of_jobs_is_kept_though_the_first_takes_longest():
    def late(job):
        time.sleep(0.3 if job == 0 else 0)
        return job

    assert list(Engine(workers=2).run(late, range(5), in_order=True)) == [0, 1, 2, 3, 4]


class Deadly:
    """Unpacking this ends the process that does it."""

    def __reduce__(self):
        return os._exit, (9,)


@pytest.mark.parametrize("in_order", [True, False])
def test_a_worker_that_dies_is_told_in_two_lines(in_order):
    words = r"a worker process died, possibly out of memory; what is finished is kept\n  fix: .*--workers 1\) to resume"
    with pytest.raises(EpirError, match=words):
        list(Engine(workers=2).run(repr, [Deadly(), Deadly()], in_order=in_order))


class Counted:
    """Counts how often it is pickled."""

    times = 0

    def __reduce__(self):
        Counted.times += 1
        return str, ("shared",)


def test_what_is_shared_is_sent_once():
    Counted.times = 0
    found = list(Engine(workers=2).run(lambda job, shared: f"{shared} {job}", range(6), Counted(), in_order=True))
    assert found == [f"shared {number}" for number in range(6)] and Counted.times == 1


def three_steps(job, wait):
    progress = JobProgress(job, training="epoch")
    progress.start("training", 3)
    for _ in range(3):
        progress.advance()
        time.sleep(wait)
    return job


def test_jobs_tell_what_they_are_doing():
    told = []
    with reporting_status(told.append):
        progress = JobProgress("casme2/01", training="epoch")
        progress.start("training", 20)
        progress.advance(3)
        progress.start("spotting", 0)
        progress.advance(70)
    assert told == ["casme2/01: epoch 3 of 20", "casme2/01: spotting 70"]
    JobProgress("nobody").advance()  # nobody is told


@pytest.mark.parametrize(("workers", "wait"), [(1, 0.0), (2, 0.8)])
def test_an_engine_passes_on_what_its_jobs_are_doing(workers, wait):
    told = []
    assert sorted(Engine(workers=workers).run(three_steps, ["a", "b"], wait, status=told.append)) == ["a", "b"]
    words = {each for words in told for each in words}
    assert words & {"a: epoch 1 of 3", "a: epoch 2 of 3"} and words & {"b: epoch 1 of 3", "b: epoch 2 of 3"}
    if workers == 2:
        assert any(len(each) == 2 for each in told)  # both at the same time
