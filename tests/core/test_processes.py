import os
import signal
import time

import pytest
from joblib import delayed

from epir.core.processes import process_pool


def report(number):
    return number, os.getpid(), signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def wait_for_the_others(number, done):
    """Job 0 waits until another has ended."""
    if number:
        done.touch()
    else:
        while not done.exists():
            time.sleep(0.05)
        time.sleep(0.5)
    return number


def test_workers_are_other_processes_and_leave_ctrl_c_to_their_parent():
    before = signal.getsignal(signal.SIGINT)
    results = list(process_pool(2, in_order=True)(delayed(report)(number) for number in range(6)))
    assert [number for number, _, _ in results] == list(range(6))
    assert all(ignores and pid != os.getpid() for _, pid, ignores in results)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(("in_order", "expected"), [(True, [0, 1]), (False, [1, 0])])
def test_results_come_as_soon_as_they_are_there_unless_in_order(tmp_path, in_order, expected):
    jobs = [delayed(wait_for_the_others)(number, tmp_path / "done") for number in range(2)]
    assert list(process_pool(2, in_order=in_order, batch_size=1)(jobs)) == expected
