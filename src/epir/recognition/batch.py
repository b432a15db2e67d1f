"""Many inputs in one call, each failing alone."""

import glob
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from epir.core.engines import Progress, Silent
from epir.core.errors import EpirError, FrameError, machine_fault
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
            "errors": [{"input": name, "problem": error.problem, "fix": error.fix} for name, error in self.errors],
            "written": [str(path) for path in self.written],
            **({"stopped": True} if self.stopped is not None else {}),
        }


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
            if isinstance(source, FailedInput):
                raise source.error
            told = PrefixedProgress(progress, source, number, len(gathered))
            with ExitStack() as claims:
                if out is not None:
                    folder = Path(out) / _folder_name(source, names)
                    claims.enter_context(claimed(folder, ANSWER, force=force, inputs=source_paths(source)))
                answer = recognizer.predict(source, **options, progress=told)
                if out is not None:
                    written += write_outputs(source, answer, folder, **times, every=every, force=force, progress=told)
            answers.append(answer)
        except EpirError as error:
            errors.append((source.name if isinstance(source, FailedInput) else source_name(source), error))
        except OSError as error:  # of the machine or the file: the next input may be spared
            errors.append((source_name(source), machine_fault(error)))
        except (KeyboardInterrupt, SystemExit) as stop:
            stopped = stop
            break
    return Batch(tuple(answers), tuple(errors), tuple(written), stopped)


class PrefixedProgress:
    """Progress of one input among several: its tasks begin with `3 of 10, NAME: `."""

    def __init__(self, progress: Progress, source: str | tuple[str, str], number: int, count: int) -> None:
        self._progress = progress
        self._head = f"{number} of {count}, {Path(source_paths(source)[0]).name}: " if count > 1 else ""

    def start(self, task: str, total: int) -> None:
        """A task of this input begins."""
        self._progress.start(f"{self._head}{task}", total)

    def advance(self, steps: int = 1, note: str = "") -> None:
        """Some steps of it are done."""
        self._progress.advance(steps, note)

    def finish(self) -> None:
        """The task has ended."""
        self._progress.finish()


@dataclass(frozen=True)
class FailedInput:
    """An input that cannot even be tried."""

    name: str
    error: EpirError


def gather_inputs(inputs: Sequence[str]) -> list[str | tuple[str, str] | FailedInput]:
    """The inputs with patterns spelt out and pictures in pairs, in the order given."""
    gathered: list[str | tuple[str, str] | FailedInput] = []
    waiting: str | None = None
    for each in inputs:
        matches = [each]
        if glob.has_magic(each) and not Path(each).exists():
            matches = sorted(glob.glob(each, recursive=True))
            if not matches:
                error = FrameError(f"nothing matches {each}", fix="check the pattern")
                gathered.append(FailedInput(each, error))
        for path in matches:
            if not is_picture(path):
                gathered.append(path)
            elif waiting is None:
                waiting = path
            else:
                gathered.append((waiting, path))
                waiting = None
    if waiting is not None:
        error = FrameError(
            f"{waiting} is one picture: there is no apex to go with it", fix="give pictures in pairs: onset apex"
        )
        gathered.append(FailedInput(waiting, error))
    return gathered


def _folder_name(source: str | tuple[str, str], used: set[str]) -> str:
    """A folder name for an input, different from those before it."""
    stem = Path(source if isinstance(source, str) else source[1]).stem or "answer"
    name, number = stem, 2
    while name in used:
        name, number = f"{stem}-{number}", number + 1
    used.add(name)
    return name
