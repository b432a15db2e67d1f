"""Every method by name, and the one door through which methods come in.

A method is a torch module (maps in, logits out) or an estimator (`fit`, `predict_proba`), as a class, a factory or, for
estimators, an object. Its name is that of a preset of EPIR, of a baseline, of an entry point in the group
`epir.models` of an installed package; or `FILE.py:Name` or `package.module:Name`. Only what the user named is executed.
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
from epir.models.arguments import Signature, call, check_required, plain_settings, read_signature, settings_class
from epir.models.settings import ABOUT, NAMED, SHIPPED, ModelSettings, preset
from epir.models.trial import Kind, guarded, kind_of, trains_itself

if TYPE_CHECKING:
    from epir.models.estimator import Estimator
    from epir.models.network import Network

GROUP = "epir.models"
CODE = "EPIR_CODE"  # the environment variable of --code, which worker processes inherit
_NAMED: "list[Method]" = []  # methods of the user's that were named in this process
BASELINES = {  # where it is in `baselines`, and a line about it
    "ststnet": ("shallow:Ststnet", "STSTNet: three shallow convolutional streams side by side"),
    "off-apexnet": (
        "shallow:OffApexNet",
        "OFF-ApexNet: a small convolutional stream for u, one for v, two wide layers",
    ),
    "dual-inception": (
        "inception:DualInception",
        "Dual-Inception: one stream of two inception blocks for u, one for v",
    ),
    "capsulenet": ("resnet:CapsuleNet", "CapsuleNet: by routing, one capsule per class whose length is the answer"),
    "rcn-a": ("shallow:RcnA", "RCN-A: a shallow recurrent convolution with attention that has no weights of its own"),
    "htnet": ("htnet:Htnet", "HTNet: transformers inside blocks of patches, the blocks gathered into ever larger ones"),
    "resnet18-flow": ("resnet:ResnetFlow", "ResNet-18 on flow maps"),
    "featref": ("inception:FeatRef", "FeatRef: features refined by a branch for each expression"),
    "bi-woof": ("svm:BiWoof", "Bi-WOOF: histograms of flow direction per block, weighted twice"),
    "mdmo": ("svm:Mdmo", "MDMO: of each region of the face, the mean flow of its main direction"),
    "lbp-top": ("lbp_top:LbpTop", "LBP-TOP: local binary patterns on three orthogonal planes of a clip's frames"),
}
DEFAULT_RECIPE = "baseline"  # of a network that names no other in its attribute `recipe`
NO_RECIPE = "scratch"  # what a run of an estimator records, which trains itself
AnyModel = str | type | Callable[..., Any] | Any  # a name, a class, a factory, an estimator
Simple = bool | int | float | str | None  # what a parameter of an estimator may be


@dataclass(frozen=True)
class Source:
    """Where a method comes from that is not part of epir; a run and a model folder carry it."""

    reference: str  # FILE.py:Name or package.module:Name, without the place of the file on this machine
    digest: str  # of the source text
    kind: Kind
    distribution: str = ""  # the installed package that it belongs to
    version: str = ""


@dataclass(frozen=True, eq=False)
class Method:
    """A method that is at hand: how to build it, and which settings it has."""

    name: str
    target: Any  # a class, a factory, or an estimator
    settings: type  # a frozen dataclass with at least name, map_size, classes and normalise
    kind: Kind
    signature: Signature | None = None  # None: the paper's model, or an estimator that is there already
    source: Source | None = None  # None: a method of epir
    recipe: str = DEFAULT_RECIPE  # of training: the default where the user names none

    def build(self, settings: Any) -> "Network | Estimator":
        """A new model with these settings: a network with random weights, or an estimator not yet fitted."""
        if self.settings is ModelSettings:
            return cast("Network", self.target(settings))
        if self.signature is not None:
            built = call(self.target, settings, self.signature)
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
        """Complete and possible settings; what is left out has its default."""
        values = {"name": self.name, **values}
        if self.settings is ModelSettings:  # which checks itself
            return _preset_settings(values)
        check_required(self.settings, values, self.name)
        settings: Any = from_dict(self.settings, values, section="model")
        self._try(settings)
        return settings

    def _try(self, settings: Any) -> None:
        """Build it once without memory for weights, so that impossible settings are refused before hours of work."""
        if self.kind == "estimator":
            self.build(settings)
            return
        import torch

        with torch.device("meta"), torch.random.fork_rng(devices=[]):
            guarded(self.name, self.build, settings)


def list_models() -> tuple[str, ...]:
    """Every name that `create_model` and `--model` know: presets of EPIR, baselines, and those of installed packages.

    >>> "epir" in list_models(), "ststnet" in list_models()
    (True, True)
    """
    return tuple(dict.fromkeys((*NAMED, *BASELINES, *list_plugins(GROUP))))


def about_models() -> dict[str, str]:
    """A line about each built-in model."""
    return ABOUT | {name: about for name, (_, about) in BASELINES.items()}


def find_method(model: AnyModel = "epir") -> Method:
    """The method that a name, a class, a factory or an estimator stands for.

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
        accepts=lambda each: callable(each) or trains_itself(each),
    )
    return method_of(target, _plugin_name(model), _plugin_source(plugin))


def parse_models(text: str) -> tuple[str, ...]:
    """The models in `a,b,c`, each once: names, `FILE.py:Name` or `package.module:Name`; unknown ones are refused."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if not all(names):
        raise ConfigError(f"--model {text} has a comma too many", fix="write --model epir,ststnet")
    for name in names:
        if not is_plugin_name(name):
            check_known(name, list_models(), what="model")
    return names


def name_code(references: Iterable[str]) -> None:
    """Let this process and its workers use this code for model folders that were trained with it."""
    names = []
    for reference in references:
        find_method(reference)  # a name that leads nowhere is refused at once
        place, _, word = reference.rpartition(":")
        names.append(f"{Path(place).expanduser().absolute()}:{word}" if place.endswith(".py") else reference)
    if names:
        os.environ[CODE] = ",".join(names)


def named_method(source: Source) -> Method | None:
    """The method of this source, if the user named it in this process or by `--code`, or a package declares it."""
    named = {each.source.reference: each for each in _NAMED if each.source}
    for reference in filter(None, os.environ.get(CODE, "").split(",")):
        method = find_method(reference)
        if method.source is not None:
            named[method.source.reference] = method
    if source.reference in list_plugins(GROUP):
        named.setdefault(source.reference, find_method(source.reference))
    return named.get(source.reference)


def method_for(source: Source, folder: Path) -> Method:
    """The method of a model folder whose code is not epir's; one that nobody named is refused."""
    method = named_method(source)
    if method is None:
        raise ConfigError(
            f"the code of the model in {folder} does not come with it: it is {source.reference}",
            fix=f"name it: --code {source.reference}; in Python, first call epir.find_method with it",
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
    """The method that a class, a factory or an estimator is, under a name."""
    if not inspect.isclass(target) and not inspect.isroutine(target) and trains_itself(target):
        return Method(name, target, _settings_of_estimator(name, target), "estimator", source=source, recipe=NO_RECIPE)
    if not callable(target):
        raise ConfigError(
            f"{name} is a {type(target).__name__}, not a method",
            fix="give a torch module class, a function that makes one, or an estimator with fit and predict_proba",
        )
    signature = read_signature(target, name)
    kind = kind_of(target, signature, name)
    normalise: Any = "map" if kind == "network" else "none"
    settings = settings_class(name, signature, normalise=getattr(target, "normalise", normalise))
    if source is not None:
        source = replace(source, kind=kind)
    if kind == "network" and signature.classes is None:
        raise ConfigError(
            f"{name} takes no number of classes",
            fix="let its constructor take classes: int, and give logits (B, classes)",
        )
    recipe = getattr(target, "recipe", DEFAULT_RECIPE) if kind == "network" else NO_RECIPE
    method = Method(name, target, settings, kind, signature, source, recipe)
    if source is not None:
        _NAMED.append(method)
    return method


def is_estimator(settings: Any, source: Source | None = None) -> bool:
    """Whether a model trains itself and has no epochs, by the settings of a run."""
    if source is not None:
        return source.kind == "estimator"
    return settings.name in BASELINES and _built_in(settings.name).kind == "estimator"


def model_settings(name: str = "epir", **changes: Any) -> Any:
    """The settings of the model `name`, with some of them changed: `model_settings("epir", classes=5)`."""
    return settings_from_dict({"name": name} | changes)


def settings_from_dict(values: Mapping[str, Any], source: Source | None = None) -> Any:
    """The settings that `core.config.to_dict` made these values from; `name` says of which model.

    What is left out has the value of that model, so that `{"name": "ststnet"}` is enough. With a `source` the method
    is not epir's and may not be at hand: the values are taken as they are.
    """
    name = values.get("name")
    if not isinstance(name, str):
        raise ConfigError("the settings of a model need its name", fix="write name = 'epir', or that of another model")
    if source is not None:
        return plain_settings(values)
    check_known(name, (*NAMED, *BASELINES), what="model")
    return _built_in(name).with_settings(**values) if name in BASELINES else _preset_settings(values)


def _preset_settings(values: Mapping[str, Any]) -> ModelSettings:
    """The settings of a preset of EPIR, some of them changed; torch is not needed for this."""
    return from_dict(ModelSettings, to_dict(preset(values["name"])) | dict(values), section="model")


def build(settings: Any, method: Method | None = None) -> "Network | Estimator":
    """A new model with these settings: a network with random weights, or an estimator not yet fitted."""
    name = "epir" if isinstance(settings, ModelSettings) else settings.name
    return (method or _built_in(name)).build(settings)


def create_model(name: AnyModel = "epir", *, pretrained: bool = False, **changes: Any) -> "Network":
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
    method = find_method(name)
    if method.kind == "estimator":
        raise ConfigError(
            f"{method.name!r} is an estimator, which trains itself, not a network",
            fix=f"evaluate it with epir evaluate MAPS --model {method.name}",
        )
    model = method.build(method.with_settings(**changes))
    assert isinstance(model, Network)
    return model


def _pretrained(name: AnyModel, changes: Mapping[str, Any]) -> "Network":
    """A network with the shipped weights; it normalises maps as it did when they were trained."""
    from epir.models import folder
    from epir.models.network import Network

    shipped = folder.read_config(folder.shipped_folder())
    method = find_method(name)
    settings = model_settings(method.name, **{"normalise": shipped.settings["normalise"], **changes})
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


# ------------------------------------------------------------------------------------------- where a method comes from


def _plugin_name(reference: str) -> str:
    """The name in tables: what follows the colon, or all of it where a built-in model has that name."""
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
    """The source of a class, factory or estimator that was handed over in Python; None for those of epir."""
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
    """An estimator as it was given, not fitted, with the parameters of these settings."""
    from sklearn.base import clone

    everybody = {"name", "map_size", "classes", "normalise"}
    values = {each.name: getattr(settings, each.name) for each in fields(settings) if each.name not in everybody}
    return clone(estimator).set_params(**values) if values else estimator
