"""Every benchmark by area, and the versions and machine it ran on."""

import platform
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from epir.bench.ratio import Ratio
from epir.core.config import refuse_unknown
from epir.core.processes import processor
from epir.core.progress import Progress, Silent

AREAS = {
    "model": "the paper's model against the machine's limit and against a plain Vision Transformer",
    "peers": "the other methods against epir",
    "onnx": "the exported model against eager torch",
    "preparation": "clips prepared per second",
    "folds": "two workers against one, and the share of a fold that is training",
    "web": "the web server with many clients at once",
}


def measure(
    areas: Sequence[str] = (), *, quick: bool = False, progress: Progress | None = None
) -> dict[str, list[Ratio]]:
    """The ratios of each area, or of the areas named."""
    for area in areas:
        refuse_unknown(area, AREAS, what="benchmark")
    progress = progress or Silent()
    chosen = [area for area in AREAS if not areas or area in areas]
    progress.start("measuring", len(chosen))
    results = {}
    for area in chosen:
        run: Callable[..., list[Ratio]] = import_module(f"epir.bench.{area}").measure
        results[area] = run(quick=quick)
        progress.advance(note=area)
    progress.finish()
    return results


def machine() -> dict[str, Any]:
    """Versions and processor, without anything that names the owner."""
    import torch

    return {"python": platform.python_version(), "torch": torch.__version__, "processor": processor()}
