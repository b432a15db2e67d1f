"""What the user chose -> the settings of a model and of its training, complete and checked."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from epir.core.config import from_dict, read_change, refuse_unknown, to_dict
from epir.core.errors import ConfigError
from epir.model.presets import PRESETS as EPIR_PRESETS
from epir.peers.registry import is_pipeline, list_models, model_settings
from epir.training.settings import TrainingSettings, training_preset

FIXED = {"name": "--model", "classes": "the protocol", "map_size": "the map set"}


def choose(
    name: str, *, training: str | None, changes: Iterable[str], classes: int, map_size: int
) -> tuple[Any, TrainingSettings]:
    """The settings of the model `name` and of its training, with `--set` changes applied together."""
    refuse_unknown(name, list_models(), what="model")
    sections = _sections(changes, name)
    model = model_settings(name, **{**sections["model"], "classes": classes, "map_size": map_size})
    recipe = training_preset(training or default_training(name))
    chosen = from_dict(TrainingSettings, to_dict(recipe) | sections["training"], section="training")
    return model, replace(chosen, start=chosen.start.resolve()) if chosen.start else chosen


def default_training(name: str) -> str:
    """The recipe for a model that the user named no recipe for."""
    is_transformer = name in EPIR_PRESETS or name == "htnet"
    return "strict" if is_transformer or is_pipeline(name) else "peer"


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
        refuse_unknown(setting, known[section], section=section)
        if section == "model" and setting in FIXED:
            raise ConfigError(f"model.{setting} follows from {FIXED[setting]}", fix=f"leave out --set {change}")
        sections[section][setting] = value
    return sections
