import os
import signal
import time

from joblib import delayed

from epir.core.processes import process_pool


def report(number, seconds):
    time.sleep(seconds)
    return number, os.getpid(), signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def test_workers_are_other_processes_and_leave_ctrl_c_to_their_parent():
    before = signal.getsignal(signal.SIGINT)
    results = list(process_pool(2, in_order=True)(delayed(report)(number, 0) for number in range(6)))
    assert [number for number, _, _ in results] == list(range(6))
    assert all(ignores and pid != os.getpid() for _, pid, ignores in results)
    assert signal.getsignal(signal.SIGINT) is before


def test_results_come_as_soon_as_they_are_there_unless_in_order():
    slow_first = [delayed(report)(number, seconds) for number, seconds in enumerate([1.0, 0, 0])]
    for in_order in (True, False):
        results = list(process_pool(2, in_order=in_order, batch_size=1)(slow_first))
        assert (results[0][0] == 0) is in_order
