"""The command `epir`: its verbs and its exit codes.

0 done, 1 `check` found defects, 2 something the user can put right, 130 interrupted.
Each verb is a file of its own and imports what is heavy inside its function, so that `--help` is quick.
"""

import os
import sys
from typing import Annotated

import typer

from epir import __version__
from epir.cli.verbs import VERBS
from epir.core.errors import EpirError

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
    app.command(verb.__name__)(verb)


def main() -> None:
    """Run the command line; errors that the user can put right take two lines, bugs show their traceback."""
    try:
        app(standalone_mode=True)
    except EpirError as error:
        sys.stderr.write(f"{error.problem}\nfix: {error.fix}\n")
        sys.exit(2)
    except SystemExit as stop:
        if stop.code == INTERRUPTED:  # typer has caught the Ctrl-C already, and says nothing
            sys.stderr.write("interrupted; whatever can be resumed goes on with the same command\n")
        raise
    except BrokenPipeError:  # `epir ... | head`: the reader has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


if __name__ == "__main__":
    main()
