"""Where a run was made: versions, machine and maps; no name of a host or a person."""

import os
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from epir import __version__
from epir.evaluation.local import cores
from epir.maps.mapset import MapSet

PACKAGES = ("torch", "numpy", "scikit-learn", "joblib", "ray")


def describe_environment(
    sets: Sequence[MapSet], run: Path, *, engine: str, workers: int, device: str
) -> dict[str, Any]:
    """The environment of a run; the places of the map sets are told relative to the run folder."""
    return {
        "versions": {"epir": __version__, "python": platform.python_version()} | _installed(),
        "machine": {
            "system": platform.system(),
            "kind": platform.machine(),
            "processor": _processor(),
            "cores": cores(),
        },
        "device": device,
        "engine": engine,
        "workers": workers,
        "maps": [
            {
                "folder": os.path.relpath(mapset.folder, run) if mapset.folder else "",
                "digest": mapset.digest,
                "clips": len(mapset),
                "size": mapset.size,
                "recipe": dict(mapset.meta["recipe"]),
            }
            for mapset in sets
        ],
    }


def _installed() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue  # an extra that is not installed
    return found


def _processor() -> str:
    """The processor's model, where the system tells it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
