"""EPIR: micro-expression recognition, from a corpus or a video to an answer with a picture of why.

The names below are the public API. Each is imported on first use, which keeps `import epir` fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from epir.core.engines import Engine as Engine
    from epir.core.errors import EpirError as EpirError
    from epir.core.records import Clip as Clip
    from epir.core.records import Prediction as Prediction
    from epir.datasets.registry import load_corpus as load_corpus
    from epir.evaluation.classifier import EpirClassifier as EpirClassifier
    from epir.evaluation.comparison import compare as compare
    from epir.evaluation.run import evaluate as evaluate
    from epir.evaluation.run import evaluate_zero_shot as evaluate_zero_shot
    from epir.evaluation.scores import score_predictions as score_predictions
    from epir.final.export import export as export
    from epir.final.train import train as train
    from epir.maps.mapset import MapSet as MapSet
    from epir.maps.mapset import load_maps as load_maps
    from epir.maps.mapset import save_maps as save_maps
    from epir.maps.prepare import prepare as prepare
    from epir.models.predict import predict_maps as predict_maps
    from epir.models.registry import create_model as create_model
    from epir.models.registry import find_method as find_method
    from epir.models.registry import list_models as list_models
    from epir.recognition.answer import Answer as Answer
    from epir.recognition.recognizer import Recognizer as Recognizer
    from epir.recognition.recognizer import predict as predict
    from epir.reports.page import report as report
    from epir.spotting.spotter import spot_frames as spot_frames
    from epir.synthetic.corpus import synth as synth
    from epir.synthetic.maps import synthetic_maps as synthetic_maps
    from epir.training.data import LabelledMaps as LabelledMaps
    from epir.training.recipe import TrainingSettings as TrainingSettings
    from epir.training.train import fit as fit

__version__ = "0.3.0"

_HOME = {
    "Answer": "epir.recognition.answer",
    "Clip": "epir.core.records",
    "Engine": "epir.core.engines",
    "EpirClassifier": "epir.evaluation.classifier",
    "EpirError": "epir.core.errors",
    "LabelledMaps": "epir.training.data",
    "MapSet": "epir.maps.mapset",
    "Prediction": "epir.core.records",
    "Recognizer": "epir.recognition.recognizer",
    "TrainingSettings": "epir.training.recipe",
    "compare": "epir.evaluation.comparison",
    "create_model": "epir.models.registry",
    "evaluate": "epir.evaluation.run",
    "evaluate_zero_shot": "epir.evaluation.run",
    "export": "epir.final.export",
    "find_method": "epir.models.registry",
    "fit": "epir.training.train",
    "list_models": "epir.models.registry",
    "load_corpus": "epir.datasets.registry",
    "load_maps": "epir.maps.mapset",
    "predict": "epir.recognition.recognizer",
    "predict_maps": "epir.models.predict",
    "prepare": "epir.maps.prepare",
    "report": "epir.reports.page",
    "save_maps": "epir.maps.mapset",
    "score_predictions": "epir.evaluation.scores",
    "spot_frames": "epir.spotting.spotter",
    "synth": "epir.synthetic.corpus",
    "synthetic_maps": "epir.synthetic.maps",
    "train": "epir.final.train",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'epir' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
