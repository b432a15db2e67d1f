"""Every benchmark by area, and the versions and machine it ran on."""

import platform
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from epir.bench.ratio import Ratio
from epir.core.config import refuse_unknown
from epir.core.errors import ConfigError
from epir.core.processes import processor
from epir.core.progress import Progress, Silent

AREAS = {
    "model": "the paper's model against the machine's limit and against a plain Vision Transformer",
    "peers": "the other methods against epir",
    "onnx": "the exported model against eager torch",
    "preparation": "clips prepared per second",
    "folds": "two workers against one, and the share of a fold that is training",
}
ON_REQUEST = {  # accuracy, what needs an extra, or takes long: measured only when named
    "video": "frames per second of predict, and its memory on ten minutes of 1080p",
    "flow": "error of the optical flow against known motion",
    "spotting": "micro-expressions found in videos with known movements, and false alarms per minute",
    "rejector": "trains the rejector of spotting on synthetic scenes, and measures it on others",
    "synthetic": "faces found, error of the flow and maps per second of the synthetic corpus",
    "robustness": "score of given weights on perturbed maps, or on synthetic clips made into maps in twelve other ways",
    "damage": "which share of visibly damaged JPEGs and videos is refused or noted",
    "explanation": "whether occlusion and rollout find the patches that moved",
    "web": "the web server with many clients at once",
}
TAKES_INPUTS = ("flow", "spotting", "rejector", "synthetic", "explanation", "robustness")  # and settings


def measure(
    areas: Sequence[str] = (),
    *,
    quick: bool = False,
    inputs: Sequence[str] = (),
    changes: Sequence[str] = (),
    progress: Progress | None = None,
) -> dict[str, list[Ratio]]:
    """The ratios of each area of speed, or of the areas named; `inputs` and `changes` go to one that takes them."""
    for area in areas:
        refuse_unknown(area, {**AREAS, **ON_REQUEST}, what="benchmark")
    if (inputs or changes) and (len(areas) != 1 or areas[0] not in TAKES_INPUTS):
        raise ConfigError("inputs and --set belong to one area", fix=f"name it with --only: {', '.join(TAKES_INPUTS)}")
    progress = progress or Silent()
    chosen = [area for area in AREAS if not areas or area in areas] + [area for area in ON_REQUEST if area in areas]
    progress.start("measuring", len(chosen))
    results = {}
    for area in chosen:
        run: Callable[..., list[Ratio]] = import_module(f"epir.bench.{area}").measure
        given = {"inputs": inputs, "changes": changes} if area in TAKES_INPUTS else {}
        results[area] = run(quick=quick, **given)
        progress.advance(note=area)
    progress.finish()
    return results


def machine() -> dict[str, Any]:
    """What the numbers depend on, without anything that names the owner."""
    import torch

    return {"python": platform.python_version(), "torch": torch.__version__, "processor": processor()}
