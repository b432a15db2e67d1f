"""Evaluate a model under a protocol: run every missing fold and seed, and write the run folder."""

import os
import platform
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np

from epir import __version__
from epir.core.config import check_known
from epir.core.engines import Engine, Progress, Silent, cores, processor, source_commit
from epir.core.errors import CheckpointError, ConfigError, EpirWarning
from epir.core.files import scratch_folder
from epir.core.output import resolved
from epir.core.records import Clip
from epir.core.words import counted
from epir.evaluation.experiment import ZERO_SHOT, Experiment, check_choices, resolve_settings
from epir.evaluation.fold import FoldInputs, FoldJob, run_job
from epir.evaluation.folds import make_folds
from epir.evaluation.leaks import (
    check_leaks,
    find_across_folds,
    find_calibrated,
    find_seen,
    has_complete_record,
    record_gaps,
    temperature_note,
)
from epir.evaluation.samples import EvaluationSet, gather, read_maps, with_units
from epir.evaluation.store import Run, RunStore, open_store
from epir.maps.mapset import MapSet, load_maps, save_maps
from epir.models.folder import check_fits, find_folder, read_config, read_settings, weights_digest
from epir.models.packed import pack_method, pack_model
from epir.models.predict import PREDICTION_BATCH, find_device
from epir.models.registry import AnyModel, Method, find_method, method_for
from epir.training.recipe import TrainingSettings, training_recipe

Maps = str | Path | MapSet
Target = Literal["classes", "units"]
UNITS_WEIGHT = 1.0  # default weight of the action units in training

ALL = "all clips"  # the single fold of a small zero-shot run
SHOWN = 3  # running folds shown in the progress line
PACKAGES = ("torch", "numpy", "scikit-learn", "joblib", "ray")  # ray is optional


class RunOptions(TypedDict, total=False):
    """The options of `evaluate` that do not depend on the model, shared with series of evaluations."""

    folds: str
    seeds: int
    allow_seen: bool
    engine: Engine | None
    force: bool
    progress: Progress | None


def evaluate(
    maps: Maps | Sequence[Maps],
    *,
    protocol: str,
    model: AnyModel | None = None,
    out: str | Path | None = None,
    folds: str | int = "loso",
    seeds: int = 1,
    training: str | None = None,
    changes: Iterable[str] = (),
    target: Target = "classes",
    nested: Sequence[str] = (),
    inner_folds: int = 3,
    allow_seen: bool = False,
    engine: Engine | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Train and predict every fold of `model` under `protocol`, and return the run; finished folds are not repeated.

    `model` is a name (`epir` by default), `FILE.py:Name`, a torch module class, a factory or an estimator with `fit`
    and `predict_proba`. `training` is a recipe or a TOML file; `changes` are strings like `training.epochs=30`. With
    `target="units"`, clips without annotated action units are left out, and training learns units as well as classes.
    If the initial weights have seen some of the people or clips, or a clip has a copy in another fold, an error is
    raised; `allow_seen` continues and marks the scores. With `nested`, each fold chooses among these settings in inner
    folds of its training people.

    >>> from tempfile import TemporaryDirectory
    >>> from epir import synthetic_maps
    >>> maps = synthetic_maps(48, "direct")  # or folders: evaluate(["maps/casme2", "maps/samm"], protocol="cde")
    >>> with TemporaryDirectory() as folder:
    ...     run = evaluate(
    ...         maps, protocol="sde", model="bi-woof", folds=2, out=f"{folder}/run", engine=Engine(workers=1)
    ...     )
    ...     sorted(run.scores["strict"])
    ['accuracy', 'confusion', 'parts', 'uar', 'uf1', 'uf1_interval']
    """
    changes = tuple(changes)
    check_known(target, ("classes", "units"), what="target")
    with opened(maps) as sets:
        clips = gather(sets, protocol)
        method = find_method("epir" if model is None else model)
        if target == "units":
            clips = with_units(clips)
            if method.kind == "estimator":
                raise _no_features(method, fix="evaluate a network, such as epir")
            changes = _add_unit_weight(training, changes)
        settings = resolve_settings(
            method, training=training, changes=changes, classes=len(clips.classes), map_size=clips.size
        )
        if target == "units" and not method.has_features(settings.model):
            fix = "give it forward_features(maps) and forward_head(features), or evaluate another network, such as epir"
            raise _no_features(method, fix=fix)
        clips = replace(clips, learns_units=target == "units" or settings.training.action_units > 0)
        experiment = Experiment(
            protocol=clips.protocol,
            classes=clips.classes,
            model=settings.model,
            training=settings.training,
            folds=clips.folds if str(folds) == "loso" else str(folds),
            seeds=seeds,
            maps=clips.maps,
            clips=clips.digest,
            weights=weights_digest(settings.start) if settings.start else "",
            source=settings.method.source,
        )
        if nested:
            experiment = _nested(experiment, method, tuple(nested), inner_folds)
        plan = _RunPlan(sets, clips, experiment, settings.start, settings.method, settings.notes)
        folder = _run_folder(out, clips.protocol, settings.method.name, target)
        return _run(plan, folder, allow_seen=allow_seen, engine=engine, force=force, progress=progress)


def evaluate_zero_shot(
    maps: Maps | Sequence[Maps],
    *,
    protocol: str,
    weights: str | Path | None = None,
    out: str | Path | None = None,
    target: Target = "classes",
    allow_seen: bool = False,
    engine: Engine | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Predict every clip once with the `weights` of a model folder (default: the shipped ones), without training.

    If the weights have seen some of the people or clips, an error is raised; `allow_seen` continues and marks the
    scores.

    >>> from tempfile import TemporaryDirectory
    >>> from epir import synthetic_maps
    >>> maps = synthetic_maps(12, "direct", seed=5)
    >>> with TemporaryDirectory() as folder:
    ...     run = evaluate_zero_shot(maps, protocol="sde", out=f"{folder}/run", engine=Engine(workers=1))
    ...     len(run.predictions)
    12
    """
    check_known(target, ("classes", "units"), what="target")
    with opened(maps) as sets:
        clips = gather(sets, protocol)
        if target == "units":
            clips = replace(with_units(clips), learns_units=True)
        model = resolved(find_folder(weights))
        check_fits(model, classes=clips.classes, map_size=clips.size)
        config = read_config(model)
        experiment = Experiment(
            protocol=clips.protocol,
            classes=clips.classes,
            model=read_settings(model),
            training=TrainingSettings(**{f"{name}_at_prediction": value for name, value in config.views.items()}),
            folds=ZERO_SHOT,
            maps=clips.maps,
            clips=clips.digest,
            weights=weights_digest(model),
            source=config.source,
        )
        if target == "units" and not config.units:
            raise CheckpointError(
                f"the weights in {model} have no head for action units",
                fix="train them with annotated clips and --set training.action_units=1, or use others",
            )
        method = None if config.source is None else method_for(config.source, model)
        plan = _RunPlan(sets, clips, experiment, model, method)
        folder = _run_folder(out, clips.protocol, ZERO_SHOT, target)
        return _run(plan, folder, allow_seen=allow_seen, engine=engine, force=force, progress=progress)


@dataclass(frozen=True, eq=False)
class _RunPlan:
    """An experiment with its clips, and the weights and the method that its folds need."""

    sets: tuple[MapSet, ...]
    clips: EvaluationSet
    experiment: Experiment
    weights: Path | None  # the model folder that predicts (zero-shot) or that training starts from
    method: Method | None
    notes: tuple[str, ...] = ()


def _run(
    plan: _RunPlan, out: Path, *, allow_seen: bool, engine: Engine | None, force: bool, progress: Progress | None
) -> Run:
    """Run every fold that the run folder lacks, and finish the run."""
    engine, clips, weights = engine or Engine(), plan.clips, plan.weights
    if by_protocol := clips.left_out - (clips.without_units or 0):
        count = f"{by_protocol} of {counted(clips.left_out + len(clips.samples), 'clip')}"
        warnings.warn(f"the protocol {clips.protocol} leaves out {count}", EpirWarning, stacklevel=3)
    engine.check_address()
    leaks = _check_leaks(clips, plan.experiment, weights, allow_seen=allow_seen)
    unknown = weights is not None and not has_complete_record(weights)
    experiment = replace(plan.experiment, seen_in_training=bool(leaks), unknown_weights=unknown)
    inputs = [*(mapset.folder for mapset in plan.sets if mapset.folder), *([weights] if weights else [])]
    with open_store(out, experiment, force=force, inputs=inputs) as store:
        jobs = fold_jobs(clips, experiment)
        if any(not store.has(job.fold, job.seed) for job in jobs):  # a finished run was not continued here
            store.describe(_environment(plan, out, engine, leaks))
        held_out = {job.fold: [clips.samples[row].clip.key for row in job.test] for job in jobs}
        store.check(held_out)
        packed = None if plan.method is None else pack_method(plan.method)
        shared = FoldInputs(experiment, clips.samples, weights, method=packed)
        _run_missing(store, jobs, shared, engine, progress or Silent())
        return store.finish(held_out)


def _environment(plan: _RunPlan, out: Path, engine: Engine, leaks: Sequence[str]) -> dict[str, Any]:
    """Return the content of `environment.json`: versions, machine, maps, excluded clips and notes on the scores."""
    clips, weights, experiment = plan.clips, plan.weights, plan.experiment
    device = str(find_device(experiment.training.device))
    environment = describe_machine(plan.sets, out, engine=engine.name, workers=engine.processes, device=device)
    environment["clips_left_out"] = clips.left_out
    if clips.without_units is not None:
        environment["clips_without_units"] = clips.without_units
    if leaks:
        environment["seen_in_training"] = list(leaks)
    notes = [*plan.notes, *(record_gaps(weights) if weights else [])]
    if weights is not None and experiment.is_zero_shot:
        notes += temperature_note(weights, clips)
    return environment | ({"notes": notes} if notes else {})


def _nested(experiment: Experiment, method: Method, choices: tuple[str, ...], inner_folds: int) -> Experiment:
    """Return the experiment in which each fold chooses among these settings."""
    experiment = replace(experiment, choices=choices, inner_folds=inner_folds)
    check_choices(experiment, method)
    models = len(choices) * inner_folds + 1
    warnings.warn(
        f"--nested: every fold trains {models} models ({len(choices)} choices x {inner_folds} inner folds + 1)",
        EpirWarning,
        stacklevel=3,
    )
    return experiment


def _add_unit_weight(training: str | None, changes: tuple[str, ...]) -> tuple[str, ...]:
    """Add the default weight of the action units unless the changes or the recipe set one."""
    is_set = any(change.partition("=")[0].strip() == "training.action_units" for change in changes)
    if is_set or (training is not None and training_recipe(training).action_units):
        return changes
    return (*changes, f"training.action_units={UNITS_WEIGHT:g}")


def _no_features(method: Method, *, fix: str) -> ConfigError:
    return ConfigError(f"{method.name!r} exposes no features to learn action units from", fix=fix)


def _check_leaks(
    clips: EvaluationSet, experiment: Experiment, folder: Path | None, *, allow_seen: bool
) -> tuple[str, ...]:
    """Look for everything that would make the scores not strict; raise an error or, with `allow_seen`, return it."""
    leaks: dict[str, list[str]] = {}
    if experiment.is_zero_shot:
        assert folder is not None
        leaks["these weights have seen"] = find_seen(folder, clips)
        leaks["these weights were calibrated on"] = find_calibrated(folder, clips)
        fix = "evaluate on other people, or use weights that have not seen these"
        return check_leaks(leaks, allow_seen=allow_seen, fix=fix)
    if folder is not None:
        leaks["training.start has seen"] = find_seen(folder, clips)
        if clips.learns_units:  # their thresholds are those of the initial weights
            leaks["training.start was calibrated on"] = find_calibrated(folder, clips)
    folds = make_folds(clips.clips, clips.labels, experiment.folds)
    leaks["in two folds"] = find_across_folds(clips, folds)
    fix = "use --training scratch, or start from weights that have not seen these"
    if leaks["in two folds"]:
        fix = "keep one of the copies, and give each person one name"
    return check_leaks(leaks, allow_seen=allow_seen, fix=fix)


def _run_folder(out: str | Path | None, protocol: str, name: str, target: Target) -> Path:
    if out is not None:
        return Path(out)
    return default_out(protocol, f"{name}-units" if target == "units" else name)


def default_out(protocol: str, name: str) -> Path:
    """Return the default run folder."""
    return Path("runs") / f"{Path(protocol).stem}-{name.replace(':', '-')}"


def as_list(maps: Maps | Sequence[Maps]) -> list[Maps]:
    """Return one map set or several as a list."""
    return [maps] if isinstance(maps, str | Path | MapSet) else list(maps)


@contextmanager
def opened(maps: Maps | Sequence[Maps]) -> Iterator[tuple[MapSet, ...]]:
    """Open the map sets; those in memory get a temporary folder that worker processes can read."""
    requested = as_list(maps)
    if not requested:
        raise ConfigError("no map set given", fix="give one or more folders written by epir prepare")
    with ExitStack() as stack:
        sets = []
        for request in requested:
            mapset = request if isinstance(request, MapSet) else load_maps(request)
            if mapset.folder is not None:
                mapset = replace(mapset, folder=resolved(mapset.folder))  # a worker may run in another directory
            else:
                folder = stack.enter_context(scratch_folder("maps")) / "maps"
                mapset = save_maps(folder, mapset.maps, mapset.clips, recipe=mapset.meta.get("recipe", {}))
            sets.append(mapset)
        yield tuple(sets)


def describe_machine(sets: Sequence[MapSet], run: Path, *, engine: str, workers: int, device: str) -> dict[str, Any]:
    """Return versions, machine and maps for `environment.json`, without host or user names.

    Paths of map sets are relative to the run folder.
    """
    commit = source_commit()
    return {
        "versions": {
            "epir": __version__,
            **({"commit": commit} if commit else {}),
            "python": platform.python_version(),
            **_installed(),
        },
        "machine": {
            "system": platform.system(),
            "kind": platform.machine(),
            "processor": processor(),
            "cores": cores(),
        },
        "device": device,
        "engine": engine,
        "workers": workers,
        "maps": [
            {
                "folder": os.path.relpath(mapset.folder, run) if mapset.folder else "",
                "digest": mapset.digest,
                "clips": len(mapset),
                "size": mapset.size,
                "recipe": dict(mapset.meta["recipe"]),
            }
            for mapset in sets
        ],
    }


def _installed() -> dict[str, str]:
    versions = {}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def fold_jobs(clips: EvaluationSet, experiment: Experiment) -> list[FoldJob]:
    """Return one job per fold and seed; a zero-shot experiment has one per prediction batch.

    The batches do not depend on the number of workers, so the scores are bit-identical.
    """
    row_of = {sample.clip.key: row for row, sample in enumerate(clips.samples)}

    def rows(members: Iterable[Clip]) -> np.ndarray:
        return np.array([row_of[clip.key] for clip in members], dtype=np.int32)

    if experiment.is_zero_shot:
        test, size = rows(clips.clips), PREDICTION_BATCH
        parts = [test[start : start + size] for start in range(0, len(test), size)]
        names = [ALL] if len(parts) == 1 else [f"part {n} of {len(parts)}" for n in range(1, len(parts) + 1)]
        return [FoldJob(name, 0, test[:0], part) for name, part in zip(names, parts, strict=True)]
    folds = [
        (fold.name, rows(fold.train), rows(fold.test))
        for fold in make_folds(clips.clips, clips.labels, experiment.folds)
    ]
    return [FoldJob(name, seed, train, test) for seed in range(experiment.seeds) for name, train, test in folds]


def _run_missing(
    store: RunStore, jobs: Sequence[FoldJob], inputs: FoldInputs, engine: Engine, progress: Progress
) -> None:
    """Run the missing folds, and store each as soon as it is done."""
    missing = [job for job in jobs if not store.has(job.fold, job.seed)]
    if not missing:
        return
    progress.start(f"{store.experiment.model.name} on {store.experiment.protocol}, folds", len(missing))
    earlier = f", {len(jobs) - len(missing)} done before" if len(missing) < len(jobs) else ""
    done = 0

    def update(status: Sequence[str] = (), *, steps: int = 0) -> None:
        left = len(missing) - done
        running = min(engine.processes, left)
        shown = "; ".join(status[:SHOWN]) + (f" and {len(status) - SHOWN} more" if len(status) > SHOWN else "")
        progress.advance(steps, note=f"{shown or f'{running} running'}, {left - running} queued{earlier}")

    update()
    if engine.is_cluster:  # its nodes may not see this machine's disk
        weights = pack_model(inputs.weights) if isinstance(inputs.weights, Path) else None
        inputs = replace(inputs, weights=weights, maps=read_maps(inputs.samples))
    for record in engine.run(run_job, missing, inputs, status=update):
        store.add(record)
        done += 1
        update(steps=1)
    progress.finish()
