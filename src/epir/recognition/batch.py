"""Many inputs in one call, each failing alone."""

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
from epir.recognition.source import is_picture, source_name, source_paths


@dataclass(frozen=True)
class Batch:
    """What became of each input."""

    answers: tuple[Answer, ...]
    errors: tuple[tuple[str, EpirError], ...]  # name of the input, and why it failed
    written: tuple[Path, ...] = ()
    stopped: BaseException | None = None  # by Ctrl-C or SIGTERM: inputs after these were not looked at

    def to_dict(self) -> dict[str, Any]:
        """Answers and errors as plain values for JSON; an answer holds every movement."""
        return {
            "answers": [answer.to_dict_of_all() for answer in self.answers],
            "errors": error_values(self.errors),
            "written": [str(path) for path in self.written],
            **({"stopped": True} if self.stopped is not None else {}),
        }


def error_values(errors: Sequence[tuple[str, EpirError]]) -> list[dict[str, str]]:
    """Inputs without an answer and why, as plain values."""
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
    """Answer for every input; patterns are spelt out, pictures are taken in pairs (onset, apex).

    `options` are those of `Recognizer.predict`. A folder in `out` is claimed before its input is looked at. What stops
    the batch is kept in `stopped`, beside the answers that were ready.
    """
    times = {name: options.get(name) for name in ("start", "end")}
    progress = progress or Silent()
    answers, errors, written = [], [], []
    names: set[str] = set()
    stopped: BaseException | None = None
    gathered = gather_inputs(inputs)
    for number, source in enumerate(gathered, start=1):
        try:
            told = PrefixedProgress(progress, Path(source_paths(source)[0]).name, number, len(gathered))
            with ExitStack() as claims:
                if out is not None:
                    stem = Path(source if isinstance(source, str) else source[1]).stem or "answer"
                    folder = Path(out) / unused_name(stem, names)
                    claims.enter_context(claimed(folder, ANSWER, force=force, inputs=source_paths(source)))
                answer = recognizer.predict(source, **options, progress=told)
                if out is not None:
                    written += write_outputs(source, answer, folder, **times, every=every, force=force, progress=told)
            answers.append(answer)
        except (EpirError, OSError) as error:  # of the machine or the file: the next input may be spared
            known = error if isinstance(error, EpirError) else machine_fault(error)
            errors.append((source_name(source), known))
        except (KeyboardInterrupt, SystemExit) as stop:
            stopped = stop
            break
    return Batch(tuple(answers), tuple(errors), tuple(written), stopped)


class PrefixedProgress:
    """Progress of one input among several: its tasks begin with `3 of 10, NAME: `."""

    def __init__(self, progress: Progress, name: str, number: int, count: int) -> None:
        self._progress = progress
        self._head = f"{number} of {count}, {name}: " if count > 1 else ""

    def start(self, task: str, total: int) -> None:
        """A task of this input begins."""
        self._progress.start(f"{self._head}{task}", total)

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Some steps of it are done."""
        self._progress.advance(steps, note)

    def finish(self) -> None:
        """The task has ended."""
        self._progress.finish()


def gather_inputs(inputs: Sequence[str]) -> list[str | tuple[str, str]]:
    """The inputs with patterns spelt out and pictures in pairs, in the order given.

    A pattern that matches nothing and a picture that is left over stay as they are: reading them says what is wrong.
    """
    gathered: list[str | tuple[str, str]] = []
    waiting: str | None = None
    for each in inputs:
        is_pattern = glob.has_magic(each) and not Path(each).exists()
        matches = sorted(glob.glob(each, recursive=True)) if is_pattern else []
        for path in matches or [each]:
            if not is_picture(path):
                gathered.append(path)
            elif waiting is None:
                waiting = path
            else:
                gathered.append((waiting, path))
                waiting = None
    return gathered if waiting is None else [*gathered, waiting]


def unused_name(stem: str, used: set[str]) -> str:
    """The stem, or `stem-2`, `stem-3` and so on where it is used; the name is used from now on."""
    name, number = stem, 2
    while name in used:
        name, number = f"{stem}-{number}", number + 1
    used.add(name)
    return name
