"""Settings as frozen dataclasses: read from and written to TOML, overridden by dotted names, with a digest.

A settings class checks its values in `__post_init__` and raises `ConfigError`; this module works for any such class,
also nested ones. An unknown name is an error that suggests the nearest known name.
"""

import dataclasses
import hashlib
import json
import math
import tomllib
import types
import typing
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin

import tomli_w

from epir.core.errors import ConfigError
from epir.core.files import MOST_SETTINGS, read_text, write_text
from epir.core.words import did_you_mean

Settings = TypeVar("Settings")
Value = TypeVar("Value")


def to_dict(settings: object) -> dict[str, Any]:
    """All settings as plain values, without those that are `None`, which TOML lacks."""
    assert dataclasses.is_dataclass(settings)
    plain: dict[str, Any] = {}
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if dataclasses.is_dataclass(value):
            plain[field.name] = to_dict(value)
        elif isinstance(value, tuple):
            plain[field.name] = list(value)
        elif isinstance(value, Path):
            plain[field.name] = str(value)
        elif value is not None:
            plain[field.name] = value
    return plain


def from_dict(kind: type[Settings], values: Mapping[str, Any], *, section: str = "") -> Settings:
    """Settings of the class `kind`; an unknown name is an error."""
    if not isinstance(values, Mapping):
        raise ConfigError(f"[{section}] cannot be {_shown(values)}", fix="give names and values")
    hints = typing.get_type_hints(kind)
    known = setting_names(kind)
    arguments = {}
    for name, value in values.items():
        check_known(name, known, section=section)
        arguments[name] = _convert(value, hints[name], _dotted(section, name))
    return kind(**arguments)


def check_type(value: Any, kind: type, name: str) -> Any:
    """The value converted to the type of the setting `name` of the class `kind`, or a `ConfigError`."""
    return _convert(value, typing.get_type_hints(kind)[name], name)


def setting_names(kind: type) -> list[str]:
    """The names of the settings of a class."""
    return [field.name for field in dataclasses.fields(kind) if field.init]


def setting(default: Value, about: str) -> Value:
    """A field of a settings class with a description, which `epir list` shows."""
    field: Any = dataclasses.field(default=default, metadata={"about": about})
    return field


class Described(NamedTuple):
    """One setting for a list; `about` is empty if its class has no description."""

    name: str
    kind: str
    default: Any
    about: str


def describe(kind: type) -> list[Described]:
    """The name, type, default and description of every setting of a class."""
    hints = typing.get_type_hints(kind)
    settings = []
    for field in dataclasses.fields(kind):
        if field.init:
            factory: Any = field.default_factory
            default = field.default if factory is dataclasses.MISSING else factory()
            words = _type_words(hints[field.name])
            settings.append(Described(field.name, words, default, field.metadata.get("about", "")))
    return settings


def _type_words(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return " | ".join(map(str, get_args(hint)))
    return hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint).replace("pathlib.", "")


def check_known(name: str, known: Iterable[str], *, section: str = "", what: str = "setting") -> None:
    """Raise `ConfigError` with the nearest known name unless `name` is one of `known`."""
    names = list(known)
    if name not in names:
        where = f"[{section}] has no" if section else "there is no"
        raise ConfigError(f"{where} {what} {name!r}", fix=did_you_mean(name, names))


def check_ranges(settings: object, most: Mapping[str, float], *, section: str) -> None:
    """Raise an error for a number that is not finite, or above its bound in `most` (default: a billion).

    No sensible setting exceeds its bound: it catches typing errors before memory runs out.
    """
    assert dataclasses.is_dataclass(settings)
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        for number in value if isinstance(value, tuple) else (value,):
            if isinstance(number, bool) or not isinstance(number, int | float):
                continue
            bound = most.get(field.name, 1e9)
            if not -1e9 <= number <= bound:  # also true for nan
                is_finite = isinstance(number, int) or math.isfinite(number)
                shown = f"{number:g}" if isinstance(number, float) else _shown(number)
                raise ConfigError(
                    f"{_dotted(section, field.name)} cannot be {shown}",
                    fix=f"give {bound:,g} or less" if is_finite and number > bound else "give a finite number",
                )


def check_literals(settings: object, *, section: str = "") -> None:
    """Raise an error if a field with a `Literal` type holds another value."""
    for name, hint in typing.get_type_hints(type(settings)).items():
        if get_origin(hint) is Literal:
            check_known(getattr(settings, name), get_args(hint), section=_dotted(section, name), what="choice")


def override(settings: Settings, changes: Iterable[str]) -> Settings:
    """The settings with changes in the form `a.b=value` applied, as `--set` takes them."""
    for change in changes:
        name, value = read_change(change)
        settings = _replace(settings, name.split("."), value, section="")
    return settings


def read_change(change: str) -> tuple[str, Any]:
    """The dotted name and the value in `a.b=value`."""
    name, equals, text = change.partition("=")
    if not equals or not name.strip():
        raise ConfigError(f"--set {change} has no value", fix="write name=value, for example --set training.epochs=30")
    return name.strip(), _parse(text.strip())


def read_toml(kind: type[Settings], path: Path) -> Settings:
    """Settings from a TOML file."""
    return from_dict(kind, toml_values(path))


def toml_values(path: Path) -> dict[str, Any]:
    """The plain values of a TOML file."""
    try:
        return tomllib.loads(read_text(path, error=ConfigError, fix="give a settings file", most=MOST_SETTINGS))
    except FileNotFoundError:
        raise ConfigError(f"there is no settings file {path}", fix="check the path") from None
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, thousands of digits or brackets
        raise ConfigError(f"{path} is not valid TOML: {error}", fix="correct that line; strings need quotes") from None


def write_toml(settings: object, path: Path) -> None:
    """Write all settings to `path`."""
    write_toml_values(to_dict(settings), path)


def write_toml_values(values: Mapping[str, Any], path: Path) -> None:
    """Write plain values to `path`; `toml_values` reads them."""
    write_text(path, tomli_w.dumps(values))


def digest(values: object) -> str:
    """The first 16 digits of the SHA-256 of settings or plain values, equal on every machine."""
    plain = to_dict(values) if dataclasses.is_dataclass(values) else values
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def differences(old: object, new: object) -> list[str]:
    """One line per setting that differs, as `name: old -> new`."""
    before, after = _flat(to_dict(old)), _flat(to_dict(new))
    names = sorted(before.keys() | after.keys())
    return [
        f"{name}: {before.get(name, 'unset')} -> {after.get(name, 'unset')}"
        for name in names
        if before.get(name) != after.get(name)
    ]


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat


def _dotted(section: str, name: str) -> str:
    return f"{section}.{name}" if section else name


def _replace(settings: Settings, path: list[str], value: Any, *, section: str) -> Settings:
    name, rest = path[0], path[1:]
    check_known(name, setting_names(type(settings)), section=section)
    inner = getattr(settings, name)
    dotted = _dotted(section, name)
    if rest:
        if not dataclasses.is_dataclass(inner):
            raise ConfigError(f"{dotted} is a single setting, not a section", fix=f"write --set {dotted}=value")
        changed = _replace(inner, rest, value, section=dotted)
    elif dataclasses.is_dataclass(inner):
        raise ConfigError(
            f"{dotted} is a section, not a single setting",
            fix=f"name one of its settings: {dotted}.{dataclasses.fields(inner)[0].name}=...",
        )
    else:
        changed = _convert(value, typing.get_type_hints(type(settings))[name], dotted)
    return dataclasses.replace(settings, **{name: changed})  # type: ignore[type-var]


def _parse(text: str) -> Any:
    """The TOML value of `text`; a bare word is a string, and `none` is `None`."""
    if text.lower() == "none":
        return None
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    except (ValueError, RecursionError):  # thousands of digits, or of brackets
        raise ConfigError(f"--set cannot take {text[:40]}...", fix="give a shorter value") from None


def _convert(value: Any, hint: Any, name: str) -> Any:
    """`value` converted to the type `hint`, or a `ConfigError` that names the setting."""
    origin, options = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in options:
            return None
        inner = [option for option in options if option is not type(None)]
        for option in inner[:-1]:
            try:
                return _convert(value, option, name)
            except ConfigError:
                continue  # the next type of the union may fit
        return _convert(value, inner[-1], name)
    if origin is Literal:
        if value is None and "none" in options:  # `--set normalise=none`: here the word itself is a choice
            return "none"
        if value not in options:
            raise ConfigError(f"{name} cannot be {value!r}", fix=f"use one of: {', '.join(map(str, options))}")
        return value
    if origin is tuple and isinstance(value, (list, tuple)):
        if options[-1:] == (Ellipsis,):
            return tuple(_convert(item, options[0], name) for item in value)
        if len(value) == len(options):
            return tuple(_convert(item, option, name) for item, option in zip(value, options, strict=True))
    if dataclasses.is_dataclass(hint):
        if isinstance(value, hint):  # type: ignore[arg-type]
            return value
        if isinstance(value, Mapping):
            return from_dict(hint, value, section=name)  # type: ignore[arg-type]
    if hint is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1e300:
        return float(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{name} cannot be {value}", fix="give a finite number")
    if hint is Path and isinstance(value, str) and "\0" not in value:
        return Path(value)
    if hint in (int, float, str, bool) and type(value) is hint:
        return value
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "a word", Path: "a path"}
    raise ConfigError(f"{name} cannot be {_shown(value)}", fix=f"give {words.get(hint, f'a value of {hint}')}")


def _shown(value: Any) -> str:
    if isinstance(value, int) and abs(value) >= 10**24:
        return "a number with so many digits"
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
