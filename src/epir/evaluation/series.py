"""Several evaluations in one folder: models side by side, the ladder of the ablation, and its two sweeps."""

import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from epir.core.config import refuse_unknown
from epir.core.engines import Engine
from epir.core.errors import EpirWarning, RunError
from epir.core.files import write_text
from epir.core.output import check_place, kind_of, locked, real
from epir.core.progress import Progress
from epir.core.table import Table
from epir.evaluation.comparison import scores_with_training
from epir.evaluation.experiment import Resolved, first_weights, resolve_settings
from epir.evaluation.published import RUNGS, PublishedScores, comparisons, ladder
from epir.evaluation.run import Maps, default_out, evaluate, opened
from epir.evaluation.samples import gather
from epir.evaluation.store import CONFIG, Run, check_run_folder
from epir.evaluation.table import score_table
from epir.models.registry import is_pipeline, list_models
from epir.models.settings import PRESETS
from epir.training.recipe import SCRATCH

BLOCKS = range(7, 16)
RATES = (0, 30, 60, 80)  # per cent of the patch tokens that integration takes away


@dataclass(frozen=True)
class Variant:
    """One member of a series: a model, and its changed settings."""

    name: str
    model: str
    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Series:
    """Finished runs, and their table."""

    names: tuple[str, ...]
    runs: tuple[Run, ...]
    table: Table


def parse_models(text: str) -> tuple[str, ...]:
    """The models in `a,b,c`, without repetition; unknown ones are refused."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names or (text,):
        refuse_unknown(name, list_models(), what="model")
    return names


def ladder_variants() -> tuple[Variant, ...]:
    """The rungs of Tables 4 and 5, from the plain Vision Transformer up to EPIR."""
    return tuple(Variant(name, name) for name in PRESETS)


def sweep_variants(sweep: str) -> tuple[Variant, ...]:
    """The points of a figure: all `blocks`, the last one included, or the rate of `integration` in per cent."""
    refuse_unknown(sweep, ("blocks", "integration"), what="sweep")
    if sweep == "blocks":
        return tuple(Variant(f"blocks {count}", "epir", (f"model.blocks={count}",)) for count in BLOCKS)
    return tuple(Variant(f"integration {rate} %", "epir", (f"model.integration={rate / 100}",)) for rate in RATES)


def evaluate_models(
    maps: Sequence[Maps],
    *,
    protocol: str,
    models: Sequence[str],
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
    shared = tuple(changes)
    variants = [Variant(name, name, shared) for name in models]
    resolved = resolve_all(maps, protocol, variants, training=training)
    if note := mixed_training(resolved):
        warnings.warn(note, EpirWarning, stacklevel=2)
    each = partial(evaluate, maps, protocol=protocol, folds=folds, seeds=seeds, training=training)
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
    variants = [replace(point, changes=(*shared, *point.changes)) for point in points]
    resolve_all(maps, protocol, variants, training=training)
    each = partial(evaluate, maps, protocol=protocol, folds=folds, seeds=seeds, training=training)
    return _evaluate_each(
        partial(each, allow_seen=allow_seen, engine=engine, force=force, progress=progress),
        variants,
        (lambda protocol: ()) if sweep else ladder,
        Path(out) if out is not None else default_out(protocol, f"ablation-{sweep or 'ladder'}"),
    )


def resolve_all(
    maps: Sequence[Maps], protocol: str, variants: Sequence[Variant], *, training: str | None
) -> list[Resolved]:
    """The settings of every variant, so that a later one that cannot be built is refused before hours of work."""
    with opened(maps) as sets:
        clips = gather(sets, protocol)
    return [
        resolve_settings(
            variant.model,
            training=training,
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
        if not is_pipeline(each.model.name):
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
    check_place(real(out) / "table.csv")
    for variant in variants:
        check_run_folder(out / folder_name(variant.name))
    with locked(real(out) / "table.csv"):
        return _evaluate_all(evaluate_one, variants, published_for, out)


def _evaluate_all(
    evaluate_one: Callable[..., Run],
    variants: Sequence[Variant],
    published_for: Callable[[str], Sequence[PublishedScores]],
    out: Path,
) -> Series:
    runs = tuple(
        evaluate_one(model=variant.model, changes=variant.changes, out=out / folder_name(variant.name))
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
    return name.removesuffix(" %").replace(" ", "-")


def _matching(names: Sequence[str], published: Sequence[PublishedScores]) -> Sequence[PublishedScores]:
    """The published rows; of a ladder only the rungs that were run."""
    rows = {RUNGS[name] for name in names if name in RUNGS}
    return [each for each in published if each.table <= 3 or each.method in rows]
