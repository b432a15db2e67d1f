"""Every model by name: the presets of EPIR first, then the baselines.

A model is a network (`epir.models.network.Network`, trained by gradient) or a pipeline
(`epir.models.baselines.pipeline.Pipeline`, features and a linear SVM). A new baseline is one file and one line here.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from epir.core.config import from_dict, refuse_unknown, to_dict
from epir.core.errors import ConfigError
from epir.models.baselines.base import BaselineSettings
from epir.models.settings import ABOUT, NAMED, SHIPPED, ModelSettings, preset

if TYPE_CHECKING:
    from epir.models.baselines.pipeline import Pipeline
    from epir.models.network import Network

AnySettings = ModelSettings | BaselineSettings


class _Baseline(NamedTuple):
    """Where a baseline is: its file, its class (whose settings class stands beside it), and of which kind it is."""

    module: str
    model: str
    settings: str
    is_pipeline: bool = False

    def load(self, name: str) -> Any:
        return getattr(import_module(f"epir.models.baselines.{self.module}"), name)


_BASELINES = {
    "ststnet": _Baseline("ststnet", "Ststnet", "StstnetSettings"),
    "off-apexnet": _Baseline("off_apexnet", "OffApexNet", "OffApexNetSettings"),
    "dual-inception": _Baseline("dual_inception", "DualInception", "DualInceptionSettings"),
    "capsulenet": _Baseline("capsulenet", "CapsuleNet", "CapsuleNetSettings"),
    "rcn-a": _Baseline("rcn", "RcnA", "RcnASettings"),
    "htnet": _Baseline("htnet", "Htnet", "HtnetSettings"),
    "resnet18-flow": _Baseline("resnet", "ResnetFlow", "ResnetSettings"),
    "bi-woof": _Baseline("bi_woof", "BiWoof", "BiWoofSettings", is_pipeline=True),
    "mdmo": _Baseline("mdmo", "Mdmo", "MdmoSettings", is_pipeline=True),
    "lbp-top": _Baseline("lbp_top", "LbpTop", "LbpTopSettings", is_pipeline=True),
}


def list_models() -> tuple[str, ...]:
    """Every name that `create_model` and `--model` know: the presets of EPIR first, then the baselines.

    >>> "epir" in list_models(), "ststnet" in list_models()
    (True, True)
    """
    return (*NAMED, *_BASELINES)


def about_models() -> dict[str, tuple[str, str]]:
    """Of each model the module that has it, and a line about it; an empty line: the module's own first line is one."""
    presets = {name: ("epir.models.epir", ABOUT[name]) for name in NAMED}
    return presets | {name: (f"epir.models.baselines.{each.module}", "") for name, each in _BASELINES.items()}


def is_pipeline(name: str) -> bool:
    """Whether `name` is a classical pipeline (features and a linear SVM) and not a network."""
    refuse_unknown(name, list_models(), what="model")
    return name in _BASELINES and _BASELINES[name].is_pipeline


def model_settings(name: str = "epir", **changes: Any) -> AnySettings:
    """The settings of the model `name`, with some of them changed: `model_settings("epir", classes=5)`."""
    return settings_from_dict({"name": name} | changes)


def settings_from_dict(values: Mapping[str, Any]) -> AnySettings:
    """The settings that `core.config.to_dict` made these values from; `name` says of which model.

    What is left out has the value of that model, so that `{"name": "ststnet"}` is enough.
    """
    name = values.get("name")
    if not isinstance(name, str):
        raise ConfigError("the settings of a model need its name", fix="write name = 'epir', or that of another model")
    refuse_unknown(name, list_models(), what="model")
    if name in _BASELINES:
        baseline = _BASELINES[name]
        return from_dict(baseline.load(baseline.settings), values, section="model")
    return from_dict(ModelSettings, to_dict(preset(name)) | dict(values), section="model")


def build(settings: AnySettings) -> "Network | Pipeline":
    """A new model with these settings: a network with random weights, or a pipeline not yet fitted."""
    if isinstance(settings, ModelSettings):
        from epir.models.epir import Epir

        return Epir(settings)
    baseline = _BASELINES[settings.name]
    return baseline.load(baseline.model)(settings)


def create_model(name: str = "epir", *, pretrained: bool = False, **changes: Any) -> "Network":
    """A new network by name, with random weights: `create_model("ststnet", classes=5)`.

    With `pretrained` it has the weights that ship with epir, which fit `epir`; another number of classes gets a new,
    random head: `create_model("epir", pretrained=True, classes=5)`.

    >>> import torch
    >>> model = create_model("ststnet", classes=5)
    >>> model(torch.zeros(2, 3, 28, 28)).shape
    torch.Size([2, 5])
    """
    from epir.models.network import Network

    if pretrained:
        return _pretrained(name, changes)
    model = build(model_settings(name, **changes))
    if not isinstance(model, Network):
        raise ConfigError(
            f"{name!r} is a pipeline of features and a linear SVM, not a network",
            fix=f"evaluate it with epir evaluate MAPS --model {name}",
        )
    return model


def _pretrained(name: str, changes: Mapping[str, Any]) -> "Network":
    """A network with the shipped weights; it normalises maps as it did when they were trained."""
    from epir.models import folder
    from epir.models.network import Network

    shipped = folder.read_config(folder.shipped_folder())
    settings = model_settings(name, **{"normalise": shipped.settings["normalise"], **changes})
    if not folder.can_start(settings, folder.shipped_folder()):
        raise ConfigError(
            f"there are no shipped weights for {name} with these settings",
            fix='use "epir" with its own sizes, or leave out pretrained=True',
        )
    model = build(settings)
    assert isinstance(model, Network)
    same = settings.classes == len(shipped.classes)
    folder.start_from(model, SHIPPED, shipped.classes if same else ["new"] * settings.classes)
    return model
