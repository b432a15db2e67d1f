"""Find and build any method by name: EPIR's presets, the baselines, and the user's own code.

A method is a torch module (maps in, logits out) or an estimator (`fit`, `predict_proba`), as a class, a factory or, for
estimators, an object. Its name is a preset of EPIR, a baseline, an entry point in the group `epir.models` of an
installed package, `FILE.py:Name` or `package.module:Name`. Only code that the user names is executed.
"""

import hashlib
import inspect
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from epir.core.config import check_known, from_dict, to_dict
from epir.core.errors import ConfigError, EpirWarning
from epir.core.plugins import Plugin, is_plugin_name, list_plugins, load_object
from epir.models.arguments import (
    Kind,
    Signature,
    call_with_settings,
    check_required,
    detect_kind,
    guarded,
    plain_settings,
    read_signature,
    settings_class,
    trains_itself,
)
from epir.models.settings import ABOUT, NAMED, SHIPPED, ModelSettings, preset

if TYPE_CHECKING:
    from epir.models.estimator import Estimator
    from epir.models.network import Network

GROUP = "epir.models"
CODE = "EPIR_CODE"  # set by --code; worker processes inherit it
_NAMED: "list[Method]" = []  # the user's methods that this process has loaded
BASELINES = {  # module and class in `baselines`, and one line about the method
    "ststnet": ("shallow:Ststnet", "STSTNet: three shallow convolutional streams side by side"),
    "off-apexnet": (
        "shallow:OffApexNet",
        "OFF-ApexNet: a small convolutional stream for u, one for v, two wide layers",
    ),
    "dual-inception": (
        "inception:DualInception",
        "Dual-Inception: one stream of two inception blocks for u, one for v",
    ),
    "capsulenet": ("resnet:CapsuleNet", "CapsuleNet: routing to one capsule per class, whose length is the score"),
    "rcn-a": ("shallow:RcnA", "RCN-A: a shallow recurrent convolution with parameter-free attention"),
    "htnet": ("htnet:Htnet", "HTNet: transformers inside blocks of patches, merged into ever larger blocks"),
    "resnet18-flow": ("resnet:ResnetFlow", "ResNet-18 on flow maps"),
    "featref": ("inception:FeatRef", "FeatRef: features refined by a branch for each expression"),
    "bi-woof": ("svm:BiWoof", "Bi-WOOF: histograms of flow direction per block, weighted twice"),
    "mdmo": ("svm:Mdmo", "MDMO: the mean flow along the main direction of each region of the face"),
    "lbp-top": ("lbp_top:LbpTop", "LBP-TOP: local binary patterns on three orthogonal planes of a clip's frames"),
}
DEFAULT_RECIPE = "baseline"  # for a network without an attribute `recipe`
NO_RECIPE = "scratch"  # recorded for estimators, which train themselves
AnyModel = str | type | Callable[..., Any] | Any  # a name, a class, a factory, an estimator
Simple = bool | int | float | str | None  # types of an estimator's parameters


@dataclass(frozen=True)
class Source:
    """Where a method from outside epir comes from; runs and model folders record it."""

    reference: str  # FILE.py:Name or package.module:Name, without the file's path on this machine
    digest: str  # of the source text
    kind: Kind
    distribution: str = ""  # the installed package that it belongs to
    version: str = ""


@dataclass(frozen=True, eq=False)
class Method:
    """A loaded method: how to build it, and which settings it has."""

    name: str
    target: Any  # a class, a factory, or an estimator
    settings: type  # a frozen dataclass with at least name, map_size, classes and normalise
    kind: Kind
    signature: Signature | None = None  # None: the paper's model, or an estimator object
    source: Source | None = None  # None: part of epir
    recipe: str = DEFAULT_RECIPE  # the default training recipe

    def build(self, settings: Any) -> "Network | Estimator":
        """Build a network with random weights, or an unfitted estimator, with these settings."""
        if self.settings is ModelSettings:
            return cast("Network", self.target(settings))
        if self.signature is not None:
            built = call_with_settings(self.target, settings, self.signature)
        else:
            built = _clone(self.target, settings)
        if self.kind == "estimator":
            from epir.models.estimator import Estimator

            return Estimator(built, settings)
        from epir.models.network import ModuleNetwork, Network

        network = built if isinstance(built, Network) else ModuleNetwork(settings, built)
        network.source = self.source
        return network

    def with_settings(self, **values: Any) -> Any:
        """Return complete, valid settings; missing values get their defaults.

        The method is built once (a network without memory for its weights) to reject settings that cannot work.
        """
        values = {"name": self.name, **values}
        if self.settings is ModelSettings:  # validates itself
            return _preset_settings(values)
        check_required(self.settings, values, self.name)
        settings: Any = from_dict(self.settings, values, section="model")
        if self.kind == "estimator":
            self.build(settings)
        else:
            self._build_without_memory(settings)
        return settings

    def _build_without_memory(self, settings: Any) -> Any:
        import torch

        with torch.device("meta"), torch.random.fork_rng(devices=[]):
            return guarded(self.name, self.build, settings)

    def check_logits(self, settings: Any) -> None:
        """Raise an error if the logits of a user's network have the wrong shape or are not finite."""
        if self.source is None or self.kind == "estimator":
            return
        import torch

        with torch.random.fork_rng(devices=[]), torch.no_grad():
            network = cast("Network", self.build(settings))
            maps = torch.randn(2, 3, settings.map_size, settings.map_size)
            logits = guarded(self.name, network.eval(), maps)
        expected = (2, settings.classes)
        if not isinstance(logits, torch.Tensor) or tuple(logits.shape) != expected:
            shape = tuple(logits.shape) if isinstance(logits, torch.Tensor) else type(logits).__name__
            raise ConfigError(
                f"{self.name} gives {shape} for maps {tuple(maps.shape)}, not logits {expected}",
                fix=f"let forward(maps) return one row per map and one column for each of {settings.classes} classes",
            )
        if not bool(logits.isfinite().all()):
            raise ConfigError(f"{self.name} gives logits that are not finite", fix="check its layers and first weights")

    def has_features(self, settings: Any) -> bool:
        """Whether the network exposes the features before its last layer, which a head for action units needs."""
        from epir.models.network import ModuleNetwork

        network = self._build_without_memory(settings)
        return not isinstance(network, ModuleNetwork) or network.has_features


def list_models() -> tuple[str, ...]:
    """Return every name that `create_model` and `--model` accept: presets, baselines, and installed plug-ins.

    >>> "epir" in list_models(), "ststnet" in list_models()
    (True, True)
    """
    return tuple(dict.fromkeys((*NAMED, *BASELINES, *list_plugins(GROUP))))


def about_models() -> dict[str, str]:
    """Return one line about each built-in model."""
    return ABOUT | {name: about for name, (_, about) in BASELINES.items()}


def find_method(model: AnyModel = "epir") -> Method:
    """Return the method for a name, a class, a factory or an estimator.

    >>> find_method("ststnet").kind, find_method("bi-woof").kind
    ('network', 'estimator')
    """
    if isinstance(model, Method):
        return model
    if not isinstance(model, str):
        return method_of(model, _object_name(model), _object_source(model))
    if model in NAMED or model in BASELINES:
        return _built_in(model)
    if not is_plugin_name(model) and model not in list_plugins(GROUP):
        check_known(model, list_models(), what="model")
    target, plugin = load_object(
        model,
        group=GROUP,
        what="model",
        known=list_models(),
        accepts=lambda candidate: callable(candidate) or trains_itself(candidate),
    )
    return method_of(target, _plugin_name(model), _plugin_source(plugin))


def parse_models(text: str) -> tuple[str, ...]:
    """Split `a,b,c` into model names without repeats; raise an error for an unknown name."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if not all(names):
        raise ConfigError(f"--model {text} has a comma too many", fix="write --model epir,ststnet")
    for name in names:
        if not is_plugin_name(name):
            check_known(name, list_models(), what="model")
    return names


def name_code(references: Iterable[str]) -> None:
    """Let this process and its workers load this code for model folders that need it."""
    names = []
    for reference in references:
        find_method(reference)  # fails now if nothing has that name
        place, _, word = reference.rpartition(":")
        names.append(f"{Path(place).expanduser().absolute()}:{word}" if place.endswith(".py") else reference)
    if names:
        os.environ[CODE] = ",".join(names)


def named_method(source: Source) -> Method | None:
    """Return the method of this source if the user named it (here or by `--code`) or a package declares it."""
    named = {method.source.reference: method for method in _NAMED if method.source}
    for reference in filter(None, os.environ.get(CODE, "").split(",")):
        method = find_method(reference)
        if method.source is not None:
            named[method.source.reference] = method
    if source.reference in list_plugins(GROUP):
        named.setdefault(source.reference, find_method(source.reference))
    return named.get(source.reference)


def method_for(source: Source, folder: Path) -> Method:
    """Return the method of a model folder that needs the user's code; raise an error if the user did not name it."""
    method = named_method(source)
    if method is None:
        raise ConfigError(
            f"the model in {folder} needs code that is not in the folder: {source.reference}",
            fix=f"add --code {source.reference}; in Python, call epir.find_method with it first",
        )
    assert method.source is not None
    if method.source.digest != source.digest:
        warnings.warn(
            f"{source.reference} has changed since the weights in {folder.name} were trained", EpirWarning, stacklevel=3
        )
    return method


@lru_cache(maxsize=64)
def _built_in(name: str) -> Method:
    if name in NAMED:
        from epir.models.epir import Epir

        return Method(name, Epir, ModelSettings, "network", recipe="scratch")
    file, _, word = BASELINES[name][0].partition(":")
    return method_of(getattr(import_module(f"epir.models.baselines.{file}"), word), name, None)


def method_of(target: Any, name: str, source: Source | None) -> Method:
    """Wrap a class, a factory or an estimator as a method called `name`."""
    if not inspect.isclass(target) and not inspect.isroutine(target) and trains_itself(target):
        return Method(name, target, _settings_of_estimator(name, target), "estimator", source=source, recipe=NO_RECIPE)
    if not callable(target):
        raise ConfigError(
            f"{name} is a {type(target).__name__}, not a method",
            fix="give a torch module class, a function that returns one, or an estimator with fit and predict_proba",
        )
    signature = read_signature(target, name)
    kind = detect_kind(target, signature, name)
    normalise: Any = "map" if kind == "network" else "none"
    settings = settings_class(name, signature, normalise=getattr(target, "normalise", normalise))
    if source is not None:
        source = replace(source, kind=kind)
    if kind == "network" and signature.classes is None:
        raise ConfigError(
            f"{name} has no argument for the number of classes",
            fix="let its constructor take classes: int, and let forward return logits (B, classes)",
        )
    recipe = getattr(target, "recipe", DEFAULT_RECIPE) if kind == "network" else NO_RECIPE
    method = Method(name, target, settings, kind, signature, source, recipe)
    if source is not None:
        _NAMED.append(method)
    return method


def is_estimator(settings: Any, source: Source | None = None) -> bool:
    """Whether the model with these settings trains itself, without epochs."""
    if source is not None:
        return source.kind == "estimator"
    return settings.name in BASELINES and _built_in(settings.name).kind == "estimator"


def model_settings(name: str = "epir", **changes: Any) -> Any:
    """Return the settings of the model `name` with changes: `model_settings("epir", classes=5)`."""
    return settings_from_dict({"name": name} | changes)


def settings_from_dict(values: Mapping[str, Any], source: Source | None = None) -> Any:
    """Turn plain values, as `core.config.to_dict` writes them, back into the settings of the model they name.

    Missing values get the model's defaults, so `{"name": "ststnet"}` is enough. With a `source` the method is not
    epir's and may not be loaded, so the values are used unchecked.
    """
    name = values.get("name")
    if not isinstance(name, str):
        raise ConfigError("the model settings have no name", fix="write name = 'epir', or another model")
    if source is not None:
        return plain_settings(values)
    check_known(name, (*NAMED, *BASELINES), what="model")
    return _built_in(name).with_settings(**values) if name in BASELINES else _preset_settings(values)


def _preset_settings(values: Mapping[str, Any]) -> ModelSettings:
    """Return a preset of EPIR with changes; needs no torch."""
    return from_dict(ModelSettings, to_dict(preset(values["name"])) | dict(values), section="model")


def build(settings: Any, method: Method | None = None) -> "Network | Estimator":
    """Build a network with random weights, or an unfitted estimator, with these settings."""
    name = "epir" if isinstance(settings, ModelSettings) else settings.name
    return (method or _built_in(name)).build(settings)


def create_model(name: AnyModel = "epir", *, pretrained: bool = False, **changes: Any) -> "Network":
    """Create a network with random weights by name: `create_model("ststnet", classes=5)`.

    With `pretrained`, load the weights that ship with epir, which fit `epir`. Another number of classes gets a new,
    random head: `create_model("epir", pretrained=True, classes=5)`.

    >>> import torch
    >>> model = create_model("ststnet", classes=5)
    >>> model(torch.zeros(2, 3, 28, 28)).shape
    torch.Size([2, 5])
    """
    from epir.models.network import Network

    if pretrained:
        return _pretrained(name, changes)
    method = find_method(name)
    if method.kind == "estimator":
        raise ConfigError(
            f"{method.name!r} is an estimator, not a network",
            fix=f"evaluate it with epir evaluate MAPS --model {method.name}",
        )
    model = method.build(method.with_settings(**changes))
    assert isinstance(model, Network)
    return model


def _pretrained(name: AnyModel, changes: Mapping[str, Any]) -> "Network":
    """Create a network with the shipped weights, and with the normalisation they were trained with."""
    from epir.models import folder
    from epir.models.network import Network

    shipped = folder.read_config(folder.shipped_folder())
    method = find_method(name)
    settings = model_settings(method.name, **{"normalise": shipped.settings["normalise"], **changes})
    if not folder.can_start(settings, folder.shipped_folder()):
        raise ConfigError(
            f"epir has no shipped weights for {name} with these settings",
            fix='use "epir" with its default sizes, or leave out pretrained=True',
        )
    model = build(settings)
    assert isinstance(model, Network)
    same = settings.classes == len(shipped.classes)
    folder.start_from(model, SHIPPED, shipped.classes if same else ["new"] * settings.classes)
    return model


# ------------------------------------------------------------------------------------------- where a method comes from


def _plugin_name(reference: str) -> str:
    """Return the name for tables: the word after the colon, with its module if a built-in model has that name."""
    word = reference.rpartition(":")[2]
    return f"{Path(reference.rpartition(':')[0]).stem}:{word}" if word in (*NAMED, *BASELINES) else word


def _plugin_source(plugin: Plugin) -> Source:
    place, _, word = plugin.name.rpartition(":")
    reference = f"{Path(place).name}:{word}" if place.endswith(".py") else plugin.name
    return Source(reference, plugin.digest, "network", plugin.distribution, plugin.version)


def _object_name(model: Any) -> str:
    if hasattr(model, "steps"):  # a pipeline of scikit-learn
        return "+".join(name for name, _ in model.steps)
    return getattr(model, "__name__", None) or type(model).__name__


def _object_source(model: Any) -> Source | None:
    """Return the source of a class, factory or estimator object; None for epir's own."""
    kind = model if inspect.isclass(model) or inspect.isroutine(model) else type(model)
    module = getattr(kind, "__module__", "") or ""
    if module.startswith("epir.models."):
        return None
    try:
        text = inspect.getsource(kind)
    except (OSError, TypeError):  # typed into an interpreter, or compiled
        text = repr(kind)
    if kind is not model:
        text += repr(model)  # an estimator's steps
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return Source(
        f"{module}:{getattr(kind, '__qualname__', kind.__name__)}",
        digest,
        "estimator" if trains_itself(model) else "network",
    )


def _settings_of_estimator(name: str, estimator: Any) -> type:
    from epir.models.estimator import parameters

    fields = tuple((word, Simple, value) for word, value in parameters(estimator).items())
    return settings_class(name, Signature(fields, None, None), normalise="none")


def _clone(estimator: Any, settings: Any) -> Any:
    """Return an unfitted copy of an estimator with the parameters of these settings."""
    from sklearn.base import clone

    common = {"name", "map_size", "classes", "normalise"}  # settings of every method, not parameters
    values = {field.name: getattr(settings, field.name) for field in fields(settings) if field.name not in common}
    return clone(estimator).set_params(**values) if values else estimator
