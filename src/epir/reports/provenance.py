"""The end of a page: provenance (command, machine, versions, digests, all settings) and the glossary."""

from collections.abc import Mapping
from shlex import quote
from typing import Any, Final

import tomli_w

from epir.core.config import to_dict
from epir.core.table import Column, Row, Table
from epir.core.words import counted
from epir.evaluation.comparison import training_of
from epir.evaluation.experiment import FIXED, default_recipe
from epir.evaluation.store import NOT_CHECKED, SEEN, Run
from epir.evaluation.table import COLUMN_NAMES, LEVEL
from epir.models.registry import find_method, is_estimator, model_settings
from epir.reports.markup import Markup, element, html_table, join
from epir.training.recipe import RECIPES, TrainingSettings

GLOSSARY: Final = (
    (
        COLUMN_NAMES["strict"],
        "The result. Each person is predicted once, by a model trained on other people for a number of epochs fixed "
        "beforehand. Nothing about the held-out person is used before that prediction.",
    ),
    (
        COLUMN_NAMES["best_epoch"],
        "Each held-out person is predicted after every epoch, and the best epoch for that person is kept, as in much "
        "published code. This uses the answers, so it is too high; it is shown only for comparison with published "
        "tables.",
    ),
    (
        SEEN,
        "Replaces strict with --allow-seen: the weights were trained on people or clips of the evaluation, or on "
        "copies of them. The score says nothing about other people.",
    ),
    (
        NOT_CHECKED,
        "Replaces strict for predictions of other software: it is not known how the epoch was chosen, and on whom the "
        "method was trained.",
    ),
    (
        "published",
        "A score from the paper's tables, with how its epoch was chosen as far as that is known: last epoch, best "
        "epoch (leaks), or unknown.",
    ),
    ("training", "The training recipe. Compare runs with the same recipe and the same first weights."),
    (
        "first weights",
        "The weights that training starts from: random, shipped (those that come with EPIR, trained on synthetic "
        "faces), or a model folder. For a zero-shot run: the weights that predict.",
    ),
    (
        "UF1",
        "The F1 score of each class, averaged without weights, from one confusion matrix pooled over all folds: a "
        "rare class counts as much as a frequent one.",
    ),
    ("UAR", "The recall of each class, averaged without weights, from the same pooled matrix. Chance: 1 / classes."),
    ("accuracy", "The share of correct answers. Always answering the most frequent class can score well."),
    (
        "interval",
        f"{LEVEL} of the scores when people are resampled with replacement. People are resampled, not clips, since "
        "the clips of one person resemble each other.",
    ),
    ("fold", "One training run: some people are held out; the model learns from all others and predicts those."),
    (
        "map",
        "The input of the model: the optical flow between onset and apex (u to the right, v downwards) and its strain.",
    ),
    (
        "token",
        "The model starts with one token per patch of the map and merges the most similar pairs; at the end each head "
        "selects the token with the most attention.",
    ),
    ("rollout", "The attention of the class token on each patch of the map, multiplied through the blocks."),
)


def provenance_part(run: Run) -> Markup:
    """Return the section with the command, the environment and all settings."""
    settings = tomli_w.dumps(to_dict(run.experiment))
    return join(
        element("pre", command(run)),
        html_table(environment_table(run)),
        element("details", element("summary", "Every setting (config.toml)"), element("pre", settings)),
    )


def glossary_part() -> Markup:
    """Return the glossary."""
    entries = [join(element("dt", word), element("dd", meaning)) for word, meaning in GLOSSARY]
    return element("dl", *entries, class_="glossary")


def command(run: Run) -> str:
    """Return the command that reproduces this run, without options at their defaults."""
    experiment = run.experiment
    folders = [entry.get("folder") or "MAPS" for entry in _map_entries(run)] or ["MAPS"]
    names = [folder.rstrip("/").split("/")[-1] for folder in folders]
    words = ["epir", "evaluate", *names, "--protocol", experiment.protocol]
    if experiment.is_imported:
        words = ["epir", "import-predictions", str(run.environment.get("imported", {}).get("table", "TABLE"))]
        words += ["--protocol", experiment.protocol, "--name", experiment.model.name, "--out", run.folder.name]
        return " ".join(map(quote, words))
    words += ["--target", "units"] if "clips_without_units" in run.environment else []
    words += ["--allow-seen"] if experiment.seen_in_training else []
    if experiment.is_zero_shot:
        weights = [] if training_of(experiment).first_weights == "shipped" else ["--weights", "MODEL"]
        return " ".join(map(quote, [*words, "--zero-shot", *weights, "--out", run.folder.name]))
    source = experiment.source
    words += ["--model", source.reference if source else experiment.model.name]
    words += ["--folds", experiment.folds] if experiment.folds != "loso" else []
    words += ["--seeds", str(experiment.seeds)] if experiment.seeds > 1 else []
    recipe = experiment.training.name
    usual = None if source else model_settings(experiment.model.name)
    if source or recipe != default_recipe(find_method(experiment.model.name), experiment.model):
        words += ["--training", recipe] if not is_estimator(experiment.model, source) else []
    words += _changes("model", usual, experiment.model, leave_out=tuple(FIXED))
    words += _changes("training", RECIPES.get(recipe, TrainingSettings()), experiment.training, leave_out=("name",))
    words += [word for choice in experiment.choices for word in ("--nested", choice)]
    return " ".join(map(quote, [*words, "--out", run.folder.name]))


def environment_table(run: Run) -> Table:
    """Tabulate digests, versions and machine."""
    rows = [Row(("experiment", run.experiment.digest))]
    for number, entry in enumerate(_map_entries(run), start=1):
        recipe = entry.get("recipe")
        flow = f", flow recipe {recipe['name']}" if isinstance(recipe, Mapping) and "name" in recipe else ""
        about = f"{counted(entry['clips'], 'clip')}, {entry.get('size', '?')} px{flow}; " if "clips" in entry else ""
        rows.append(Row((f"maps {number}", f"{about}sha256 {str(entry.get('digest', ''))[:16]}")))
    rows += [Row((name, text)) for name, text in _flat({**run.environment, "maps": {}, "command": {}})]
    return Table("environment", "Environment", (Column("what"), Column("value")), tuple(rows))


def _map_entries(run: Run) -> list[Mapping[str, Any]]:
    entries = run.environment.get("maps") or [{"digest": digest} for digest in run.experiment.maps]
    return [entry for entry in entries if isinstance(entry, Mapping)]


def _changes(section: str, default: object, actual: object, leave_out: tuple[str, ...] = ()) -> list[str]:
    """Return `--set` options for every setting that differs from the default."""
    before, after = to_dict(default) if default else {}, to_dict(actual)
    changed = [name for name in after if name not in leave_out and after[name] != before.get(name)]
    return [word for name in changed for word in ("--set", f"{section}.{name}={after[name]}")]


def _flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Flatten nested values into names and texts."""
    lines: list[tuple[str, str]] = []
    for name, value in values.items():
        is_nested = isinstance(value, Mapping)
        if is_nested and value and not any(isinstance(inner, Mapping | list) for inner in value.values()):
            lines.append((f"{prefix}{name}".strip(), ", ".join(f"{key} {inner}" for key, inner in value.items())))
        elif is_nested:
            lines += _flat(value, f"{prefix}{name} ")
        elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            for number, item in enumerate(value, start=1):
                lines += _flat(item if isinstance(item, Mapping) else {"": item}, f"{prefix}{name} {number} ")
        else:
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            lines.append((f"{prefix}{name}".strip(), text))
    return lines
