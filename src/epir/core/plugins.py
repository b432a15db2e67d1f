"""Load a user's code: `FILE.py:name`, `package.module:name`, or the entry point of an installed package.

Only code that the user names is imported. Functions of a file cannot be pickled by reference, so jobs for other
processes carry `Plugin.reference` and load the object there; each process imports a file once.
"""

import hashlib
import importlib.util
import re
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from functools import lru_cache
from importlib.metadata import EntryPoint, PackageNotFoundError, distribution, entry_points, packages_distributions
from pathlib import Path
from types import ModuleType
from typing import Any

from epir.core.errors import ConfigError, EpirError
from epir.core.files import MOST_SETTINGS, read_bytes
from epir.core.words import did_you_mean


@dataclass(frozen=True, slots=True)
class Plugin:
    """Where a user's object comes from; stored with everything made by it."""

    name: str  # as the user wrote it
    source: str  # the source file; empty for a module without one
    digest: str  # the first 16 digits of the SHA-256 of that file
    distribution: str = ""  # the installed package that contains it
    version: str = ""

    @property
    def reference(self) -> str:
        """The name that loads the same object from any folder."""
        file, _, attribute = self.name.rpartition(":")
        return f"{self.source}:{attribute}" if file.endswith(".py") else self.name

    def to_dict(self) -> dict[str, str]:
        """The record without the path of the file, which differs between machines."""
        return {key: value for key, value in asdict(self).items() if value and key != "source"}


def is_plugin_name(name: str) -> bool:
    """Whether a name refers to code: `my_net.py:MyNet` or `package.module:name`."""
    return ":" in name or name.endswith(".py")


def list_plugins(group: str) -> tuple[str, ...]:
    """The names that installed packages register under an entry-point group; nothing is imported."""
    return tuple(sorted({entry.name for entry in entry_points(group=group)}))


def load_object(
    name: str,
    *,
    group: str,
    what: str,
    error: type[EpirError] = ConfigError,
    known: Iterable[str] = (),
    accepts: Callable[[Any], bool] = callable,
) -> tuple[Any, Plugin]:
    """The object called `name`, for which `accepts` must be true, and where it comes from.

    `known` are further names that the caller accepts, to suggest for a misspelt one.
    """
    try:
        module, attribute, plugin = _named(name, what) if is_plugin_name(name) else _installed(name, group, what, known)
        return _attribute(module, attribute, name, what, accepts), plugin
    except ConfigError as fault:
        raise error(fault.problem, fix=fault.fix) from None


def call_failed(plugin: Plugin, fault: BaseException, *, error: type[EpirError]) -> EpirError:
    """The error for a user's function that failed, with the line number in its file."""
    words = " ".join(traceback.format_exception_only(fault)[-1].split())
    lines = [frame.lineno for frame in traceback.extract_tb(fault.__traceback__) if frame.filename == plugin.source]
    where = f"{plugin.name}, line {lines[-1]}," if lines else plugin.name
    return error(f"{where} failed: {words}", fix="correct that function")


def _named(name: str, what: str) -> tuple[ModuleType, str, Plugin]:
    """The module, the attribute and the record for `FILE.py:name` or `package.module:name`."""
    place, _, attribute = name.rpartition(":")
    if not place or not attribute:
        raise ConfigError(f"{name!r} names no {what}", fix=f"write the name after a colon: {place or attribute}:NAME")
    if not place.endswith(".py"):
        module = _import_module(place, name)
        return module, attribute, _record(name, module)
    path = Path(place).expanduser().absolute()
    try:
        content = read_bytes(path, error=ConfigError, fix="give a Python file", most=MOST_SETTINGS)
    except FileNotFoundError:
        raise ConfigError(f"there is no file {place}", fix=f"check the path; it should define the {what}") from None
    try:
        module = _module_of(path, content)
    except (Exception, SystemExit) as fault:
        raise _import_failed(path.name, name, fault, str(path)) from None
    return module, attribute, Plugin(name, str(path), _digest(content))


def _installed(name: str, group: str, what: str, known: Iterable[str]) -> tuple[ModuleType, str, Plugin]:
    """The same for the entry point of an installed package."""
    entries: dict[str, EntryPoint] = {entry.name: entry for entry in entry_points(group=group)}
    if name not in entries:
        names = {*entries, *known}
        install = f"write FILE.py:NAME or install a package with {group}"
        raise ConfigError(f"there is no {what} {name!r}", fix=did_you_mean(name, names, most=2) if names else install)
    entry = entries[name]
    module = _import_module(entry.module, name)
    return module, entry.attr or "", _record(name, module, entry.dist.name if entry.dist else "")


@lru_cache(maxsize=64)
def _module_of(path: Path, content: bytes) -> ModuleType:
    """The file as a module with a unique name; it can import from its folder, which is last on the path."""
    stem = re.sub(r"\W", "_", path.stem)
    title = f"epir_plugin_{stem}_{_digest(str(path).encode() + content)}"
    spec = importlib.util.spec_from_file_location(title, path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[title] = module  # dataclasses and pickle look it up there
    sys.path.append(str(path.parent))
    try:
        exec(compile(content, str(path), "exec"), module.__dict__)  # the bytes that were digested
    except BaseException:
        del sys.modules[title]
        raise
    finally:
        sys.path.remove(str(path.parent))
    return module


def _import_module(place: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(place)
    except (Exception, SystemExit) as fault:
        missing = fault.name if isinstance(fault, ModuleNotFoundError) else None
        if missing is not None and (place == missing or place.startswith(f"{missing}.")):
            raise ConfigError(
                f"there is no module {place!r} for {name}", fix="install its package, or write FILE.py:NAME"
            ) from None
        raise _import_failed(place, name, fault, "") from None


def _import_failed(place: str, name: str, fault: BaseException, path: str) -> ConfigError:
    """The error for an import that failed: the exception, and the line of the user's file."""
    words = traceback.format_exception_only(fault)[-1].strip()
    lines = [frame.lineno for frame in traceback.extract_tb(fault.__traceback__) if path in ("", frame.filename)]
    line = fault.lineno if isinstance(fault, SyntaxError) else next(reversed(lines), None)
    where = f"{place}, line {line}," if line and path else place
    return ConfigError(f"{where} cannot be imported: {words}", fix=f"correct that line, or install what {name} needs")


def _attribute(module: ModuleType, attribute: str, name: str, what: str, accepts: Callable[[Any], bool]) -> Any:
    value: Any = module
    for part in attribute.split("."):
        if not hasattr(value, part):
            names = [other for other in vars(value) if not other.startswith("_") and callable(getattr(value, other))]
            near = get_close_matches(part, names, n=1)
            raise ConfigError(
                f"{name} cannot be loaded: there is no {part!r} in it",
                fix=f"did you mean {near[0]!r}?" if near else f"it has: {', '.join(names) or 'nothing to call'}",
            )
        value = getattr(value, part)
    if not accepts(value):
        problem = f"{name} is a value of type {type(value).__name__}, not a {what}"
        raise ConfigError(problem, fix="name a function or a class")
    return value


def _record(name: str, module: ModuleType, package: str = "") -> Plugin:
    """The record of an imported module; without `package`, its distribution is looked up."""
    source = getattr(module, "__file__", None) or ""
    content = Path(source).read_bytes() if source and Path(source).is_file() else b""
    owners = packages_distributions().get(module.__name__.partition(".")[0], [])
    package = package or next(iter(owners), "")
    try:
        version = distribution(package).version if package else ""
    except PackageNotFoundError:
        version = ""
    return Plugin(name, source, _digest(content) if content else "", package, version)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
