"""Nested choice of settings: each fold chooses among given settings on its own training people, then trains once more.

The held-out people have no part in the choice, so a score from it is free of the doubt that settings were chosen on
them. People are kept apart in the inner folds too. It costs choices x inner folds + 1 trainings for each fold.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from epir.core import config
from epir.core.errors import ConfigError
from epir.evaluation.experiment import Experiment
from epir.evaluation.folds import make_folds
from epir.evaluation.samples import Sample
from epir.evaluation.scores import confusion_matrix, uf1
from epir.models.registry import Method, check_network, is_estimator, settings_from_dict
from epir.models.settings import ModelSettings

DEFAULT = "default"  # the settings as they are


@dataclass(frozen=True)
class Chosen:
    """The settings that did best in the inner folds of one fold."""

    choice: str
    scores: dict[str, float]  # UF1 of every choice over the inner folds


def with_choice(experiment: Experiment, choice: str, method: Method | None = None) -> Experiment:
    """The experiment with the settings of a choice, such as `training.lr=1e-4 training.epochs=12`.

    `method` is that of the experiment, where it is not epir's; in a worker the settings have lost their types.
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
    """Refuse choices that cannot be used, before hours of work."""
    if len(experiment.choices) < 2 or len(set(experiment.choices)) < len(experiment.choices):
        raise ConfigError(
            "--nested needs two different choices or more",
            fix=f"for example --nested {DEFAULT} --nested training.lr=1e-4",
        )
    for choice in experiment.choices:
        model = with_choice(experiment, choice, method if experiment.source else None).model
        if method.settings is not ModelSettings:  # which checks itself
            check_network(method, method.with_settings(**config.to_dict(model)))
        if "training." in choice and is_estimator(experiment.model, experiment.source):
            raise ConfigError(
                f"{experiment.model.name!r} trains itself: {choice!r} has no effect on it",
                fix="choose among its own settings, for example --nested model.cost=1 --nested model.cost=10",
            )


def choose(
    experiment: Experiment,
    train: Sequence[Sample],
    predict: Callable[[Experiment, str, tuple[Sample, ...], tuple[Sample, ...]], np.ndarray],
    method: Method | None = None,
) -> Chosen:
    """The choice with the highest UF1 over inner folds of the training clips; the first of equals.

    `predict` trains an experiment on some clips and gives the numbers of the classes (n,) of others.
    """
    sample_of = {sample.clip.key: sample for sample in train}
    clips = [sample.clip for sample in train]
    labels = {sample.clip.key: sample.label for sample in train}
    count = min(experiment.inner_folds, len({clip.person for clip in clips}))
    folds = make_folds(clips, labels, str(count))
    scores = {}
    for choice in experiment.choices:
        changed = with_choice(experiment, choice, method)
        truth: list[str] = []
        guess: list[str] = []
        for fold in folds:
            inside, outside = (tuple(sample_of[clip.key] for clip in side) for side in (fold.train, fold.test))
            answers = predict(changed, f"inner {fold.name}", inside, outside)
            truth += [sample.label for sample in outside]
            guess += [experiment.classes[number] for number in answers]
        scores[choice] = round(float(uf1(confusion_matrix(truth, guess, experiment.classes))), 6)
    return Chosen(max(scores, key=lambda choice: scores[choice]), scores)
