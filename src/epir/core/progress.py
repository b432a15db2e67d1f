"""How long work tells that it is getting on, without knowing about terminals."""

from typing import Protocol


class Progress(Protocol):
    """Told about the steps of a piece of work; the command line draws a bar from it."""

    def start(self, task: str, total: int) -> None:
        """A task of `total` steps begins (any task before it has ended)."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Some steps are done; `note` says something about the latest."""

    def finish(self) -> None:
        """The task has ended."""


class Silent:
    """Progress that nobody watches: what library calls use unless told otherwise."""

    def start(self, task: str, total: int) -> None:
        """Ignore it."""

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Ignore it."""

    def finish(self) -> None:
        """Ignore it."""
