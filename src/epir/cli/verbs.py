"""Every verb of the command line, in the order of `epir --help`."""

from collections.abc import Callable
from typing import Any

from epir.cli.ablate import ablate
from epir.cli.bench import bench
from epir.cli.check import check
from epir.cli.compare import compare
from epir.cli.demo import demo
from epir.cli.evaluate import evaluate
from epir.cli.export import export
from epir.cli.predict import predict
from epir.cli.prepare import prepare
from epir.cli.report import report
from epir.cli.reproduce import reproduce
from epir.cli.serve import serve
from epir.cli.synth import synth
from epir.cli.train import train

VERBS: tuple[Callable[..., Any], ...] = (
    demo,
    synth,
    check,
    prepare,
    evaluate,
    ablate,
    reproduce,
    compare,
    report,
    train,
    predict,
    export,
    serve,
    bench,
)
