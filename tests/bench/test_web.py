"""The load test itself: it finds right answers right, and wrong ones wrong."""

from dataclasses import replace

import pytest

from epir.bench.web import make_inputs, memory_mib, run_clients


@pytest.mark.slow
def test_clients_at_once_get_the_recognizers_answers_or_503(serving, model, tmp_path):
    inputs = make_inputs(model, tmp_path, faces=1)
    with serving(queue=1, examples_ahead=False) as (_, address):
        tally = run_clients(address, inputs, clients=3, rounds=1, seconds=120)
        assert (tally.statuses[200], tally.wrong, tally.given_up) == (3, 0, 0)
        assert set(tally.statuses) <= {200, 503}
        spoilt = [replace(each, right={**each.right, "label": "joy"}) for each in inputs[1:2]]
        assert run_clients(address, spoilt, clients=1, rounds=1, seconds=120).wrong == 1


def test_a_server_that_is_not_there_gives_no_status():
    from epir.bench.web import post

    assert post("http://127.0.0.1:9/", b"") == (0, 0.0, {})


def test_memory_of_this_process_is_known():
    import os
    import sys

    if sys.platform != "linux":
        pytest.skip("memory is read from /proc")
    own, _ = memory_mib(os.getpid())
    assert 10 < own < 10_000
