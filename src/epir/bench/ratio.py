"""A measured ratio and its target, and how to measure fairly on a busy machine."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import mean


@dataclass(frozen=True)
class Ratio:
    """One line of the benchmark: a ratio of two times, or of two rates, of the same run."""

    name: str
    value: float
    target: float | None  # at least this; None: no target
    detail: str

    @property
    def reached(self) -> bool | None:
        """Whether the target is met; None without one."""
        return None if self.target is None else self.value >= self.target


def seconds_each(
    work: Mapping[str, Callable[[], object]], *, rounds: int, warm_up: int = 2, calls: int = 1, settle: int = 0
) -> dict[str, float]:
    """Processor seconds of one call of each piece of work.

    The pieces take turns, so that a busy machine slows all of them. The quickest round counts, since disturbances only
    ever add; of many short rounds the mean of the quickest tenth, for a single one may be quick by chance. Each turn
    begins with `settle` calls that do not count, so that a small piece does not pay for what a large one left in the
    caches.
    """
    for piece in work.values():
        for _ in range(warm_up):
            piece()
    taken: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds):
        for name, piece in work.items():
            for _ in range(settle):
                piece()
            began = time.process_time()
            for _ in range(calls):
                piece()
            taken[name].append((time.process_time() - began) / calls)
    return {name: mean(sorted(seconds)[: max(1, rounds // 10)]) for name, seconds in taken.items()}
