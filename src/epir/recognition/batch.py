"""Answer many inputs in one call; an input that fails does not stop the others."""

import glob
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from epir.core.engines import Progress, Silent
from epir.core.errors import EpirError, machine_fault
from epir.core.output import ANSWER, claimed
from epir.recognition.answer import Answer
from epir.recognition.outputs import write_outputs
from epir.recognition.recognizer import Recognizer
from epir.recognition.source import is_picture, output_name, source_name, source_paths


@dataclass(frozen=True)
class Batch:
    """The answers and errors of many inputs."""

    answers: tuple[Answer, ...]
    errors: tuple[tuple[str, EpirError], ...]  # by name of the input
    written: tuple[Path, ...] = ()
    stopped: BaseException | None = None  # Ctrl-C or SIGTERM, after which no further input was read

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; an answer holds every movement."""
        return {
            "answers": [answer.to_dict_of_all() for answer in self.answers],
            "errors": error_values(self.errors),
            "written": [str(path) for path in self.written],
            **({"stopped": True} if self.stopped is not None else {}),
        }


def error_values(errors: Sequence[tuple[str, EpirError]]) -> list[dict[str, str]]:
    """The failed inputs and their errors as plain values."""
    return [{"input": name, "problem": error.problem, "fix": error.fix} for name, error in errors]


def answer_all(
    recognizer: Recognizer,
    inputs: Sequence[str],
    *,
    every: bool = False,
    out: str | Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Batch:
    """Answer every input; glob patterns are expanded, and pictures form pairs (onset, apex).

    `options` are those of `Recognizer.predict`. With `out`, each input gets a folder there, which is claimed before
    the input is read. A batch that Ctrl-C or SIGTERM stops returns the answers so far.
    """
    times = {name: options.get(name) for name in ("fps", "start", "end")}
    progress = progress or Silent()
    answers, errors, written = [], [], []
    names: set[str] = set()
    stopped: BaseException | None = None
    gathered = gather_inputs(inputs)
    for number, source in enumerate(gathered, start=1):
        try:
            prefixed = PrefixedProgress(progress, Path(source_paths(source)[0]).name, number, len(gathered))
            with ExitStack() as claims:
                if out is not None:
                    folder = Path(out) / unused_name(output_name(source), names)
                    claims.enter_context(claimed(folder, ANSWER, force=force, inputs=source_paths(source)))
                answer = recognizer.predict(source, **options, progress=prefixed)
                if out is not None:
                    written += write_outputs(
                        source, answer, folder, **times, every=every, force=force, progress=prefixed
                    )
            answers.append(answer)
        except (EpirError, OSError) as error:  # the next input may still succeed
            known = error if isinstance(error, EpirError) else machine_fault(error)
            errors.append((source_name(source), known))
        except (KeyboardInterrupt, SystemExit) as stop:
            stopped = stop
            break
    return Batch(tuple(answers), tuple(errors), tuple(written), stopped)


class PrefixedProgress:
    """Progress of one input among several: the names of its tasks begin with `3 of 10, NAME: `."""

    def __init__(self, progress: Progress, name: str, number: int, count: int) -> None:
        self._progress = progress
        self._prefix = f"{number} of {count}, {name}: " if count > 1 else ""

    def start(self, task: str, total: int) -> None:
        """Begin a task of this input."""
        self._progress.start(f"{self._prefix}{task}", total)

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Count finished steps of the task."""
        self._progress.advance(steps, note)

    def finish(self) -> None:
        """End the task."""
        self._progress.finish()


def gather_inputs(inputs: Sequence[str]) -> list[str | tuple[str, str]]:
    """The inputs in order, with glob patterns expanded and pictures paired.

    A pattern without matches and a picture without a partner stay unchanged: reading them reports the error.
    """
    gathered: list[str | tuple[str, str]] = []
    waiting: str | None = None
    for name in inputs:
        is_pattern = glob.has_magic(name) and not Path(name).exists()
        matches = sorted(glob.glob(name, recursive=True)) if is_pattern else []
        for path in matches or [name]:
            if not is_picture(path):
                gathered.append(path)
            elif waiting is None:
                waiting = path
            else:
                gathered.append((waiting, path))
                waiting = None
    return gathered if waiting is None else [*gathered, waiting]


def unused_name(stem: str, used: set[str]) -> str:
    """The stem, or `stem-2`, `stem-3` and so on if it is taken; adds the name to `used`."""
    name, number = stem, 2
    while name in used:
        name, number = f"{stem}-{number}", number + 1
    used.add(name)
    return name
