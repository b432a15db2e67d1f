"""Output of the verbs: text or one JSON object on stdout, progress and warnings on stderr."""

import json
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import typer
from rich.console import Console

from epir.core.engines import Progress, Silent
from epir.core.words import duration

stdout = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 120)
stderr = Console(stderr=True, highlight=False, soft_wrap=True)

LEAST_LINE_GAP_S, MOST_LINE_GAP_S = 5.0, 60.0  # between two log lines; the gap grows with the elapsed time


def emit_json(value: Mapping[str, Any]) -> None:
    """Write one JSON object as the last thing on stdout."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def say(*lines: str) -> None:
    """Print lines on stdout, without rich markup."""
    for line in lines:
        stdout.print(line, markup=False)


def show(value: Mapping[str, Any], lines: Iterable[str], *, as_json: bool) -> None:
    """Print the result of a verb, as JSON or as text."""
    if as_json:
        emit_json(value)
    else:
        say(*lines)


def warn(*lines: str) -> None:
    """Print lines on stderr, without rich markup."""
    for line in lines:
        stderr.print(line, markup=False)


@contextmanager
def showing_progress(*, quiet: bool = False) -> Iterator[Progress]:
    """A progress bar on a terminal, plain lines otherwise; `quiet` shows nothing."""
    if stderr.is_terminal and not quiet:
        bar = Bar()
        try:
            yield bar
        finally:
            bar.finish()
    else:
        yield Lines(quiet=quiet)


class Bar:
    """Progress as a bar on stderr: task, steps, time left and the latest note."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None

    def start(self, task: str, total: int) -> None:
        """Draw a new bar below the finished one."""
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
        from rich.progress import Progress as RichProgress
        from rich.table import Column

        self.finish()
        one_line = partial(Column, no_wrap=True, overflow="ellipsis")
        self._bar = RichProgress(
            TextColumn("{task.description}", markup=False, table_column=one_line(max_width=30)),
            BarColumn(bar_width=8),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(compact=True),
            TextColumn(
                "{task.fields[note]}",
                style="dim",
                markup=False,
                table_column=one_line(ratio=1),  # the rest of the line
            ),
            console=stderr,
            expand=True,
        )
        self._bar.start()
        self._task = self._bar.add_task(task, total=total or None, note="")

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Advance the bar."""
        self._bar.update(self._task, advance=steps)
        if note:
            self._bar.update(self._task, note=note)

    def finish(self) -> None:
        """Stop drawing; the bar stays on the screen."""
        if self._bar is not None:
            self._bar.stop()


class Lines(Silent):
    """Progress as plain lines, for logs: the gap between two lines is a tenth of the elapsed time."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._task, self._total, self._done = "", 0, 0
        self._began = self._printed = 0.0

    def start(self, task: str, total: int) -> None:
        """Begin a task; `advance` prints its first line."""
        self._task, self._total, self._done = task, total, 0
        self._began = self._printed = time.monotonic()

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Print the status, unless the last line is too recent."""
        self._done += steps
        now = time.monotonic()
        elapsed = now - self._began
        gap = min(max(LEAST_LINE_GAP_S, elapsed / 10), MOST_LINE_GAP_S)
        is_last = bool(steps) and self._done >= self._total
        if self._quiet or not (is_last or now - self._printed >= gap):
            return
        self._printed = now
        tail = f", {duration(elapsed)}"
        if self._done < self._total:
            left = elapsed / self._done * (self._total - self._done) if self._done else None
            tail = "" if left is None else f", {duration(left)} left"
        sys.stderr.write(f"{self._task}: {self._done}/{self._total}{tail}{'  ' + note if note else ''}\n")


def command_line(context: typer.Context, **changed: Any) -> str:
    """The command line that was run, without options at their defaults; `changed` replaces values by name."""
    words = ["epir", str(context.info_name)]
    for parameter in context.command.params:
        value = changed.get(str(parameter.name), context.params.get(str(parameter.name)))
        if value in (None, [], ()) or value == parameter.default:
            continue
        values = value if isinstance(value, list | tuple) else [value]
        if parameter.param_type_name == "argument":
            words += map(str, values)
        elif value is True:
            words.append(parameter.opts[0])
        else:
            words += [word for item in values for word in (parameter.opts[0], str(item))]
    return shlex.join(words)
