import os
import signal
import time

import cv2
import pytest
import torch
from joblib.externals.loky import get_reusable_executor

from epir.core import engines
from epir.core.engines import Engine, JobProgress, cores, one_thread, processor, reporting_status
from epir.core.errors import ConfigError, EpirError


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"workers": 0}, "--workers must be at least 1, not 0\n  fix: leave it out for one per core"),
        ({"name": "rai"}, "there is no engine 'rai'\n  fix: use --engine local or --engine ray"),
        ({"workers": 10**9}, r"--workers must be at most 16 per core, here \d+\n  fix: leave it out for one per core"),
        ({"gpus": -1.0}, "--gpus must be at least 0 and finite, not -1\n  fix: for example --gpus 0.25"),
        ({"gpus": float("nan"), "name": "ray"}, "--gpus must be at least 0 and finite, not nan"),
        ({"gpus": 0.5}, "--gpus needs --engine ray\n  fix: add --engine ray"),
        ({"address": "127.0.0.1:6379"}, "--address needs --engine ray\n  fix: add --engine ray"),
    ],
)
def test_impossible_engines_are_refused(choices, words):
    with pytest.raises(ConfigError, match=words):
        Engine(**choices)


def test_one_worker_works_in_this_process():
    results = list(Engine(workers=1).run(lambda job: (job, os.getpid()), ["a", "b"]))
    assert results == [("a", os.getpid()), ("b", os.getpid())]


@pytest.mark.parametrize("workers", [1, 2, None])
def test_every_job_is_done_with_what_is_shared(workers):
    engine = Engine(workers=workers)
    assert list(engine.run(divmod, [7, 8, 9], 4, in_order=True)) == [(1, 3), (2, 0), (2, 1)]
    assert sorted(engine.run(divmod, [9, 8, 7], 4)) == [(1, 3), (2, 0), (2, 1)]
    assert list(engine.run(divmod, [], 4)) == []


class Deadly:
    """Unpacking this ends the process that does it."""

    def __reduce__(self):
        return os._exit, (9,)


@pytest.mark.parametrize("in_order", [True, False])
def test_a_worker_that_dies_is_told_in_two_lines(in_order):
    words = r"a worker process died, possibly out of memory; finished jobs are kept\n  fix: .*--workers 1\) to resume"
    with pytest.raises(EpirError, match=words):
        list(Engine(workers=2).run(repr, [Deadly(), Deadly()], in_order=in_order))


def test_a_worker_that_the_system_ended_for_its_memory_is_told_as_such(monkeypatch):
    counts = iter([3, 4])
    monkeypatch.setattr("epir.core.engines.memory_kills", lambda: next(counts))
    with pytest.raises(EpirError, match=r"^memory ran out and the system killed a worker process; finished jobs"):
        list(Engine(workers=2).run(repr, [Deadly(), Deadly()]))


class Counted:
    """Counts how often it is pickled."""

    times = 0

    def __reduce__(self):
        Counted.times += 1
        return str, ("shared",)


def test_what_is_shared_is_sent_once():
    Counted.times = 0
    results = list(Engine(workers=2).run(lambda job, shared: f"{shared} {job}", range(6), Counted(), in_order=True))
    assert results == [f"shared {number}" for number in range(6)] and Counted.times == 1


def three_steps(job, seen):
    """Says that it is at the first step, and goes on when `seen` is there."""
    progress = JobProgress(job, training="epoch")
    progress.start("training", 3)
    progress.advance()
    while seen is not None and not seen.exists():
        time.sleep(0.05)
    progress.advance(2)
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


def test_an_engine_passes_on_what_its_jobs_are_doing():
    told = []
    assert sorted(Engine(workers=1).run(three_steps, ["a", "b"], None, status=told.append)) == ["a", "b"]
    assert ["a: epoch 1 of 3"] in told and ["b: epoch 1 of 3"] in told


def test_an_engine_passes_on_what_its_jobs_are_doing_at_the_same_time(tmp_path):
    told = []

    def status(words):
        told.append(sorted(words))
        if len(words) == 2:
            (tmp_path / "seen").touch()

    assert sorted(Engine(workers=2).run(three_steps, ["a", "b"], tmp_path / "seen", status=status)) == ["a", "b"]
    assert ["a: epoch 1 of 3", "b: epoch 1 of 3"] in told


def test_the_machine_has_a_core_and_a_processor():
    assert cores() >= 1 and processor()


@pytest.mark.parametrize(
    ("info", "name"),
    [
        ("processor: 0\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\n" * 2, "AMD EPYC (family 26, model 2)"),
        ("processor\t: 0\nmodel name\t: ARMv8 Processor rev 3\n", "ARMv8 Processor rev 3"),
    ],
)
def test_processors_of_one_name_are_told_apart(info, name, monkeypatch, tmp_path):
    (tmp_path / "cpuinfo").write_text(info)
    monkeypatch.setattr(engines, "Path", lambda _: tmp_path / "cpuinfo")
    assert processor() == name


def test_threads_are_given_back_also_after_an_error():
    def threads():
        return cv2.getNumThreads(), torch.get_num_threads()

    before = threads()
    with pytest.raises(ValueError, match="boom"), one_thread():
        assert threads() == (1, 1)
        raise ValueError("boom")
    assert threads() == before


def report(number):
    return number, os.getpid(), signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def wait_for(number, path):
    """Job 0 ends when `path` is there, which job 1 makes."""
    if number:
        path.touch()
    while not path.exists():
        time.sleep(0.05)
    return number


def wait_for_the_reader(number, path):
    """Job 0 ends when `path` is there, which the reader of the results makes."""
    while not number and not path.exists():
        time.sleep(0.05)
    return number


def test_workers_are_other_processes_and_leave_ctrl_c_to_their_parent():
    before = signal.getsignal(signal.SIGINT)
    results = list(Engine(workers=2).run(report, range(6), in_order=True))
    assert [number for number, _, _ in results] == list(range(6))
    assert all(ignores and pid != os.getpid() for _, pid, ignores in results)
    assert signal.getsignal(signal.SIGINT) is before


def blocked(number):
    return signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_workers_are_born_deaf_to_signals_so_that_none_dies_loudly_while_it_starts():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    get_reusable_executor(max_workers=2).shutdown(kill_workers=True)  # those of other tests
    for signals in Engine(workers=2).run(blocked, range(4)):
        assert {signal.SIGINT, signal.SIGTERM} <= signals
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def test_results_in_order_wait_for_the_first_job(tmp_path):
    """The second job has ended before the first does."""
    assert list(Engine(workers=2).run(wait_for, range(2), tmp_path / "done", in_order=True)) == [0, 1]


def test_results_come_as_soon_as_they_are_ready_unless_in_order(tmp_path):
    """The first job ends only after the result of the second has been read."""
    results = Engine(workers=2).run(wait_for_the_reader, range(2), tmp_path / "read")
    assert next(results) == 1
    (tmp_path / "read").touch()
    assert list(results) == [0]
