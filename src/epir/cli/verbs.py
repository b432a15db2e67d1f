"""Every verb of the command line, grouped by what a user wants, in the order of `epir --help`."""

from collections.abc import Callable, Mapping
from typing import Any

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

Verb = Callable[..., Any]

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


def command_name(verb: Verb) -> str:
    """What the user types: `list_` is `list`, `import_annotations` is `import-annotations`."""
    return verb.__name__.strip("_").replace("_", "-")
