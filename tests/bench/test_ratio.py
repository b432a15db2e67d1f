import pytest

from epir.bench import ratio
from epir.bench.ratio import Ratio, seconds_each


def test_pieces_of_work_take_turns_and_the_quickest_round_counts():
    order = []
    work = {"a": lambda: order.append("a"), "b": lambda: sum(range(200_000))}
    seconds = seconds_each(work, rounds=3, warm_up=1, calls=2)
    assert len(order) == 1 + 3 * 2
    assert 0 <= seconds["a"] < seconds["b"]


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
