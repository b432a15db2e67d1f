"""Provenance of a run: the command, the machine and its versions, the digests of the maps, every setting."""

from collections.abc import Mapping
from shlex import quote
from typing import Any

import tomli_w

from epir.core.config import to_dict
from epir.core.table import Column, Row, Table
from epir.evaluation.comparison import training_of
from epir.evaluation.experiment import FIXED, default_recipe
from epir.evaluation.store import Run
from epir.models.registry import find_method, is_estimator, model_settings
from epir.reports.markup import Markup, element, html_table, join
from epir.training.recipe import RECIPES, TrainingSettings


def provenance_part(run: Run) -> Markup:
    """The section of the page."""
    settings = tomli_w.dumps(to_dict(run.experiment))
    return join(
        element("pre", command(run)),
        html_table(environment_table(run)),
        element("details", element("summary", "Every setting (config.toml)"), element("pre", settings)),
    )


def command(run: Run) -> str:
    """The command that reproduces this run, with only what differs from the defaults."""
    experiment = run.experiment
    folders = [entry.get("folder") or "MAPS" for entry in _map_entries(run)] or ["MAPS"]
    words = [
        "epir",
        "evaluate",
        *(folder.rstrip("/").split("/")[-1] for folder in folders),
        "--protocol",
        experiment.protocol,
    ]
    if experiment.is_imported:
        words = ["epir", "import-predictions", str(run.environment.get("imported", {}).get("table", "TABLE"))]
        words += ["--protocol", experiment.protocol, "--name", experiment.model.name, "--out", run.folder.name]
        return " ".join(map(quote, words))
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
    return " ".join(map(quote, [*words, "--out", run.folder.name]))


def environment_table(run: Run) -> Table:
    """Digests, versions and machine."""
    rows = [Row(("experiment", run.experiment.digest))]
    for number, entry in enumerate(_map_entries(run), start=1):
        recipe = entry.get("recipe")
        flow = f", flow recipe {recipe['name']}" if isinstance(recipe, Mapping) and "name" in recipe else ""
        about = f"{entry['clips']} clips, {entry.get('size', '?')} px{flow}; " if "clips" in entry else ""
        rows.append(Row((f"maps {number}", f"{about}sha256 {str(entry.get('digest', ''))[:16]}")))
    rows += [Row((name, text)) for name, text in _flat({**run.environment, "maps": {}, "command": {}})]
    return Table("environment", "Environment", (Column("what"), Column("value")), tuple(rows))


def _map_entries(run: Run) -> list[Mapping[str, Any]]:
    entries = run.environment.get("maps") or [{"digest": digest} for digest in run.experiment.maps]
    return [entry for entry in entries if isinstance(entry, Mapping)]


def _changes(section: str, default: object, actual: object, leave_out: tuple[str, ...] = ()) -> list[str]:
    """`--set` for every setting that is not the default."""
    before, after = to_dict(default) if default else {}, to_dict(actual)
    changed = [name for name in after if name not in leave_out and after[name] != before.get(name)]
    return [word for name in changed for word in ("--set", f"{section}.{name}={after[name]}")]


def _flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Nested values as lines of `name.inner` and text."""
    lines: list[tuple[str, str]] = []
    for name, value in values.items():
        if (
            isinstance(value, Mapping)
            and value
            and not any(isinstance(inner, Mapping | list) for inner in value.values())
        ):
            lines.append((f"{prefix}{name}".strip(), ", ".join(f"{key} {inner}" for key, inner in value.items())))
        elif isinstance(value, Mapping):
            lines += _flat(value, f"{prefix}{name} ")
        elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            for number, item in enumerate(value, start=1):
                lines += _flat(item if isinstance(item, Mapping) else {"": item}, f"{prefix}{name} {number} ")
        else:
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            lines.append((f"{prefix}{name}".strip(), text))
    return lines
