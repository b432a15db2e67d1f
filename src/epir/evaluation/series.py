"""Several evaluations in one folder: models side by side, the ladder of the ablation, and its two sweeps."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from epir.core.config import refuse_unknown
from epir.core.errors import RunError
from epir.core.files import write_text
from epir.core.progress import Progress
from epir.evaluation.choices import choose
from epir.evaluation.published import RUNGS, Printed, comparisons, ladder
from epir.evaluation.run import Engine, Maps, default_out, evaluate, opened
from epir.evaluation.samples import gather
from epir.evaluation.store import CONFIG, Run
from epir.evaluation.table import Table, score_table
from epir.models.registry import list_models
from epir.models.settings import PRESETS

BLOCKS = range(7, 16)
RATES = (0, 30, 60, 80)  # per cent of the patch tokens that integration takes away


@dataclass(frozen=True)
class Variant:
    """One member of a series: a model, and what is changed about it."""

    name: str
    model: str
    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Series:
    """Finished runs, and the table that shows them together."""

    names: tuple[str, ...]
    runs: tuple[Run, ...]
    table: Table


def models_of(text: str) -> tuple[str, ...]:
    """The models in `a,b,c`, each known and named once."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names or (text,):
        refuse_unknown(name, list_models(), what="model")
    return names


def ladder_variants() -> tuple[Variant, ...]:
    """The rungs of Tables 4 and 5, from the plain Vision Transformer up to EPIR."""
    return tuple(Variant(name, name) for name in PRESETS)


def sweep_variants(sweep: str) -> tuple[Variant, ...]:
    """The points of a figure: `blocks` in all (the last one stays), or the rate of `integration` in per cent."""
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
    engine: Engine | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Series:
    """Evaluate each model into OUT/<model>, and set them side by side with what the paper prints."""
    shared = tuple(changes)
    variants = [Variant(name, name, shared) for name in models]
    refuse_impossible(maps, protocol, variants, training=training)
    each = partial(evaluate, maps, protocol=protocol, folds=folds, seeds=seeds, training=training)
    return _evaluate_each(
        partial(each, engine=engine, force=force, progress=progress),
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
    training: str = "scratch",
    changes: Iterable[str] = (),
    engine: Engine | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Series:
    """Evaluate every rung of the paper's ablation, or every point of a sweep; done folds are not done again.

    Every rung starts from random weights unless `training` says otherwise: shipped weights fit the last rung alone.
    """
    shared = tuple(changes)
    points = sweep_variants(sweep) if sweep else ladder_variants()
    variants = [replace(point, changes=(*shared, *point.changes)) for point in points]
    refuse_impossible(maps, protocol, variants, training=training)
    each = partial(evaluate, maps, protocol=protocol, folds=folds, seeds=seeds, training=training)
    return _evaluate_each(
        partial(each, engine=engine, force=force, progress=progress),
        variants,
        (lambda protocol: ()) if sweep else ladder,
        Path(out) if out is not None else default_out(protocol, f"ablation-{sweep or 'ladder'}"),
    )


def refuse_impossible(
    maps: Sequence[Maps], protocol: str, variants: Sequence[Variant], *, training: str | None
) -> None:
    """Find out before hours of work that a later variant cannot be built."""
    with opened(maps) as sets:
        material = gather(sets, protocol)
    for variant in variants:
        choose(
            variant.model,
            training=training,
            changes=variant.changes,
            classes=len(material.classes),
            map_size=material.size,
        )


def _evaluate_each(
    evaluate_one: Callable[..., Run],
    variants: Sequence[Variant],
    printed_for: Callable[[str], Sequence[Printed]],
    out: Path,
) -> Series:
    """The runs of all variants in subfolders of `out`, and `table.csv` and `table.json` beside them."""
    if (out / CONFIG).exists():
        raise RunError(f"{out} is a run of one model", fix="give another folder for several runs with --out")
    runs = tuple(
        evaluate_one(model=variant.model, changes=variant.changes, out=out / _folder(variant.name))
        for variant in variants
    )
    names = tuple(variant.name for variant in variants)
    printed = printed_for(runs[0].experiment.protocol)
    table = score_table(runs, _beside(names, printed), names=names)
    scores = {name: run.scores for name, run in zip(names, runs, strict=True)}
    write_text(out / "table.csv", table.csv())
    write_text(out / "table.json", json.dumps(scores, indent=1) + "\n")
    return Series(names, runs, table)


def _folder(name: str) -> str:
    return name.removesuffix(" %").replace(" ", "-")


def _beside(names: Sequence[str], printed: Sequence[Printed]) -> Sequence[Printed]:
    """The printed rows; of a ladder only the rungs that were run."""
    rows = {RUNGS[name] for name in names if name in RUNGS}
    return [each for each in printed if each.table <= 3 or each.method in rows]
