import os
import signal
import time

import cv2
import pytest
import torch
from joblib import delayed

from epir.core.processes import cores, one_thread, process_pool, processor


def test_the_machine_has_a_core_and_a_processor():
    assert cores() >= 1 and processor()


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
    results = list(process_pool(2, in_order=True)(delayed(report)(number) for number in range(6)))
    assert [number for number, _, _ in results] == list(range(6))
    assert all(ignores and pid != os.getpid() for _, pid, ignores in results)
    assert signal.getsignal(signal.SIGINT) is before


def test_results_in_order_wait_for_the_first_job(tmp_path):
    """The second job has ended before the first does."""
    jobs = [delayed(wait_for)(number, tmp_path / "done") for number in range(2)]
    assert list(process_pool(2, in_order=True, batch_size=1)(jobs)) == [0, 1]


def test_results_come_as_soon_as_they_are_ready_unless_in_order(tmp_path):
    """The first job ends only after the result of the second has been read."""
    jobs = [delayed(wait_for_the_reader)(number, tmp_path / "read") for number in range(2)]
    results = process_pool(2, in_order=False, batch_size=1)(jobs)
    assert next(results) == 1
    (tmp_path / "read").touch()
    assert list(results) == [0]
