"""The command `epir`: its verbs and its exit codes.

0 done, 1 `check` found defects, 2 something the user can correct, 130 interrupted, 143 terminated.
Each verb is a file of its own and imports what is heavy inside its function, so that `--help` is fast.
"""

import os
import signal
import sys
import warnings
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Annotated, Any

import typer

from epir import __version__
from epir.cli.ablate import ablate
from epir.cli.align import align
from epir.cli.bench import bench
from epir.cli.calibrate import calibrate
from epir.cli.check import check
from epir.cli.compare import compare
from epir.cli.demo import demo
from epir.cli.evaluate import evaluate
from epir.cli.export import export
from epir.cli.import_annotations import import_annotations
from epir.cli.join import join
from epir.cli.listing import list_
from epir.cli.predict import predict
from epir.cli.prepare import prepare
from epir.cli.report import report
from epir.cli.reproduce import reproduce
from epir.cli.score import score
from epir.cli.serve import serve
from epir.cli.spot import spot
from epir.cli.synth import synth
from epir.cli.train import train
from epir.core.errors import EpirError, EpirWarning, machine_fault

Verb = Callable[..., Any]

# The verbs by what a user wants, in the order of `epir --help`.
PANELS: Mapping[str, tuple[Verb, ...]] = {
    "First steps": (demo, list_),
    "Your video": (predict, spot, serve, export),
    "Your corpus": (
        import_annotations,
        check,
        prepare,
        join,
        align,
        evaluate,
        ablate,
        reproduce,
        train,
        calibrate,
        synth,
    ),
    "Your results": (report, score, compare, bench),
}
VERBS: tuple[Verb, ...] = tuple(verb for verbs in PANELS.values() for verb in verbs)

INTERRUPTED, TERMINATED = 130, 143
RESUMING = ("demo", "prepare", "evaluate", "ablate", "reproduce", "train", "spot")  # they resume after an interruption

app = typer.Typer(
    name="epir",
    help="Recognise micro-expressions: from a corpus or a video to an answer with a picture of why.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"epir {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Recognise micro-expressions: from a corpus or a video to an answer with a picture of why."""


def command_name(verb: Verb) -> str:
    """What the user types: `list_` is `list`, `import_annotations` is `import-annotations`."""
    return verb.__name__.strip("_").replace("_", "-")


for panel, verbs in PANELS.items():
    for verb in verbs:
        app.command(command_name(verb), rich_help_panel=panel)(verb)


def main() -> None:
    """Run the command line; errors that the user can correct take two lines, bugs show their traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # names of files that are not UTF-8 are printed as they are
            stream.reconfigure(errors="surrogateescape")
    before = signal.signal(signal.SIGTERM, terminate)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", EpirWarning)
            warnings.showwarning = _notes(warnings.showwarning)
            _run()
    finally:
        signal.signal(signal.SIGTERM, before)


def terminate(number: int, frame: FrameType | None) -> None:
    """End in good order: what is half written is removed on the way out."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
    sys.exit(TERMINATED)


def _run() -> None:
    try:
        app(standalone_mode=True)
    except EpirError as error:
        _fail(error)
    except KeyboardInterrupt:  # before typer, which catches it else, has begun
        _tell_of_stop(INTERRUPTED)
        sys.exit(INTERRUPTED)
    except SystemExit as stop:
        if stop.code in (INTERRUPTED, TERMINATED):  # typer prints nothing
            _tell_of_stop(stop.code)
        raise
    except BrokenPipeError:  # `epir ... | head`: the reader has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except MemoryError:
        _fail(EpirError("memory ran out", fix="use fewer --workers, or smaller inputs"))
    except OSError as error:
        _fail(machine_fault(error))


def _tell_of_stop(code: int | str | None) -> None:
    word = "Interrupted" if code == INTERRUPTED else "Terminated"
    verb = next((name for name in sys.argv[1:] if not name.startswith("-")), "")
    resumes = verb in RESUMING or (verb == "predict" and "--table" in sys.argv)
    what = "to resume" if resumes else "to start again"
    sys.stderr.write(f"{word}.\nRun the same command {what}.\n")
    _leave_quietly()


def _fail(error: EpirError) -> None:
    sys.stderr.write(f"{error.problem}\nfix: {error.fix}\n")
    sys.exit(2)


def _leave_quietly() -> None:
    """Say nothing more: worker processes that are ended in the middle of their work leave warnings behind."""
    warnings.simplefilter("ignore")


def _notes(show_others: Callable[..., None]) -> Callable[..., None]:
    """A `warnings.showwarning` that prints our own warnings as one line each, once, and leaves others as they were."""
    seen = set()

    def show(message: Warning | str, category: type[Warning], *rest: Any) -> None:
        if not issubclass(category, EpirWarning):
            show_others(message, category, *rest)
        elif str(message) not in seen:
            seen.add(str(message))
            sys.stderr.write(f"note: {message}\n")

    return show


if __name__ == "__main__":
    main()
