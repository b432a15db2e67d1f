"""Everything that decides what a run predicts, in one frozen record, and how it follows from what the user asked for.

Workers and engines are not part of it: they decide how long a run takes, never its predictions.
"""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

from epir.core import config
from epir.core.errors import ConfigError, EpirWarning
from epir.core.output import real
from epir.evaluation.scores import Column
from epir.models.folder import FREE, can_start, find_folder, read_config, shipped_folder
from epir.models.registry import is_pipeline, list_models, model_settings, settings_from_dict
from epir.models.settings import NAMED as EPIR_MODELS
from epir.models.settings import PAPER as PAPER_MODEL
from epir.models.settings import SHIPPED
from epir.training.recipe import BASELINE, FINETUNE, PAPER, SCRATCH, TrainingSettings, training_recipe

ZERO_SHOT = "zero-shot"
MOST_SEEDS = 10_000
FIXED = {
    "name": "--model",
    "classes": "--protocol",
    "map_size": "the map set",
    "views": "the map set",
}  # what decides these model settings


@dataclass(frozen=True)
class Experiment:
    """What is trained, how, on which clips, and who is held out; equal experiments give equal predictions."""

    protocol: str
    classes: tuple[str, ...]
    model: Any  # the settings of the model; their class depends on `model.name`
    training: TrainingSettings = field(default_factory=TrainingSettings)
    folds: str = "loso"  # loso, loco, split, the number of grouped folds, or zero-shot
    seeds: int = 1  # the seeds are 0, 1, ...
    maps: tuple[str, ...] = ()  # digests of the map sets
    clips: str = ""  # digest of the clips that take part and their labels
    weights: str = ""  # digest of the weights that training starts from or, in zero-shot, that predict
    choices: tuple[str, ...] = ()  # settings of which each fold chooses on its own training people; none: no choice
    inner_folds: int = 3  # in which it chooses
    seen_in_training: bool = False  # people or clips were on both sides, and --allow-seen was given: nothing is strict

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise ConfigError(f"--seeds must be at least 1, not {self.seeds}", fix="for example --seeds 3")
        if self.seeds > MOST_SEEDS:
            raise ConfigError("these are too many --seeds", fix=f"give {MOST_SEEDS} or fewer; 3 is usual")
        if self.folds not in ("loso", "loco", "split", ZERO_SHOT) and not (
            self.folds.isdecimal() and len(self.folds) < 8 and int(self.folds) >= 2
        ):
            raise ConfigError(
                f"--folds cannot be {self.folds!r}",
                fix="use loso, loco, split or a number from 2, for example --folds 10",
            )

    @property
    def digest(self) -> str:
        """A short name for all of it."""
        return config.digest(self)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The kinds of scores, the main one first: a zero-shot run has no epochs, so it has no best epoch."""
        main: Column = "seen_in_training" if self.seen_in_training else "strict"
        return (main,) if self.is_zero_shot else (main, "best_epoch")

    @property
    def is_zero_shot(self) -> bool:
        """Whether given weights predict every clip once, without any training."""
        return self.folds == ZERO_SHOT


def read_experiment(path: Path) -> Experiment:
    """The experiment in a run's `config.toml`."""
    values = config.toml_values(path)
    try:
        return experiment_from(values)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error.problem}", fix=error.fix) from None


def experiment_from(values: Mapping[str, Any]) -> Experiment:
    """The experiment of plain values, as `core.config.to_dict` gives them."""
    plain = dict(values)
    for name in plain:
        config.refuse_unknown(name, [each.name for each in fields(Experiment)])
    model = plain.pop("model", None)
    if not isinstance(model, Mapping) or "name" not in model:
        raise ConfigError("[model] has no name", fix='write name = "epir" under [model]')
    settings = settings_from_dict(model)
    training = config.from_dict(TrainingSettings, plain.pop("training", {}), section="training")
    if training.start is not None:
        training = replace(training, start=Path(training.start.name))  # older versions stored the path
    for name in ("protocol", "classes"):
        if name not in plain:
            raise ConfigError(f"there is no {name} in these settings", fix="restore the file from a copy")
    checked = {name: config.check_type(value, Experiment, name) for name, value in plain.items()}
    return Experiment(model=settings, training=training, **checked)


class Resolved(NamedTuple):
    """Complete settings, and notes on defaults that could not be used."""

    model: Any
    training: TrainingSettings
    notes: tuple[str, ...] = ()


def resolve_settings(
    name: str, *, training: str | None, changes: Iterable[str], classes: int, map_size: int, views: int = 1
) -> Resolved:
    """The settings of the model `name` and of its training, with all `--set` changes applied.

    A network that starts from the weights of a model folder takes over their normalisation unless the user chose one.
    Where the user named no recipe and the model's default cannot be used, another is, with a warning.
    """
    config.refuse_unknown(name, list_models(), what="model")
    sections = _sections(changes, name)
    model = model_settings(name, **{**sections["model"], "classes": classes, "map_size": map_size})
    model = with_views(model, views)
    recipe = training_recipe(training or default_recipe(model))
    chosen = config.from_dict(TrainingSettings, config.to_dict(recipe) | sections["training"], section="training")
    if getattr(model, "unit_path", False) and not chosen.action_units:
        raise ConfigError(
            "model.unit_path leads the classes through the action units, which training does not learn",
            fix="add --set training.action_units=1, or leave it out",
        )
    notes = () if training else _substitution(model, chosen)
    for note in notes:
        warnings.warn(note, EpirWarning, stacklevel=3)
    if chosen.start is None:
        return Resolved(model, chosen, notes)
    start = chosen.start if chosen.start == SHIPPED else real(chosen.start)
    if start == SHIPPED and not can_start(model, shipped_folder()):
        raise ConfigError(
            f"the shipped weights do not fit {name!r} with these settings", fix=f"use --training {SCRATCH}"
        )
    if "normalise" not in sections["model"]:
        model = replace(model, normalise=_normalisation(find_folder(start), model))
    return Resolved(model, replace(chosen, start=start), notes)


def with_views(model: Any, views: int) -> Any:
    """The settings of a model for so many maps per clip; models other than EPIR take one."""
    if hasattr(model, "views"):
        return replace(model, views=views)
    if views > 1:
        raise ConfigError(
            f"{model.name!r} takes one map per clip, and the map set has {views}",
            fix="use --model epir-seq, or a map set of one view",
        )
    return model


def default_recipe(model: Any) -> str:
    """The recipe for a model, by its settings, that the user named no recipe for."""
    if model.name == PAPER_MODEL.name:
        return PAPER
    if model.name in EPIR_MODELS and can_start(model, shipped_folder()):
        return FINETUNE
    is_transformer = model.name in EPIR_MODELS or model.name == "htnet"
    return SCRATCH if is_transformer or is_pipeline(model.name) else BASELINE


def first_weights(training: TrainingSettings) -> str:
    """What training starts from, in words."""
    if training.start is None:
        return "random weights"
    return "the shipped weights" if training.start == SHIPPED else f"the weights in {training.start.name}"


def _substitution(model: Any, used: TrainingSettings) -> tuple[str, ...]:
    """A note where these settings have another default recipe than the model's usual settings have."""
    usual = with_views(model_settings(model.name), getattr(model, "views", 1))
    before = default_recipe(usual)
    if before == default_recipe(model):
        return ()
    now, then = config.to_dict(model), config.to_dict(usual)
    changed = [
        f"model.{name}={now[name]} (not {then[name]})" for name in now if name not in FREE and now[name] != then[name]
    ]
    return (
        f"the shipped weights do not fit {model.name} with {', '.join(changed)}: training uses the recipe {used.name} "
        f"(training.epochs {used.epochs}, {first_weights(used)}, model.normalise {model.normalise}) instead of the "
        f"default {before}. The scores are not comparable with those of {before}.",
    )


def _normalisation(folder: Path, model: Any) -> Any:
    """That of the model folder, where it says; a folder that is not there is refused when training starts."""
    if not (folder / "config.json").exists():
        return model.normalise
    return read_config(folder).settings.get("normalise", model.normalise)


def _sections(changes: Iterable[str], name: str) -> Mapping[str, dict[str, Any]]:
    """The `--set` changes as settings of the model `name` and of its training."""
    kinds = {"model": type(model_settings(name)), "training": TrainingSettings}
    sections: dict[str, dict[str, Any]] = {"model": {}, "training": {}}
    for change in changes:
        dotted, value = config.read_change(change)
        section, dot, setting = dotted.partition(".")
        if not dot or section not in sections:
            homes = [home for home in kinds if dotted in config.setting_names(kinds[home])]
            fix = f"did you mean {homes[0]}.{dotted}?" if homes else "start the name with model. or training."
            raise ConfigError(f"there is no setting {dotted!r}", fix=fix)
        setting = config.current_name(setting, kinds[section], section=section)
        if section == "model" and setting in FIXED:
            raise ConfigError(f"model.{setting} follows from {FIXED[setting]}", fix=f"leave out --set {change}")
        sections[section][setting] = value
    return sections
