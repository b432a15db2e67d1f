"""A method of the user's own, tried out before hours of work: what it is, and whether its logits fit."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING
from typing import TYPE_CHECKING, Any, Literal

from epir.core.errors import ConfigError, EpirError
from epir.models.arguments import Signature, call, settings_class

if TYPE_CHECKING:
    from epir.models.registry import Method

Kind = Literal["network", "estimator"]


def trains_itself(candidate: Any) -> bool:
    """Whether an object or a class is an estimator, by its `fit`."""
    return callable(getattr(candidate, "fit", None))


def kind_of(target: Any, signature: Signature, name: str) -> Kind:
    """Whether a class or factory gives a torch module or an estimator; anything else is refused."""
    from torch import nn

    if inspect.isclass(target):
        if issubclass(target, nn.Module):
            return "network"
        if trains_itself(target):
            return "estimator"
    else:
        settings = settings_class(name, signature)
        defaults = {field: 1 for field, _, default in signature.fields if default is MISSING}
        built = guarded(name, call, target, settings(**defaults), signature)
        if isinstance(built, nn.Module):
            return "network"
        if trains_itself(built):
            return "estimator"
        raise ConfigError(
            f"{name} gives a {type(built).__name__}, which is neither a torch module nor an estimator",
            fix="let it return a torch.nn.Module, or an object with fit and predict_proba",
        )
    raise ConfigError(
        f"{name} is neither a torch module nor an estimator",
        fix="derive it from torch.nn.Module, or give it fit(maps, labels) and predict_proba(maps)",
    )


def guarded(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call the constructor of a method; what it raises becomes an error that names it."""
    try:
        return function(*arguments)
    except EpirError:
        raise
    except Exception as error:
        words = str(error).strip().splitlines()
        raise ConfigError(
            f"{name} cannot be built: {type(error).__name__}: {words[0] if words else ''}",
            fix="check its arguments (--set model.NAME=VALUE), or build it yourself to see the traceback",
        ) from error


def check_network(method: "Method", settings: Any) -> None:
    """Refuse a module of the user's whose logits have another shape, or are not numbers, before hours of work."""
    if method.source is None or method.kind == "estimator":
        return
    import torch

    from epir.models.network import Network

    with torch.random.fork_rng(devices=[]), torch.no_grad():
        network = method.build(settings)
        assert isinstance(network, Network)
        maps = torch.randn(2, 3, settings.map_size, settings.map_size)
        logits = guarded(method.name, network.eval(), maps)
    wanted = (2, settings.classes)
    if not isinstance(logits, torch.Tensor) or tuple(logits.shape) != wanted:
        shape = tuple(logits.shape) if isinstance(logits, torch.Tensor) else type(logits).__name__
        raise ConfigError(
            f"{method.name} gives {shape} for maps {tuple(maps.shape)}, not logits {wanted}",
            fix=f"let forward(maps) return one row per map and one column for each of {settings.classes} classes",
        )
    if not bool(logits.isfinite().all()):
        raise ConfigError(f"{method.name} gives logits that are not numbers", fix="check its layers and first weights")


def has_features(method: "Method", settings: Any) -> bool:
    """Whether a network shows the features that its last layer sees, which a head for action units needs."""
    import torch

    from epir.models.network import ModuleNetwork

    with torch.device("meta"), torch.random.fork_rng(devices=[]):
        network = method.build(settings)
    return not isinstance(network, ModuleNetwork) or network.has_features
