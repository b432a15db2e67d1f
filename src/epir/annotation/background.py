"""Spotting in a process of its own, so that the page answers at once and what is heavy is loaded there alone."""

import multiprocessing
import os
from multiprocessing.process import BaseProcess
from pathlib import Path

from epir.core.engines import start_worker
from epir.core.errors import OutputError

GENTLY = 10  # of nice: the page comes first


def start_spotting(folder: Path, workers: int | None = None) -> BaseProcess:
    """Spot what is missing in a study; the process ends with this one, however that ends."""
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_spot, args=(str(folder), workers, os.getpid()), name="epir spotting")
    process.start()
    return process


def _spot(folder: str, workers: int | None, parent: int) -> None:
    start_worker(parent)
    os.nice(GENTLY)
    from epir.annotation.propose import spot_study

    try:
        spot_study(Path(folder), workers)
    except OutputError:  # the server of another coder is spotting this study already
        return
