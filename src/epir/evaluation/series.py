"""Several evaluations in one folder: models side by side, the ladder of the ablation, and its two sweeps."""

import json
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from epir.core.config import check_known, setting_names
from epir.core.engines import Engine
from epir.core.errors import ConfigError, EpirWarning, RunError
from epir.core.files import write_text
from epir.core.output import check_place, kind_of, locked, resolved
from epir.core.plugins import is_plugin_name
from epir.core.progress import Progress
from epir.core.table import Table
from epir.evaluation.comparison import scores_with_training
from epir.evaluation.experiment import Resolved, check_changes, first_weights, resolve_settings
from epir.evaluation.published import RUNGS, PublishedScores, comparisons, ladder
from epir.evaluation.run import Maps, default_out, evaluate, opened
from epir.evaluation.samples import gather
from epir.evaluation.store import CONFIG, Run, check_run_folder
from epir.evaluation.table import score_table
from epir.models.registry import AnyModel, Method, find_method, list_models
from epir.models.settings import PRESETS
from epir.training.recipe import SCRATCH

BLOCKS = range(7, 16)
RATES = (0, 30, 60, 80)  # per cent of the patch tokens that integration takes away


@dataclass(frozen=True)
class Variant:
    """One member of a series: a model, and its changed settings."""

    name: str
    model: AnyModel
    changes: tuple[str, ...] = ()
    training: str | None = None  # the recipe, where it applies


@dataclass(frozen=True)
class Series:
    """Finished runs, and their table."""

    names: tuple[str, ...]
    runs: tuple[Run, ...]
    table: Table


def parse_models(text: str) -> tuple[str, ...]:
    """The models in `a,b,c`, each once: names, `FILE.py:Name` or `package.module:Name`; unknown ones are refused."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    if not all(names):
        raise ConfigError(f"--model {text} has a comma too many", fix="write --model epir,ststnet")
    for name in names:
        if not is_plugin_name(name):
            check_known(name, list_models(), what="model")
    return names


def ladder_variants() -> tuple[Variant, ...]:
    """The rungs of Tables 4 and 5, from the plain Vision Transformer up to EPIR."""
    return tuple(Variant(name, name) for name in PRESETS)


def sweep_variants(sweep: str) -> tuple[Variant, ...]:
    """The points of a figure: all `blocks`, the last one included, or the rate of `integration` in per cent."""
    check_known(sweep, ("blocks", "integration"), what="sweep")
    if sweep == "blocks":
        return tuple(Variant(f"blocks {count}", "epir", (f"model.blocks={count}",)) for count in BLOCKS)
    return tuple(Variant(f"integration {rate} %", "epir", (f"model.integration={rate / 100}",)) for rate in RATES)


def evaluate_models(
    maps: Sequence[Maps],
    *,
    protocol: str,
    models: Sequence[AnyModel],
    out: str | Path | None = None,
    folds: str = "loso",
    seeds: int = 1,
    training: str | None = None,
    changes: Iterable[str] = (),
    allow_seen: bool = False,
    engine: Engine | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Series:
    """Evaluate each model into OUT/<model>, and put them in one table with the published scores."""
    variants = _variants(models, tuple(changes), training)
    settled = resolve_all(maps, protocol, variants)
    if note := mixed_training(settled):
        warnings.warn(note, EpirWarning, stacklevel=2)
    each = partial(evaluate, maps, protocol=protocol, folds=folds, seeds=seeds)
    return _evaluate_each(
        partial(each, allow_seen=allow_seen, engine=engine, force=force, progress=progress),
        variants,
        comparisons,
        Path(out) if out is not None else default_out(protocol, "models"),
    )


def ablate(
    maps: Sequence[Maps],
    *,
    protocol: str,
    sweep: str | None = None,
    out: str | Path | None = None,
    folds: str = "loso",
    seeds: int = 1,
    training: str | None = None,
    changes: Iterable[str] = (),
    allow_seen: bool = False,
    engine: Engine | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Series:
    """Evaluate every rung of the paper's ablation, or every point of a sweep; finished folds are not repeated.

    Every rung starts from random weights unless `training` says otherwise: the shipped weights fit the last rung only.
    """
    shared, training = tuple(changes), training or SCRATCH
    points = sweep_variants(sweep) if sweep else ladder_variants()
    variants = [replace(point, changes=(*shared, *point.changes), training=training) for point in points]
    resolve_all(maps, protocol, variants)
    each = partial(evaluate, maps, protocol=protocol, folds=folds, seeds=seeds)
    return _evaluate_each(
        partial(each, allow_seen=allow_seen, engine=engine, force=force, progress=progress),
        variants,
        (lambda protocol: ()) if sweep else ladder,
        Path(out) if out is not None else default_out(protocol, f"ablation-{sweep or 'ladder'}"),
    )


def _variants(models: Sequence[AnyModel], changes: tuple[str, ...], training: str | None) -> list[Variant]:
    """Each model with the changes that it can take; what none of them can take is refused.

    Two methods of one name (`my_net.py:MyNet` and `my_package.nets:MyNet`) are told apart by where they come from.
    """
    methods = [find_method(model) for model in models]
    names = [method.name for method in methods]
    networks = [method for method in methods if method.kind == "network"]
    if training is not None and not networks:
        raise ConfigError(
            f"all of {', '.join(names)} train themselves: --training {training} has no effect on them",
            fix="leave it out",
        )
    taken: set[str] = set()
    variants = []
    for model, method in zip(models, methods, strict=True):
        name = method.name if names.count(method.name) == 1 or not method.source else method.source.reference
        applies = tuple(change for change in changes if _takes(method, change))
        taken.update(applies)
        trains = method.kind == "network"
        variants.append(Variant(name, model, applies, training if trains else None))
    if unused := [change for change in changes if change not in taken]:
        check_changes(unused, methods[0])  # names the nearest setting
        raise ConfigError(
            f"--set {unused[0]} has no effect on any of {', '.join(names)}",
            fix="leave it out; epir list settings --model NAME shows what a method has",
        )
    return variants


def _takes(method: Method, change: str) -> bool:
    section, _, setting = change.partition("=")[0].strip().partition(".")
    if section == "training":
        return method.kind == "network"
    return section == "model" and setting in setting_names(method.settings)


def resolve_all(maps: Sequence[Maps], protocol: str, variants: Sequence[Variant]) -> list[Resolved]:
    """The settings of every variant, so that a later one that cannot be built is refused before hours of work."""
    with opened(maps) as sets:
        clips = gather(sets, protocol)
    return [
        resolve_settings(
            variant.model,
            training=variant.training,
            changes=variant.changes,
            classes=len(clips.classes),
            map_size=clips.size,
        )
        for variant in variants
    ]


def mixed_training(settings: Sequence[Resolved]) -> str:
    """A note where networks are compared that differ in recipe or first weights; empty where they do not."""
    ways: dict[str, list[str]] = {}
    for each in settings:
        if each.method.kind == "network":
            way = f"{each.training.name} from {first_weights(each.training)}"
            ways.setdefault(way, []).append(each.model.name)
    if len(ways) < 2:
        return ""
    listed = "; ".join(f"{', '.join(names)}: {way}" for way, names in ways.items())
    return f"the models are trained differently ({listed}). Use --training {SCRATCH} to train all of them alike."


def _evaluate_each(
    evaluate_one: Callable[..., Run],
    variants: Sequence[Variant],
    published_for: Callable[[str], Sequence[PublishedScores]],
    out: Path,
) -> Series:
    """The runs of all variants in subfolders of `out`, and `table.csv` and `table.json` beside them."""
    if (out / CONFIG).exists():
        raise RunError(f"{out} is a run of one model", fix="choose another folder with --out")
    if out.is_dir() and (kind := kind_of(out)) is not None:
        raise RunError(f"{out} is a {kind}, not a folder of runs", fix="choose another folder with --out")
    check_place(resolved(out) / "table.csv")
    for variant in variants:
        check_run_folder(out / folder_name(variant.name))
    with locked(resolved(out) / "table.csv"):
        return _evaluate_all(evaluate_one, variants, published_for, out)


def _evaluate_all(
    evaluate_one: Callable[..., Run],
    variants: Sequence[Variant],
    published_for: Callable[[str], Sequence[PublishedScores]],
    out: Path,
) -> Series:
    runs = tuple(
        evaluate_one(
            model=variant.model,
            changes=variant.changes,
            training=variant.training,
            out=out / folder_name(variant.name),
        )
        for variant in variants
    )
    names = tuple(variant.name for variant in variants)
    published = published_for(runs[0].experiment.protocol)
    table = score_table(runs, _matching(names, published), names=names)
    scores = {name: scores_with_training(run) for name, run in zip(names, runs, strict=True)}
    write_text(out / "table.csv", table.csv())
    write_text(out / "table.json", json.dumps(scores, indent=1) + "\n")
    return Series(names, runs, table)


def folder_name(name: str) -> str:
    """The folder of a variant within its series."""
    return re.sub(r"[ :/]", "-", name.removesuffix(" %"))


def _matching(names: Sequence[str], published: Sequence[PublishedScores]) -> Sequence[PublishedScores]:
    """The published rows; of a ladder only the rungs that were run."""
    rows = {RUNGS[name] for name in names if name in RUNGS}
    return [each for each in published if each.table <= 3 or each.method in rows]
