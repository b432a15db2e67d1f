"""The benchmarks by area, and the versions and machine they ran on."""

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

from epir.core.config import check_known
from epir.core.engines import Progress, Silent, cores, processor, source_commit
from epir.core.errors import ConfigError

SPEED = {  # the default areas
    "model": "speed:measure_model",  # compared with matrix multiplication, HTNet and a plain Vision Transformer
    "onnx": "speed:measure_onnx",  # the exported model compared with eager torch
    "preparation": "speed:measure_preparation",  # clips prepared per second
    "folds": "speed:measure_folds",  # two workers compared with one, and the share of a fold spent training
}
ON_REQUEST = {
    "video": "video:measure",  # frames per second of predict, and its memory on ten minutes of 1080p
    "flow": "flow:measure",  # error of the optical flow on known motion
    "spotting": "spotting:measure",  # recall of known movements in videos, and false alarms per minute
    "robustness": "robustness:measure",  # score of given weights on perturbed maps, or on synthetic clips
}
TAKES_INPUTS = ("flow", "spotting", "robustness")  # and settings


@dataclass(frozen=True)
class Ratio:
    """One line of the benchmark: a score, or a ratio of two times or rates of the same run."""

    name: str
    value: float
    target: float | None  # minimum; None: no target
    detail: str

    @property
    def reached(self) -> bool | None:
        """Whether the target is met; None without one."""
        return None if self.target is None else self.value >= self.target


def measure(
    areas: Sequence[str] = (),
    *,
    quick: bool = False,
    inputs: Sequence[str] = (),
    changes: Sequence[str] = (),
    progress: Progress | None = None,
) -> dict[str, list[Ratio]]:
    """Measure the given areas, or those of speed; `inputs` and `changes` need a single area that takes them."""
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
        options = {"inputs": inputs, "changes": changes} if area in TAKES_INPUTS else {}
        results[area] = run(quick=quick, **options)
        progress.advance(note=area)
    progress.finish()
    return results


def summary(results: Mapping[str, Sequence[Ratio]]) -> dict[str, Any]:
    """The ratios, versions and machine for `--json`, without anything that identifies the owner."""
    import torch

    from epir import __version__

    commit = {"commit": source} if (source := source_commit()) else {}
    versions = {"epir": __version__, **commit, "python": platform.python_version(), "torch": torch.__version__}
    ratios = [
        {"area": area, **asdict(ratio), "reached": ratio.reached} for area, each in results.items() for ratio in each
    ]
    return {"versions": versions, "machine": {"processor": processor(), "cores": cores()}, "ratios": ratios}
