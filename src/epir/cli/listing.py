"""The verb `list`: the names that the other verbs know, one line each."""

import ast
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import typer

from epir.cli.evaluate import Json
from epir.core.config import Described, describe

What = Literal["models", "protocols", "recipes", "corpora", "settings"]


def list_(
    what: Annotated[What, typer.Argument(help=f"{', '.join(get_args(What))}.")],
    show: Annotated[
        str | None, typer.Option(help="Print the file of this protocol, to copy from.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """List what can be named: models, protocols, training recipes, corpora, or settings for --set.

    Example: epir list models

    Example: epir list protocols --show cde > mine.toml
    """
    from epir.cli.console import emit_json, stdout

    if show is not None:
        _show(what, show, as_json=json)
        return
    found = _LISTS[what]()
    if json:
        emit_json({what: [{"name": name, "about": about} for name, about in found.items()]})
        return
    widest = max(map(len, found))
    for name, about in found.items():
        stdout.print(f"{name:{widest}}  {about}", markup=False)


def _show(what: What, name: str, *, as_json: bool) -> None:
    from epir.cli.console import emit_json, stdout
    from epir.core.errors import ConfigError
    from epir.datasets.protocols import protocol_text

    if what != "protocols":
        raise ConfigError(f"--show prints protocols, not {what}", fix=f"epir list protocols --show {name}")
    text = protocol_text(name)
    if as_json:
        emit_json({"protocol": name, "text": text})
    else:
        stdout.print(text, end="", markup=False, highlight=False, soft_wrap=True)


def _models() -> dict[str, str]:
    from epir.models.registry import about_models

    return {name: about or _first_line(module) for name, (module, about) in about_models().items()}


def _protocols() -> dict[str, str]:
    from epir.datasets.protocols import describe_protocols

    return describe_protocols()


def _recipes() -> dict[str, str]:
    from epir.training.recipe import ABOUT

    return dict(ABOUT)


def _corpora() -> dict[str, str]:
    from epir.datasets.registry import describe_corpora

    return describe_corpora()


def _settings() -> dict[str, str]:
    from epir.faces.settings import FaceSettings
    from epir.flow.recipe import FlowSettings
    from epir.models.settings import ModelSettings
    from epir.training.recipe import TrainingSettings

    sections: Mapping[str, type] = {
        "model": ModelSettings,
        "training": TrainingSettings,
        "face": FaceSettings,
        "flow": FlowSettings,
    }
    fixed = {"model.name", "model.classes", "training.name"}  # --model, --protocol and --training say these
    return {
        f"{section}.{setting.name}": _setting_line(setting)
        for section, kind in sections.items()
        for setting in describe(kind)
        if f"{section}.{setting.name}" not in fixed
    }


def _setting_line(setting: Described) -> str:
    """As `--set` takes it: `true`, `none`."""
    default: Any = (
        str(setting.default).lower()
        if setting.default is None or isinstance(setting.default, bool)
        else setting.default
    )
    return f"{setting.kind}, default {default}" + (f": {setting.about}" if setting.about else "")


def _first_line(module: str) -> str:
    """The first line of a module's docstring, without importing it: lists must be quick."""
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None
    return (ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or "").splitlines()[0]


_LISTS: Mapping[What, Callable[[], dict[str, str]]] = {
    "models": _models,
    "protocols": _protocols,
    "recipes": _recipes,
    "corpora": _corpora,
    "settings": _settings,
}
