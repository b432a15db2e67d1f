"""Progress of long work, whatever shows it: a terminal, a log, a web page or nothing."""

from typing import Protocol


class Progress(Protocol):
    """Receives the steps of a task; the command line draws a bar from it."""

    def start(self, task: str, total: int) -> None:
        """A task of `total` steps begins (any task before it has ended)."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Some steps are done; `note` is the current status."""

    def finish(self) -> None:
        """The task has ended."""


class Silent:
    """Shows nothing: the default of library calls."""

    def start(self, task: str, total: int) -> None:
        """Ignore it."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Ignore it."""

    def finish(self) -> None:
        """Ignore it."""
