"""EPIR: micro-expression recognition, from a corpus or a video to an answer with a picture of why.

The names below are the public interface; each is imported on first use, so that `import epir` stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "load_corpus": "epir.datasets.registry",
    "prepare": "epir.maps.prepare",
    "load_maps": "epir.maps.mapset",
    "create_model": "epir.models.registry",
    "list_models": "epir.models.registry",
    "fit": "epir.training.fit",
    "evaluate": "epir.evaluation.run",
    "Recognizer": "epir.recognition.recognizer",
    "report": "epir.reports.page",
    "EpirError": "epir.core.errors",
}

__all__ = sorted(_HOME)

if TYPE_CHECKING:
    from epir.core.errors import EpirError as EpirError
    from epir.maps.mapset import load_maps as load_maps


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'epir' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
