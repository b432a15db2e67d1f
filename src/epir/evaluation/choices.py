"""What the user chose -> the settings of a model and of its training, complete and checked."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from epir.core.config import read_change, refuse_unknown, to_dict
from epir.core.errors import ConfigError
from epir.models.folder import can_start, find_folder, read_config, shipped_folder
from epir.models.registry import is_pipeline, list_models, model_settings
from epir.models.settings import PRESETS as EPIR_PRESETS
from epir.models.settings import SHIPPED
from epir.training.recipe import OLD_SETTINGS, TrainingSettings, current_name, recipe_from_dict, training_recipe

FIXED = {"name": "--model", "classes": "the protocol", "map_size": "the map set"}


def choose(
    name: str, *, training: str | None, changes: Iterable[str], classes: int, map_size: int
) -> tuple[Any, TrainingSettings]:
    """The settings of the model `name` and of its training, with `--set` changes applied together.

    A network that starts from the weights of a model folder sees its maps as they did: it takes over their
    normalisation unless the user chose one.
    """
    refuse_unknown(name, list_models(), what="model")
    sections = _sections(changes, name)
    model = model_settings(name, **{**sections["model"], "classes": classes, "map_size": map_size})
    recipe = training_recipe(training or default_training(model))
    chosen = recipe_from_dict(to_dict(recipe) | sections["training"])
    if chosen.start is None:
        return model, chosen
    start = chosen.start if chosen.start == SHIPPED else chosen.start.resolve()
    if start == SHIPPED and not can_start(model, shipped_folder()):
        raise ConfigError(
            f"the weights that come with epir do not fit {name!r} with these settings", fix="use --training scratch"
        )
    if "normalise" not in sections["model"]:
        model = replace(model, normalise=_normalisation(find_folder(start), model))
    return model, replace(chosen, start=start)


def default_training(model: Any) -> str:
    """The recipe for a model, by its settings, that the user named no recipe for."""
    if model.name in EPIR_PRESETS and can_start(model, shipped_folder()):
        return "finetune"
    is_transformer = model.name in EPIR_PRESETS or model.name == "htnet"
    return "scratch" if is_transformer or is_pipeline(model.name) else "baseline"


def _normalisation(folder: Path, model: Any) -> Any:
    """That of the model folder, where it says; a folder that is not there is refused when training starts."""
    if not (folder / "config.json").exists():
        return model.normalise
    return read_config(folder).settings.get("normalise", model.normalise)


def _sections(changes: Iterable[str], name: str) -> Mapping[str, dict[str, Any]]:
    known = {
        "model": [each.name for each in fields(model_settings(name))],
        "training": [each.name for each in fields(TrainingSettings)],
    }
    sections: dict[str, dict[str, Any]] = {"model": {}, "training": {}}
    for change in changes:
        dotted, value = read_change(change)
        section, dot, setting = dotted.partition(".")
        if not dot or section not in sections:
            homes = [home for home in known if dotted in known[home]]
            fix = f"did you mean {homes[0]}.{dotted}?" if homes else "begin it with model. or training."
            raise ConfigError(f"there is no setting {dotted!r}", fix=fix)
        if section == "training":
            setting = current_name(setting, OLD_SETTINGS, what="setting")
        refuse_unknown(setting, known[section], section=section)
        if section == "model" and setting in FIXED:
            raise ConfigError(f"model.{setting} follows from {FIXED[setting]}", fix=f"leave out --set {change}")
        sections[section][setting] = value
    return sections
