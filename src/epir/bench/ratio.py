"""A measured ratio and what it is held against, and how to measure fairly on a busy machine."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Ratio:
    """One line of the benchmark: a quotient of two times, or of two rates, of the same run."""

    name: str
    value: float
    target: float | None  # reach this or more; None where there is nothing to reach
    detail: str

    @property
    def reached(self) -> bool | None:
        """Whether the target is met; None without one."""
        return None if self.target is None else self.value >= self.target


def seconds_each(
    work: Mapping[str, Callable[[], object]], *, rounds: int, warm_up: int = 2, calls: int = 1, settle: int = 0
) -> dict[str, float]:
    """Processor seconds of one call of each piece of work.

    The pieces take turns, so that a busy machine slows all of them; the quickest of all rounds counts, since
    disturbances only ever add. Each turn begins with `settle` calls that do not count, so that a small piece does not
    pay for what a large one left in the caches.
    """
    for piece in work.values():
        for _ in range(warm_up):
            piece()
    best = dict.fromkeys(work, float("inf"))
    for _ in range(rounds):
        for name, piece in work.items():
            for _ in range(settle):
                piece()
            began = time.process_time()
            for _ in range(calls):
                piece()
            best[name] = min(best[name], (time.process_time() - began) / calls)
    return best
