"""The verbs of the command `epir`, in the order of its help.

Each verb imports heavy modules inside its function, which keeps `--help` fast.
"""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer
from typer import Option

from epir import __version__
from epir.cli.annotate import agree, annotate
from epir.cli.check import check
from epir.cli.demo import demo
from epir.cli.evaluate import evaluate
from epir.cli.imports import import_annotations, import_maps, import_predictions
from epir.cli.listing import list_, new
from epir.cli.predict import predict
from epir.cli.prepare import align, prepare
from epir.cli.report import bench, compare, report
from epir.cli.score import score
from epir.cli.series import ablate, benchmark, reproduce
from epir.cli.serve import serve
from epir.cli.spot import spot
from epir.cli.synth import synth
from epir.cli.train import calibrate, export, train

Verb = Callable[..., Any]

# The panels of `epir --help`, in order.
PANELS: Mapping[str, tuple[Verb, ...]] = {
    "First steps": (demo, list_),
    "Your video": (predict, spot, annotate, agree, serve, export),
    "Your corpus": (
        *(import_annotations, check, prepare, import_maps, align),
        *(evaluate, benchmark, ablate, reproduce),
        *(train, calibrate, synth, new),
    ),
    "Your results": (report, score, compare, import_predictions, bench),
}
VERBS: tuple[Verb, ...] = tuple(verb for verbs in PANELS.values() for verb in verbs)

app = typer.Typer(
    name="epir",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_set: bool) -> None:
    if is_set:
        typer.echo(f"epir {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Recognise micro-expressions: from a corpus or a video to an answer with a picture of why."""


def command_name(verb: Verb) -> str:
    """The name a user types: `list_` becomes `list`, `import_annotations` becomes `import-annotations`."""
    return verb.__name__.strip("_").replace("_", "-")


for panel, verbs in PANELS.items():
    for verb in verbs:
        app.command(command_name(verb), rich_help_panel=panel)(verb)
