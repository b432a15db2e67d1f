"""The experiment, a frozen record of everything that decides what a run predicts, and how to derive it from options.

Workers and engines are not part of it: they change how long a run takes, never its predictions.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from epir.core import config
from epir.core.errors import ConfigError, EpirWarning
from epir.core.output import resolved
from epir.evaluation.folds import make_folds
from epir.evaluation.samples import Sample
from epir.evaluation.scores import Column, confusion_matrix, uf1
from epir.models.folder import FREE, can_start, find_folder, read_config, shipped_folder
from epir.models.registry import (
    AnyModel,
    Method,
    Source,
    find_method,
    is_estimator,
    model_settings,
    settings_from_dict,
)
from epir.models.settings import NAMED as EPIR_MODELS
from epir.models.settings import PAPER as PAPER_MODEL
from epir.models.settings import SHIPPED, ModelSettings
from epir.training.recipe import FINETUNE, PAPER, SCRATCH, TrainingSettings, training_recipe

ZERO_SHOT = "zero-shot"
ELSEWHERE = "elsewhere"  # predictions of other software
MOST_SEEDS = 10_000
FIXED = {"name": "--model", "classes": "--protocol", "map_size": "the map set"}  # model settings that follow from these
DEFAULT = "default"  # the choice without changes


@dataclass(frozen=True)
class ForeignModel:
    """A method trained by other software; only its name is known."""

    name: str


@dataclass(frozen=True)
class Experiment:
    """A model, its training, the clips and the folds; equal experiments give equal predictions."""

    protocol: str
    classes: tuple[str, ...]
    model: Any  # the settings of the model; their type depends on `model.name`
    training: TrainingSettings = field(default_factory=TrainingSettings)
    folds: str = "loso"  # loso, loco, split, the number of grouped folds, zero-shot, or elsewhere
    seeds: int = 1  # the seeds are 0, 1, ...
    maps: tuple[str, ...] = ()  # digests of the map sets
    clips: str = ""  # digest of the clips and their labels
    weights: str = ""  # digest of the initial weights or, in zero-shot, of the weights that predict
    choices: tuple[str, ...] = ()  # nested: each fold chooses one of these on its training people
    inner_folds: int = 3  # nested: folds to choose in
    seen_in_training: bool = False  # --allow-seen: people or clips are on both sides, so nothing is strict
    unknown_weights: bool = False  # the weights have no complete record of the people they have seen
    source: Source | None = None  # where the method comes from; None: part of epir

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise ConfigError(f"--seeds must be at least 1, not {self.seeds}", fix="for example --seeds 3")
        if self.seeds > MOST_SEEDS:
            raise ConfigError(f"--seeds is over {MOST_SEEDS}", fix=f"give {MOST_SEEDS} or fewer; 3 is usual")
        if self.folds not in ("loso", "loco", "split", ZERO_SHOT, ELSEWHERE) and not (
            self.folds.isdecimal() and len(self.folds) < 8 and int(self.folds) >= 2
        ):
            raise ConfigError(
                f"--folds cannot be {self.folds!r}",
                fix="use loso, loco, split or a number from 2, for example --folds 10",
            )

    @property
    def digest(self) -> str:
        """A short name for the whole experiment."""
        return config.digest(self)

    @property
    def columns(self) -> tuple[Column, ...]:
        """The score columns, the main one first; runs without epochs (zero-shot, imported) have no best epoch."""
        if self.is_imported:
            return ("not_checked",)
        main: Column = "seen_in_training" if self.seen_in_training else "strict"
        return (main,) if self.is_zero_shot else (main, "best_epoch")

    @property
    def is_zero_shot(self) -> bool:
        """Whether existing weights predict every clip once, without training."""
        return self.folds == ZERO_SHOT

    @property
    def is_imported(self) -> bool:
        """Whether the predictions come from other software."""
        return self.folds == ELSEWHERE


def read_experiment(path: Path) -> Experiment:
    """Read the experiment from a run's `config.toml`."""
    values = config.toml_values(path)
    try:
        return experiment_from(values)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error.problem}", fix=error.fix) from None


def experiment_from(values: Mapping[str, Any]) -> Experiment:
    """Build an experiment from plain values, as `core.config.to_dict` writes them."""
    plain = dict(values)
    for name in plain:
        config.check_known(name, [field.name for field in fields(Experiment)])
    model = plain.pop("model", None)
    if not isinstance(model, Mapping) or "name" not in model:
        raise ConfigError("[model] has no name", fix='write name = "epir" under [model]')
    source = config.check_type(plain.pop("source", None), Experiment, "source")
    imported = plain.get("folds") == ELSEWHERE
    settings = config.from_dict(ForeignModel, model, section="model") if imported else settings_from_dict(model, source)
    training = config.from_dict(TrainingSettings, plain.pop("training", {}), section="training")
    for name in ("protocol", "classes"):
        if name not in plain:
            raise ConfigError(f"there is no {name} in these settings", fix="restore the file from a copy")
    checked = {name: config.check_type(value, Experiment, name) for name, value in plain.items()}
    return Experiment(model=settings, training=training, source=source, **checked)


def setting_differences(first: Experiment, second: Experiment) -> list[str]:
    """Return one line per setting that differs, and one line for the settings that only one model has.

    Training settings that have no effect on one of the two are left out.
    """
    ours, theirs = (set(config.setting_names(type(experiment.model))) for experiment in (first, second))
    unshared = {f"model.{name}" for name in ours ^ theirs}
    lines = []
    for line in config.differences(first, second):
        name = line.partition(":")[0]
        if name not in unshared and _has_effect(name, first) and _has_effect(name, second):
            lines.append(line)
    for experiment, names in ((first, ours - theirs), (second, theirs - ours)):
        if names:
            lines.append(f"settings only {experiment.model.name} has: {', '.join(sorted(names))}")
    return lines


def _has_effect(name: str, experiment: Experiment) -> bool:
    """Whether a setting decides something: estimators and other software have no training of epir, zero-shot none."""
    if not name.startswith("training."):
        return True
    if experiment.is_zero_shot:
        return name.endswith("_at_prediction")
    return not experiment.is_imported and not is_estimator(experiment.model, experiment.source)


class Resolved(NamedTuple):
    """A method with complete settings, and notes on defaults that did not fit."""

    method: Method
    model: Any
    training: TrainingSettings  # its `start` is a name only
    start: Path | None = None  # the model folder that training starts from
    notes: tuple[str, ...] = ()


def resolve_settings(
    model: AnyModel, *, training: str | None, changes: Iterable[str], classes: int, map_size: int
) -> Resolved:
    """Return the method, its settings and its training settings, with all `--set` changes applied.

    A network that starts from a model folder takes over its normalisation unless the user chose another. If the user
    named no recipe and the model's default does not fit, another recipe is used, with a warning.
    """
    method = find_method(model)
    sections = read_changes(changes, method)
    if method.kind == "estimator":
        _check_trains_itself(method, training, sections["training"])
    settings = method.with_settings(**{**sections["model"], "classes": classes, "map_size": map_size})
    method.check_logits(settings)
    recipe = training_recipe(training or default_recipe(method, settings))
    chosen = config.from_dict(TrainingSettings, config.to_dict(recipe) | sections["training"], section="training")
    notes = () if training else _substitution(method, settings, chosen)
    for note in notes:
        warnings.warn(note, EpirWarning, stacklevel=3)
    if chosen.start is None:
        return Resolved(method, settings, chosen, notes=notes)
    if chosen.start == SHIPPED and not can_start(settings, shipped_folder()):
        raise ConfigError(
            f"the shipped weights do not fit {method.name!r} with these settings", fix=f"use --training {SCRATCH}"
        )
    start = resolved(find_folder(chosen.start))
    if "normalise" not in sections["model"]:
        settings = replace(settings, normalise=_normalisation(start, settings))
    named = chosen.start if chosen.start == SHIPPED else Path(chosen.start.name)
    return Resolved(method, settings, replace(chosen, start=named), start, notes)


def _check_trains_itself(method: Method, training: str | None, changes: Mapping[str, Any]) -> None:
    """Raise an error for training options, which have no effect on an estimator."""
    if training is not None or changes:
        what = f"--training {training}" if training is not None else f"--set training.{next(iter(changes))}"
        raise ConfigError(
            f"{method.name!r} trains itself: {what} has no effect on it",
            fix="leave it out, or change the method's own settings with --set model.NAME=VALUE",
        )


def default_recipe(method: Method, settings: Any) -> str:
    """Return the default recipe of a method with these settings."""
    if method.name == PAPER_MODEL.name:
        return PAPER
    if method.name in EPIR_MODELS:
        return FINETUNE if can_start(settings, shipped_folder()) else SCRATCH
    return method.recipe


def first_weights(training: TrainingSettings) -> str:
    """Describe the initial weights in words."""
    if training.start is None:
        return "random weights"
    return "the shipped weights" if training.start == SHIPPED else f"the weights in {training.start.name}"


def _substitution(method: Method, model: Any, used: TrainingSettings) -> tuple[str, ...]:
    """Return a note if these settings change the model's default recipe."""
    if method.name not in EPIR_MODELS:
        return ()
    usual = model_settings(method.name)
    before = default_recipe(method, usual)
    if before == default_recipe(method, model):
        return ()
    mine, default = config.to_dict(model), config.to_dict(usual)
    changed = [
        f"model.{name}={value} (not {default[name]})"
        for name, value in mine.items()
        if name not in FREE and value != default[name]
    ]
    return (
        f"the shipped weights do not fit {model.name} with {', '.join(changed)}: training uses the recipe {used.name} "
        f"(training.epochs {used.epochs}, {first_weights(used)}, model.normalise {model.normalise}) instead of the "
        f"default {before}. The scores are not comparable with those of {before}.",
    )


def _normalisation(folder: Path, model: Any) -> Any:
    """Return the normalisation of a model folder; a missing folder is reported when training starts."""
    if not (folder / "config.json").exists():
        return model.normalise
    return read_config(folder).settings.get("normalise", model.normalise)


def read_changes(changes: Iterable[str], method: Method) -> Mapping[str, dict[str, Any]]:
    """Sort `--set` changes into model and training settings; the error for an unknown name suggests the nearest."""
    kinds = {"model": method.settings, "training": TrainingSettings}
    sections: dict[str, dict[str, Any]] = {"model": {}, "training": {}}
    for change in changes:
        dotted, value = config.read_change(change)
        section, dot, setting = dotted.partition(".")
        if not dot or section not in sections:
            homes = [home for home in kinds if dotted in config.setting_names(kinds[home])]
            fix = f"did you mean {homes[0]}.{dotted}?" if homes else "start the name with model. or training."
            raise ConfigError(f"there is no setting {dotted!r}", fix=fix)
        config.check_known(setting, config.setting_names(kinds[section]), section=section)
        if section == "model" and setting in FIXED:
            raise ConfigError(f"model.{setting} is determined by {FIXED[setting]}", fix=f"leave out --set {change}")
        sections[section][setting] = value
    return sections


def with_choice(experiment: Experiment, choice: str, method: Method | None = None) -> Experiment:
    """Apply a choice such as `training.lr=1e-4 training.epochs=12` to the experiment.

    `method` is needed if it is not part of epir: in a worker its settings have lost their types.
    """
    values = config.to_dict(experiment.model)
    model = settings_from_dict(values) if method is None else method.settings(**values)
    sections = {"model": model, "training": experiment.training}
    for change in choice.split() if choice != DEFAULT else ():
        section, dot, rest = change.partition(".")
        if not dot or section not in sections:
            raise ConfigError(
                f"there is no setting {change!r} to choose", fix="write model.NAME=VALUE or training.NAME=VALUE"
            )
        if change.partition("=")[0].strip() in ("training.start", "model.classes", "model.map_size", "model.name"):
            raise ConfigError(f"{change!r} cannot be chosen inside a fold", fix="give it with --set or --model instead")
        sections[section] = config.override(sections[section], [rest])
    return replace(experiment, **sections, choices=())


def check_choices(experiment: Experiment, method: Method) -> None:
    """Raise an error for choices that cannot work, before any training."""
    if len(experiment.choices) < 2 or len(set(experiment.choices)) < len(experiment.choices):
        raise ConfigError(
            "--nested needs two different choices or more",
            fix=f"for example --nested {DEFAULT} --nested training.lr=1e-4",
        )
    for choice in experiment.choices:
        model = with_choice(experiment, choice, method if experiment.source else None).model
        if method.settings is not ModelSettings:  # validates itself
            method.check_logits(method.with_settings(**config.to_dict(model)))
        if "training." in choice and is_estimator(experiment.model, experiment.source):
            raise ConfigError(
                f"{experiment.model.name!r} trains itself: {choice!r} has no effect on it",
                fix="choose among its own settings, for example --nested model.cost=1 --nested model.cost=10",
            )


def inner_scores(
    experiment: Experiment,
    train: Sequence[Sample],
    predict: Callable[[Experiment, str, tuple[Sample, ...], tuple[Sample, ...]], np.ndarray],
    method: Method | None = None,
) -> dict[str, float]:
    """Return the UF1 of every choice over inner folds of the training clips.

    `predict(experiment, name, train, test)` trains on some clips and returns the class numbers (n,) of the others.
    """
    sample_of = {sample.clip.key: sample for sample in train}
    clips = [sample.clip for sample in train]
    labels = {sample.clip.key: sample.label for sample in train}
    count = min(experiment.inner_folds, len({clip.person for clip in clips}))
    folds = make_folds(clips, labels, str(count))
    scores: dict[str, float] = {}
    for choice in experiment.choices:
        changed = with_choice(experiment, choice, method)
        truth: list[str] = []
        guess: list[str] = []
        for fold in folds:
            inside, outside = (tuple(sample_of[clip.key] for clip in side) for side in (fold.train, fold.test))
            numbers = predict(changed, f"inner {fold.name}", inside, outside)
            truth += [sample.label for sample in outside]
            guess += [experiment.classes[number] for number in numbers]
        scores[choice] = round(float(uf1(confusion_matrix(truth, guess, experiment.classes))), 6)
    return scores
