"""The command `epir`: its verbs and its exit codes.

0 done, 1 `check` found defects, 2 something the user can correct, 130 interrupted.
Each verb is a file of its own and imports what is heavy inside its function, so that `--help` is fast.
"""

import os
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any

import typer

from epir import __version__
from epir.cli.verbs import VERBS
from epir.core.errors import EpirError, EpirWarning

INTERRUPTED = 130

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


for verb in VERBS:
    app.command(verb.__name__.replace("_", "-"))(verb)


def main() -> None:
    """Run the command line; errors that the user can correct take two lines, bugs show their traceback."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", EpirWarning)
        warnings.showwarning = _notes(warnings.showwarning)
        _run()


def _run() -> None:
    try:
        app(standalone_mode=True)
    except EpirError as error:
        sys.stderr.write(f"{error.problem}\nfix: {error.fix}\n")
        sys.exit(2)
    except SystemExit as stop:
        if stop.code == INTERRUPTED:  # typer has caught the Ctrl-C already, and prints nothing
            sys.stderr.write("Interrupted. Run the same command to resume.\n")
        raise
    except BrokenPipeError:  # `epir ... | head`: the reader has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


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
