"""Every benchmark by area, and the versions and machine it ran on."""

import platform
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from epir.bench.ratio import Ratio
from epir.core.config import check_known
from epir.core.errors import ConfigError
from epir.core.processes import processor
from epir.core.progress import Progress, Silent

SPEED = {  # measured where no area is named
    "model": "speed:measure_model",  # against the rate of matrix multiplication, HTNet and a plain Vision Transformer
    "onnx": "speed:measure_onnx",  # the exported model against eager torch
    "preparation": "speed:measure_preparation",  # clips prepared per second
    "folds": "speed:measure_folds",  # two workers against one, and the share of a fold that is training
}
ON_REQUEST = {
    "video": "video:measure",  # frames per second of predict, and its memory on ten minutes of 1080p
    "flow": "flow:measure",  # error of the optical flow against known motion
    "spotting": "spotting:measure",  # known movements that are found in videos, and false alarms per minute
    "robustness": "robustness:measure",  # score of given weights on perturbed maps, or on synthetic clips
}
TAKES_INPUTS = ("flow", "spotting", "robustness")  # and settings


def measure(
    areas: Sequence[str] = (),
    *,
    quick: bool = False,
    inputs: Sequence[str] = (),
    changes: Sequence[str] = (),
    progress: Progress | None = None,
) -> dict[str, list[Ratio]]:
    """The ratios of each area of speed, or of the areas named; `inputs` and `changes` go to one that takes them."""
    homes = {**SPEED, **ON_REQUEST}
    for area in areas:
        check_known(area, homes, what="benchmark")
    if (inputs or changes) and (len(areas) != 1 or areas[0] not in TAKES_INPUTS):
        raise ConfigError("inputs and --set belong to one area", fix=f"name it with --only: {', '.join(TAKES_INPUTS)}")
    progress = progress or Silent()
    chosen = [area for area in homes if area in (areas or SPEED)]
    progress.start("measuring", len(chosen))
    results = {}
    for area in chosen:
        module, _, name = homes[area].partition(":")
        run: Callable[..., list[Ratio]] = getattr(import_module(f"epir.bench.{module}"), name)
        given = {"inputs": inputs, "changes": changes} if area in TAKES_INPUTS else {}
        results[area] = run(quick=quick, **given)
        progress.advance(note=area)
    progress.finish()
    return results


def machine() -> dict[str, Any]:
    """What the numbers depend on, without anything that names the owner."""
    import torch

    return {"python": platform.python_version(), "torch": torch.__version__, "processor": processor()}
