"""Constructor arguments as settings: `--set model.width=64` works for any class, function or dataclass.

A method needs nothing from epir for this. Types come from annotations, or from defaults; ranges come from `Annotated`
metadata with `ge`, `gt`, `le` or `lt` (`Range` here, or the annotated_types package).

    class MyNet(torch.nn.Module):
        def __init__(self, classes: int, map_size: int = 28, width: Annotated[int, Range(ge=1)] = 32): ...

A constructor may also take one dataclass with these fields, which then validates itself.
"""

import dataclasses
import inspect
import operator
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from epir.core.config import to_dict
from epir.core.errors import ConfigError, EpirError
from epir.models.settings import Normalisation

Kind = Literal["network", "estimator"]
CLASSES = ("classes", "num_classes", "n_classes")  # how constructors name the number of classes
SIZES = ("map_size", "size", "image_size", "img_size")  # ... and the side of a map in pixels
LEAST_CLASSES, MOST_CLASSES, MOST_PIXELS = 2, 10_000, 1024


class Range(NamedTuple):
    """The range of a setting: `Annotated[float, Range(ge=0, lt=1)]`."""

    ge: float | None = None
    le: float | None = None
    gt: float | None = None
    lt: float | None = None


Count = Annotated[int, Range(ge=1, le=1024)]
Width = Annotated[int, Range(ge=1, le=4096)]
Dropout = Annotated[float, Range(ge=0, lt=1)]


class Signature(NamedTuple):
    """How to call a method: its settings, and its names for the number of classes and the map size."""

    fields: tuple[tuple[str, Any, Any], ...]  # name, type with its metadata, default or MISSING
    classes: str | None  # the argument's name
    map_size: str | None
    size_hint: Any = int  # the annotation of the map size, with its range
    record: type | None = None  # the dataclass that the constructor takes, if any


def read_signature(method: Callable[..., Any], name: str) -> Signature:
    """Read the settings of a class or factory from its signature."""
    parameters = _parameters(method, name)
    if len(parameters) == 1 and dataclasses.is_dataclass(kind := parameters[0][1]):
        hints = typing.get_type_hints(kind, include_extras=True)
        parameters = [
            (field.name, hints[field.name], _field_default(field)) for field in dataclasses.fields(kind) if field.init
        ]
        return _signature(parameters, name, kind)  # type: ignore[arg-type]
    return _signature(parameters, name, None)


def _signature(parameters: list[tuple[str, Any, Any]], name: str, record: type | None) -> Signature:
    names = [parameter for parameter, _, _ in parameters]
    classes = next((word for word in CLASSES if word in names), None)
    size = next((word for word in SIZES if word in names), None)
    settings = []
    for parameter, kind, default in parameters:
        if parameter in (classes, size, "name"):
            continue
        if _is_setting(kind):
            settings.append((parameter, kind, default))
        elif default is dataclasses.MISSING:
            raise ConfigError(
                f"{name} needs a value for {parameter!r}, which cannot be written as a setting",
                fix=f"give {parameter} a default, or an annotation such as int, float, bool, str or tuple[int, ...]",
            )
    hint = next((kind for parameter, kind, _ in parameters if parameter == size), int)
    return Signature(tuple(settings), classes, size, hint, record)


def _parameters(method: Callable[..., Any], name: str) -> list[tuple[str, Any, Any]]:
    target: Any = method.__init__ if inspect.isclass(method) else method
    try:
        signature = inspect.signature(method)
        hints = typing.get_type_hints(target, include_extras=True)
    except (NameError, TypeError, ValueError) as error:
        raise ConfigError(f"the arguments of {name} cannot be read: {error}", fix="correct its annotations") from None
    parameters = []
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise ConfigError(
                f"{name} takes {parameter.name!r} by position only", fix="remove the slash, so that it takes it by name"
            )
        default = dataclasses.MISSING if parameter.default is parameter.empty else parameter.default
        kind = hints.get(parameter.name, Any if default is dataclasses.MISSING else type(default))
        parameters.append((parameter.name, kind, default))
    return parameters


def _field_default(field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not dataclasses.MISSING else dataclasses.MISSING


def _is_setting(kind: Any) -> bool:
    """Whether values of this type can be written in a TOML file and after `--set`."""
    origin, options = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _is_setting(options[0])
    if origin is Literal:
        return True
    if origin in (tuple, Union, types.UnionType):
        return all(option in (Ellipsis, type(None)) or _is_setting(option) for option in options)
    return kind in (int, float, str, bool, Path)


def settings_class(name: str, signature: Signature, *, normalise: Normalisation = "map") -> type:
    """Return a frozen dataclass with these settings and those of every method: name, map_size, classes, normalise."""
    fields: dict[str, tuple[Any, Any]] = {
        "name": (str, name),
        "map_size": (signature.size_hint, 28),
        "classes": (int, 3),
        "normalise": (Normalisation, normalise),
    }
    fields |= {word: (kind, default) for word, kind, default in signature.fields}
    kind = dataclasses.make_dataclass(
        "MethodSettings",
        [
            (word, hint, dataclasses.field(default=default, metadata={"about": _about(hint)}))
            for word, (hint, default) in fields.items()
        ],
        frozen=True,
        kw_only=True,
        namespace={"__post_init__": _check_settings, "__reduce__": lambda self: (plain_settings, (to_dict(self),))},
    )
    kind.__doc__ = f"The settings of {name}."
    return kind


def _about(hint: Any) -> str:
    """Return the description in an annotation such as `Annotated[int, "channels of the first stage"]`, or ''."""
    metadata = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((text for text in metadata if isinstance(text, str)), "")


def _check_settings(settings: Any) -> None:
    name = settings.name
    default = next(field.default for field in dataclasses.fields(settings) if field.name == "name")
    if default is not dataclasses.MISSING and name != default:
        raise ConfigError(f"{name!r} is not the name of this model", fix=f"write name = {default!r}")
    if not LEAST_CLASSES <= settings.classes <= MOST_CLASSES:
        limit = f"{LEAST_CLASSES} or more" if settings.classes < LEAST_CLASSES else f"{MOST_CLASSES:,} or less"
        raise ConfigError(f"{name} cannot classify {settings.classes} classes", fix=f"set classes to {limit}")
    hints = typing.get_type_hints(type(settings), include_extras=True)
    least = max([1, *(limit.ge for limit in get_args(hints["map_size"])[1:] if getattr(limit, "ge", None))])
    if not least <= settings.map_size <= MOST_PIXELS:
        limit = f"{least} px or more" if settings.map_size < least else f"{MOST_PIXELS} px or less"
        raise ConfigError(f"{name} cannot take {settings.map_size} px maps", fix=f"use maps of {limit}, for example 28")
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if get_origin(hints[field.name]) is Annotated and value is not None:
            check_range(field.name, value, get_args(hints[field.name])[1:])


LIMITS: Mapping[str, tuple[Callable[[Any, Any], bool], str]] = {  # test, and words for the message
    "ge": (operator.ge, "{:g} or more"),
    "gt": (operator.gt, "more than {:g}"),
    "le": (operator.le, "{:g} or less"),
    "lt": (operator.lt, "less than {:g}"),
}


def check_range(name: str, value: Any, limits: tuple[Any, ...]) -> None:
    """Raise an error that names the limits if a number, or one of a tuple, is outside them."""
    numbers = value if isinstance(value, tuple) else (value,)
    for limit in limits:
        bounds = [(*LIMITS[word], bound) for word in LIMITS if (bound := getattr(limit, word, None)) is not None]
        if not all(fits(number, bound) for number in numbers for fits, _, bound in bounds):
            words = " and ".join(text.format(bound) for _, text, bound in bounds)
            raise ConfigError(f"{name} cannot be {value}", fix=f"use {words}")


def call_with_settings(method: Callable[..., Any], settings: Any, signature: Signature) -> Any:
    """Call a class or factory with its settings, under its own argument names."""
    arguments = {word: getattr(settings, word) for word, _, _ in signature.fields}
    if signature.classes:
        arguments[signature.classes] = settings.classes
    if signature.map_size:
        arguments[signature.map_size] = settings.map_size
    if signature.record is None:
        return method(**arguments)
    if any(field.name == "name" for field in dataclasses.fields(signature.record)):
        arguments["name"] = settings.name
    return method(signature.record(**arguments))


def check_required(kind: type, values: Mapping[str, Any], name: str) -> None:
    """Raise an error if a setting without a default has no value."""
    for field in dataclasses.fields(kind):
        if field.default is dataclasses.MISSING and field.name not in values:
            raise ConfigError(
                f"{name} needs a value for {field.name!r}",
                fix=f"add --set model.{field.name}=..., or give that argument a default",
            )


@cache
def _plain_class(words: tuple[str, ...]) -> type:
    return dataclasses.make_dataclass(
        "PlainSettings",
        [(word, Any) for word in words],
        frozen=True,
        namespace={"__reduce__": lambda self: (plain_settings, (to_dict(self),))},
    )


def plain_settings(values: Mapping[str, Any]) -> Any:
    """Wrap the values of a run or model folder as settings when the method itself is not loaded."""
    frozen = {word: tuple(value) if isinstance(value, list) else value for word, value in values.items()}
    return _plain_class(tuple(frozen))(**frozen)


# ------------------------------------------------------------------------------------------ network or estimator


def trains_itself(candidate: Any) -> bool:
    """Whether an object or class is an estimator: it has a method `fit`."""
    return callable(getattr(candidate, "fit", None))


def detect_kind(target: Any, signature: Signature, name: str) -> Kind:
    """Return whether a class or factory builds a torch module or an estimator; raise an error for anything else."""
    from torch import nn

    is_class = inspect.isclass(target)
    built = target
    if not is_class:
        required = {field: 1 for field, _, default in signature.fields if default is dataclasses.MISSING}
        built = guarded(name, call_with_settings, target, settings_class(name, signature)(**required), signature)
    if issubclass(built if is_class else type(built), nn.Module):
        return "network"
    if trains_itself(built):
        return "estimator"
    raise ConfigError(
        f"{name} {'is' if is_class else f'returns a {type(built).__name__}, which is'} neither a torch module nor an "
        "estimator",
        fix="use a torch.nn.Module, or an object with fit(maps, labels) and predict_proba(maps)",
    )


def guarded(name: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call the user's code; re-raise its exceptions as an error that names the method."""
    try:
        return function(*arguments)
    except EpirError:
        raise
    except Exception as error:
        lines = str(error).strip().splitlines()
        raise ConfigError(
            f"{name} cannot be built: {type(error).__name__}: {lines[0] if lines else ''}",
            fix="check its arguments (--set model.NAME=VALUE), or build it yourself to see the traceback",
        ) from error
