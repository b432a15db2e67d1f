import pytest

from epir.bench import ratio
from epir.bench.ratio import Ratio, seconds_each


def test_pieces_of_work_take_turns_and_the_quickest_round_counts(monkeypatch):
    clock, calls = [0.0], []
    monkeypatch.setattr(ratio.time, "process_time", lambda: clock[0])

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
def test_the_quickest_tenth_of_the_rounds_counts_and_at_least_one(monkeypatch, rounds, expected):
    clock = [0.0]
    left = list(range(rounds, 0, -1))  # the rounds take this many seconds, the quickest last
    monkeypatch.setattr(ratio.time, "process_time", lambda: clock[0])

    def work():
        clock[0] += left.pop(0)

    assert seconds_each({"a": work}, rounds=rounds, warm_up=0) == {"a": pytest.approx(expected)}


@pytest.mark.parametrize(("value", "target", "reached"), [(1.0, 1.0, True), (0.9, 1.0, False), (5.0, None, None)])
def test_a_ratio_knows_whether_it_reaches_its_aim(value, target, reached):
    assert Ratio("x", value, target, "").reached is reached
