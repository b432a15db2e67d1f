"""Several evaluations in one folder: several models, the ablation ladder and sweeps, or everything the paper prints.

`reproduce` trains as the paper does. Every run can be resumed by itself; a sweep point that equals the model (13
blocks) is not run twice:

    OUT/cde/epir, OUT/cde/vit, ...      the ladder: Tables 1 and 4, the confusion matrices
    OUT/cde/blocks-7, ...               score against the number of blocks
    OUT/cde/integration-30, ...         tokens at several rates of integration
    OUT/sde-casme3/...                  the same for CAS(ME)^3: Tables 2 and 5
    OUT/sde-casme2/epir, ...            Table 3
"""

import json
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Unpack

from epir.core.config import check_known, setting_names
from epir.core.errors import ConfigError, EpirWarning, ProtocolError, RunError
from epir.core.files import write_text
from epir.core.output import check_place, kind_of, locked, resolved
from epir.core.table import Table
from epir.evaluation.comparison import Comparison, compare, scores_with_training
from epir.evaluation.experiment import Resolved, first_weights, read_changes, resolve_settings
from epir.evaluation.published import RUNGS, PublishedScores, comparisons, ladder
from epir.evaluation.run import Maps, RunOptions, default_out, evaluate, opened
from epir.evaluation.samples import gather
from epir.evaluation.store import CONFIG, Run, check_run_folder
from epir.evaluation.table import score_table
from epir.models.registry import AnyModel, Method, find_method
from epir.models.settings import LITERAL, PRESETS
from epir.training.recipe import PAPER, SCRATCH

BLOCKS = range(7, 16)
RATES = (0, 30, 60, 80)  # per cent of the patch tokens that integration removes
WHOLE = ("cde", "sde-casme3")  # protocols with a ladder and figures
SINGLE = {"sde-casme2": "casme2", "sde-samm": "samm", "sde-smic": "smic"}
QUICK_FOLDS, QUICK_EPOCHS = "3", 10
QUICK_POINTS = ("blocks 7", "blocks 13", "integration 0 %", "integration 60 %")


@dataclass(frozen=True)
class Variant:
    """One member of a series: a model with changed settings."""

    name: str
    model: AnyModel
    changes: tuple[str, ...] = ()
    training: str | None = None  # the recipe; None for the model's default


@dataclass(frozen=True)
class Series:
    """Finished runs, one for each variant, and their table."""

    variants: tuple[Variant, ...]
    runs: tuple[Run, ...]
    table: Table

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the variants."""
        return tuple(variant.name for variant in self.variants)


def ladder_variants() -> tuple[Variant, ...]:
    """Return the rungs of Tables 4 and 5, from the plain Vision Transformer up to EPIR."""
    return tuple(Variant(name, name) for name in PRESETS)


def sweep_variants(sweep: str) -> tuple[Variant, ...]:
    """Return the points of a figure: the number of `blocks`, all included, or the `integration` rate in per cent."""
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
    training: str | None = None,
    changes: Iterable[str] = (),
    **options: Unpack[RunOptions],
) -> Series:
    """Evaluate each model into OUT/<model>, and tabulate them with the published scores."""
    variants = _variants(models, tuple(changes), training)
    if note := mixed_training(resolve_all(maps, protocol, variants)):
        warnings.warn(note, EpirWarning, stacklevel=2)
    return _evaluate_each(
        partial(evaluate, maps, protocol=protocol, **options),
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
    training: str | None = None,
    changes: Iterable[str] = (),
    **options: Unpack[RunOptions],
) -> Series:
    """Evaluate every rung of the paper's ablation, or every point of a sweep; finished folds are not repeated.

    Every rung starts from random weights unless `training` names another recipe: the shipped weights fit only the last
    rung.
    """
    shared, training = tuple(changes), training or SCRATCH
    points = sweep_variants(sweep) if sweep else ladder_variants()
    variants = [replace(point, changes=(*shared, *point.changes), training=training) for point in points]
    resolve_all(maps, protocol, variants)
    return _evaluate_each(
        partial(evaluate, maps, protocol=protocol, **options),
        variants,
        (lambda protocol: ()) if sweep else ladder,
        Path(out) if out is not None else default_out(protocol, f"ablation-{sweep or 'ladder'}"),
    )


def _variants(models: Sequence[AnyModel], changes: tuple[str, ...], training: str | None) -> list[Variant]:
    """Pair each model with the changes it accepts; raise an error for a change that none accepts.

    Two methods of the same name (`my_net.py:MyNet` and `my_package.nets:MyNet`) are distinguished by their source.
    """
    methods = [find_method(model) for model in models]
    names = [method.name for method in methods]
    networks = [method for method in methods if method.kind == "network"]
    if training is not None and not networks:
        raise ConfigError(
            f"all of {', '.join(names)} train themselves: --training {training} has no effect on them",
            fix="leave it out",
        )
    used: set[str] = set()
    variants = []
    for model, method in zip(models, methods, strict=True):
        name = method.name if names.count(method.name) == 1 or not method.source else method.source.reference
        accepted = tuple(change for change in changes if _accepts(method, change))
        used.update(accepted)
        variants.append(Variant(name, model, accepted, training if method.kind == "network" else None))
    places = [folder_name(variant.name) for variant in variants]
    if twice := next((place for place in places if places.count(place) > 1), None):
        raise ConfigError(
            f"two methods would be written to the folder {twice}",
            fix="give each method once, and files with one class name different names",
        )
    if unused := [change for change in changes if change not in used]:
        read_changes(unused, methods[0])  # suggests the nearest setting
        raise ConfigError(
            f"--set {unused[0]} has no effect on any of {', '.join(names)}",
            fix="leave it out; epir list settings --model NAME shows the settings of a method",
        )
    return variants


def _accepts(method: Method, change: str) -> bool:
    section, _, setting = change.partition("=")[0].strip().partition(".")
    if section == "training":
        return method.kind == "network"
    return section == "model" and setting in setting_names(method.settings)


def resolve_all(maps: Sequence[Maps], protocol: str, variants: Sequence[Variant]) -> list[Resolved]:
    """Resolve the settings of every variant first, so that one that cannot be built fails before any training."""
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
    """Return a note if the networks differ in recipe or initial weights, else ''."""
    models: dict[str, list[str]] = {}  # by training
    for each in settings:
        if each.method.kind == "network":
            training = f"{each.training.name} from {first_weights(each.training)}"
            models.setdefault(training, []).append(each.model.name)
    if len(models) < 2:
        return ""
    listed = "; ".join(f"{', '.join(names)}: {training}" for training, names in models.items())
    return f"the models are trained differently ({listed}). Use --training {SCRATCH} to train all of them alike."


def _evaluate_each(
    evaluate_one: Callable[..., Run],
    variants: Sequence[Variant],
    published_for: Callable[[str], Sequence[PublishedScores]],
    out: Path,
) -> Series:
    """Evaluate all variants in subfolders of `out`, and write `table.csv` and `table.json` next to them."""
    if (out / CONFIG).exists():
        raise RunError(f"{out} is a run of one model", fix="choose another folder with --out")
    if out.is_dir() and (kind := kind_of(out)) is not None:
        raise RunError(f"{out} is a {kind}, not a folder of runs", fix="choose another folder with --out")
    check_place(resolved(out) / "table.csv")
    for variant in variants:
        check_run_folder(out / folder_name(variant.name))
    with locked(resolved(out) / "table.csv"):
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
        return Series(tuple(variants), runs, table)


def folder_name(name: str) -> str:
    """Return the folder name of a variant within its series."""
    return re.sub(r"[ :/]", "-", name.removesuffix(" %"))


def _matching(names: Sequence[str], published: Sequence[PublishedScores]) -> Sequence[PublishedScores]:
    """Return the published rows; of a ladder, only the rungs that were run."""
    rows = {RUNGS[name] for name in names if name in RUNGS}
    return [each for each in published if each.table <= 3 or each.method in rows]


@dataclass(frozen=True)
class Reproduced:
    """The runs of one protocol: the ladder and the sweeps."""

    protocol: str
    ladder: tuple[Run, ...]  # for a single corpus of Table 3, only the whole model
    sweeps: dict[str, tuple[Run, ...]] = field(default_factory=dict)

    @property
    def epir(self) -> Run:
        """The whole model."""
        return self.ladder[-1]

    @property
    def steps(self) -> tuple[Comparison, ...]:
        """Each rung against the one below it, paired over people."""
        return tuple(compare(below, rung) for below, rung in zip(self.ladder, self.ladder[1:], strict=False))


@dataclass(frozen=True)
class Reproduction:
    """Everything that could be reproduced with the maps, and why the rest is missing."""

    parts: tuple[Reproduced, ...]
    missing: dict[str, str]  # protocol: reason
    quick: bool = False
    literal: bool = False


def reproduce(
    maps: Sequence[Maps],
    *,
    out: str | Path,
    sweeps: bool = True,
    quick: bool = False,
    literal: bool = False,
    changes: Iterable[str] = (),
    **options: Unpack[RunOptions],
) -> Reproduction:
    """Run, or resume, everything that the paper prints and these maps allow; `quick` uses fewer folds and epochs.

    `literal` follows the paper to the letter in every rung, as the preset `paper` does for the whole model.
    """
    shared = [f"model.{name}={json.dumps(value)}" for name, value in LITERAL.items()] if literal else []
    shared += [f"training.epochs={QUICK_EPOCHS}"] if quick else []
    shared += list(changes)
    protocols, missing = _protocols(maps)
    options = {**options, "folds": QUICK_FOLDS} if quick else options

    def run(protocol: str, variant: Variant) -> Run:
        return evaluate(
            maps,
            protocol=protocol,
            model=variant.model,
            changes=(*shared, *variant.changes),
            out=Path(out) / protocol / folder_name(variant.name),
            training=PAPER,
            **options,
        )

    parts = []
    for protocol in protocols:
        rungs = ladder_variants() if protocol in WHOLE else (Variant("epir", "epir"),)
        ladder = tuple(run(protocol, rung) for rung in rungs)
        figures = {}
        for sweep in ("blocks", "integration") if sweeps and protocol in WHOLE else ():
            points = [point for point in sweep_variants(sweep) if not quick or point.name in QUICK_POINTS]
            figures[sweep] = tuple(
                ladder[-1] if _is_model(point, ladder[-1]) else run(protocol, point) for point in points
            )
        parts.append(Reproduced(protocol, ladder, figures))
    return Reproduction(tuple(parts), missing, quick, literal)


def _protocols(maps: Sequence[Maps]) -> tuple[list[str], dict[str, str]]:
    """Return the paper's protocols that these maps fit, and the reasons why they do not fit the others."""
    protocols, missing = [], {}
    with opened(maps) as sets:
        corpora = {clip.corpus for mapset in sets for clip in mapset.clips}
        for protocol in (*WHOLE, *SINGLE):
            corpus = {"sde-casme3": "casme3", **SINGLE}.get(protocol)
            if corpus is not None and corpus not in corpora:
                missing[protocol] = f"no clip is of {corpus}"
                continue
            try:
                gather(sets, protocol)
            except ProtocolError as error:
                missing[protocol] = error.problem
            else:
                protocols.append(protocol)
    if not protocols:
        raise ProtocolError(
            f"these maps fit no protocol of the paper: {'; '.join(f'{k}: {v}' for k, v in missing.items())}",
            fix="give maps of CASME II, SAMM and SMIC, or of CAS(ME)^3, with their original emotion words",
        )
    return protocols, missing


def _is_model(point: Variant, last: Run) -> bool:
    """Whether a point of a sweep is the model that was run as the last rung."""
    return point.changes == (f"model.blocks={last.experiment.model.blocks}",)
