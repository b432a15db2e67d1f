"""The register of every model by name: the EPIR presets first, then the peers.

A model is a network (`epir.models.network.Network`, trained by gradient) or a pipeline
(`epir.models.baselines.pipeline.Pipeline`, features and a linear SVM). A new peer is one line in `_PEERS`, one settings class
and one file.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from epir.core.config import from_dict, refuse_unknown, to_dict
from epir.core.errors import ConfigError
from epir.models.presets import PRESETS, preset
from epir.models.settings import ModelSettings
from epir.models.baselines.settings import (
    BiWoofSettings,
    CapsuleNetSettings,
    DualInceptionSettings,
    HtnetSettings,
    LbpTopSettings,
    MdmoSettings,
    OffApexNetSettings,
    PeerSettings,
    PipelineSettings,
    RcnASettings,
    ResnetSettings,
    StstnetSettings,
)

if TYPE_CHECKING:
    from epir.models.network import Network
    from epir.models.baselines.pipeline import Pipeline

AnySettings = ModelSettings | PeerSettings

# name: its settings, and where the class is that they build
_PEERS: dict[str, tuple[type[PeerSettings], str, str]] = {
    "ststnet": (StstnetSettings, "epir.models.baselines.ststnet", "Ststnet"),
    "off-apexnet": (OffApexNetSettings, "epir.models.baselines.off_apexnet", "OffApexNet"),
    "dual-inception": (DualInceptionSettings, "epir.models.baselines.dual_inception", "DualInception"),
    "capsulenet": (CapsuleNetSettings, "epir.models.baselines.capsulenet", "CapsuleNet"),
    "rcn-a": (RcnASettings, "epir.models.baselines.rcn", "RcnA"),
    "htnet": (HtnetSettings, "epir.models.baselines.htnet", "Htnet"),
    "resnet18-flow": (ResnetSettings, "epir.models.baselines.resnet", "ResnetFlow"),
    "bi-woof": (BiWoofSettings, "epir.models.baselines.bi_woof", "BiWoof"),
    "mdmo": (MdmoSettings, "epir.models.baselines.mdmo", "Mdmo"),
    "lbp-top": (LbpTopSettings, "epir.models.baselines.lbp_top", "LbpTop"),
}


def list_models() -> tuple[str, ...]:
    """Every name that `create_model`, `build` and `--model` know: EPIR presets first, then the peers."""
    return (*PRESETS, *_PEERS)


def is_pipeline(name: str) -> bool:
    """Whether `name` is a classical pipeline (features and a linear SVM) and not a network."""
    refuse_unknown(name, list_models(), what="model")
    return name in _PEERS and issubclass(_PEERS[name][0], PipelineSettings)


def model_settings(name: str = "epir", **changes: Any) -> AnySettings:
    """The settings of the model `name`, with some of them changed: `model_settings("epir", classes=5)`."""
    refuse_unknown(name, list_models(), what="model")
    start = _PEERS[name][0]() if name in _PEERS else preset(name)  # type: ignore[call-arg]
    return settings_from_dict(to_dict(start) | changes)


def settings_from_dict(values: Mapping[str, Any]) -> AnySettings:
    """The settings that `core.config.to_dict` made these values from; `name` says of which model.

    What is left out has the value of that model, so that `{"name": "ststnet"}` is enough.
    """
    name = values.get("name")
    if not isinstance(name, str):
        raise ConfigError("the settings of a model need its name", fix="write name = 'epir', or that of another model")
    refuse_unknown(name, list_models(), what="model")
    if name in _PEERS:
        return from_dict(_PEERS[name][0], values, section="model")
    return from_dict(ModelSettings, to_dict(preset(name)) | dict(values), section="model")


def build(settings: AnySettings) -> "Network | Pipeline":
    """A new model with these settings: a network with random weights, or a pipeline not yet fitted."""
    if isinstance(settings, ModelSettings):
        from epir.models.transformer import Epir

        return Epir(settings)
    _, module, kind = _PEERS[settings.name]
    return getattr(import_module(module), kind)(settings)


def create_model(name: str = "epir", **changes: Any) -> "Network":
    """A new network by name, with random weights: `create_model("ststnet", classes=5)`."""
    if is_pipeline(name):
        raise ConfigError(
            f"{name!r} is a pipeline of features and a linear SVM, not a network",
            fix=f"evaluate it with epir evaluate MAPS --model {name}, or build(model_settings({name!r})).fit(...)",
        )
    model = build(model_settings(name, **changes))
    from epir.models.network import Network

    assert isinstance(model, Network)
    return model
