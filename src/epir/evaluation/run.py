"""Folds x seeds -> a run: evaluate a model under a protocol, or resume what an earlier call left."""

import os
import platform
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import numpy as np

from epir import __version__
from epir.core.config import refuse_unknown
from epir.core.engines import Engine
from epir.core.errors import CheckpointError, ConfigError, EpirWarning
from epir.core.files import scratch_folder
from epir.core.output import real
from epir.core.processes import cores, processor
from epir.core.progress import Progress, Silent
from epir.core.records import Clip
from epir.evaluation.experiment import ZERO_SHOT, Experiment, Resolved, resolve_settings, with_views
from epir.evaluation.fold import FoldInputs, FoldJob, run_job
from epir.evaluation.folds import make_folds
from epir.evaluation.leaks import find_across_folds, find_seen, refuse
from epir.evaluation.nested import check_choices
from epir.evaluation.samples import EvaluationSet, gather, read_maps, with_units
from epir.evaluation.store import Run, Store, open_store
from epir.maps.mapset import MapSet, load_maps, save_maps
from epir.models.folder import check_fits, find_folder, read_config, read_settings, weights_digest
from epir.models.packed import pack_model
from epir.training.fit import PREDICTION_BATCH, find_device
from epir.training.recipe import TrainingSettings, training_recipe

Maps = str | Path | MapSet
Target = Literal["classes", "units"]
UNITS_WEIGHT = 1.0  # of the action units in training, where neither the recipe nor the user gives one

ALL = "all clips"  # the one fold of a zero-shot run of few clips, and of those of version 0.1
SHOWN = 3  # running folds whose epochs are shown
PACKAGES = ("torch", "numpy", "scikit-learn", "joblib", "ray")


def evaluate(
    maps: Maps | Sequence[Maps],
    *,
    protocol: str,
    model: str | None = None,
    out: str | Path | None = None,
    folds: str | int = "loso",
    seeds: int = 1,
    training: str | None = None,
    changes: Iterable[str] = (),
    zero_shot: bool = False,
    weights: str | Path | None = None,
    target: Target = "classes",
    nested: Sequence[str] = (),
    inner_folds: int = 3,
    allow_seen: bool = False,
    engine: Engine | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Train and predict every fold of `model` under `protocol`, and return the run; finished folds are not repeated.

    `model` is epir by default, `training` names a recipe, `changes` are texts like `training.epochs=30`. With
    `zero_shot` nothing is trained: the `weights` of a model folder (or the shipped ones) predict every clip once. With
    the `target` units, clips without annotated action units are left out, and training learns units besides classes.
    People or clips that the weights have seen, and copies across folds, are refused; `allow_seen` goes on and marks the
    scores. With `nested` each fold chooses among these settings in inner folds of its own training people.

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
    engine, changes = engine or Engine(), tuple(changes)
    named, model = model, model or "epir"
    refuse_unknown(target, ("classes", "units"), what="target")
    _refuse_contradictions(
        zero_shot=zero_shot, weights=weights, trains=bool(changes or training or nested or seeds != 1)
    )
    with opened(maps) as sets:
        clips = gather(sets, protocol)
        without_units = 0
        if target == "units":
            whole, clips = clips, with_units(clips)
            without_units = len(whole.samples) - len(clips.samples)
            changes = _learning_units(model, training, changes, zero_shot=zero_shot)
        notes: tuple[str, ...] = ()
        if zero_shot:
            chosen = real(find_folder(weights))
            folder: Path | None = chosen
            _refuse_other_model(named, chosen)
            experiment = _zero_shot_experiment(clips, chosen)
            if target == "units":
                _refuse_without_head(chosen)
        else:
            settings = resolve_settings(
                model,
                training=training,
                changes=changes,
                classes=len(clips.classes),
                map_size=clips.size,
                views=clips.views,
            )
            experiment, notes = _experiment(clips, settings, folds=str(folds), seeds=seeds), settings.notes
            folder = _start_folder(settings.training)
            if nested:
                experiment = replace(experiment, choices=tuple(nested), inner_folds=inner_folds)
                check_choices(experiment)
                each = len(nested) * inner_folds + 1
                told = (
                    f"--nested: every fold trains {each} models ({len(nested)} choices x {inner_folds} inner folds + 1)"
                )
                warnings.warn(told, EpirWarning, stacklevel=2)
        leaks = _refuse_leaks(clips, experiment, folder, allow_seen=allow_seen)
        experiment = replace(experiment, seen_in_training=bool(leaks))
        ending = "-units" if target == "units" else ""
        out = Path(out) if out is not None else default_out(clips.protocol, f"{model}{ending}", zero_shot=zero_shot)
        sources = [each.folder for each in sets if each.folder is not None]
        with open_store(out, experiment, force=force, inputs=[*sources, *([folder] if folder else [])]) as store:
            jobs = fold_jobs(clips, experiment, whole=store.has(ALL, 0))
            device = str(find_device(experiment.training.device))
            environment = provenance(sets, out, engine=engine.name, workers=engine.processes, device=device)
            environment["clips_left_out"] = clips.left_out
            if target == "units":
                environment["clips_without_units"] = without_units
            environment |= {"seen_in_training": list(leaks)} if leaks else {}
            store.describe(environment | ({"notes": list(notes)} if notes else {}))
            held_out = {job.fold: [clips.samples[row].clip.key for row in job.test] for job in jobs}
            store.check(held_out)
            inputs = FoldInputs(experiment, clips.samples, folder)
            _run_missing(store, jobs, inputs, engine, progress or Silent())
            return store.finish(held_out)


def _learning_units(model: str, training: str | None, changes: tuple[str, ...], *, zero_shot: bool) -> tuple[str, ...]:
    """The changes, and the weight of the annotated units where neither they nor the recipe give one."""
    from epir.models.registry import is_pipeline

    if is_pipeline(model):
        raise ConfigError(
            f"{model!r} is a pipeline, which knows no action units", fix="evaluate a network, such as epir"
        )
    given = any(each.partition("=")[0].strip() == "training.action_units" for each in changes)
    if zero_shot or given or (training is not None and training_recipe(training).action_units):
        return changes
    return (*changes, f"training.action_units={UNITS_WEIGHT:g}")


def _refuse_without_head(folder: Path) -> None:
    if not read_config(folder).units:
        raise CheckpointError(
            f"the weights in {folder} have no head for action units",
            fix="train them with annotated clips and --set training.action_units=1, or take others",
        )


def _start_folder(training: TrainingSettings) -> Path | None:
    """Where training starts from; a run stores no path of this machine, so its folds are told."""
    return None if training.start is None else real(find_folder(training.start))


def _refuse_leaks(
    clips: EvaluationSet, experiment: Experiment, folder: Path | None, *, allow_seen: bool
) -> tuple[str, ...]:
    """Everything that would make the scores not strict; an error, or what was found if `allow_seen`."""
    found: dict[str, list[str]] = {}
    if folder is not None:
        how = "these weights have seen" if experiment.is_zero_shot else "training.start has seen"
        found[how] = find_seen(folder, clips)
    if experiment.is_zero_shot:
        fix = "evaluate on other people, or use weights that have not seen them"
    else:
        folds = make_folds(clips.clips, clips.labels, experiment.folds)
        found["in two folds"] = find_across_folds(clips, folds)
        fix = (
            "use --training scratch, or start from weights that have not seen them"
            if not found["in two folds"]
            else "keep one of the copies, and give each person one name"
        )
    return refuse(found, allow_seen=allow_seen, fix=fix)


def _refuse_contradictions(*, zero_shot: bool, weights: str | Path | None, trains: bool) -> None:
    if weights is not None and not zero_shot:
        raise ConfigError("--weights needs --zero-shot", fix="to train from weights use --set training.start=MODEL")
    if zero_shot and trains:
        raise ConfigError("--zero-shot does not train", fix="leave out --set, --training, --nested and --seeds")


def _refuse_other_model(named: str | None, weights: Path) -> None:
    own = read_settings(weights).name
    if named not in (None, own):
        raise ConfigError(
            f"--zero-shot uses the weights as they are, which are of {own!r} and not of {named!r}",
            fix=f"leave out --model, or give the weights of {named} with --weights",
        )


def default_out(protocol: str, model: str, *, zero_shot: bool = False) -> Path:
    """The run folder where the user gave none."""
    return Path("runs") / f"{protocol}-{'zero-shot' if zero_shot else model}"


@contextmanager
def opened(maps: Maps | Sequence[Maps]) -> Iterator[tuple[MapSet, ...]]:
    """The map sets, each with a folder that worker processes can open."""
    given = [maps] if isinstance(maps, str | Path | MapSet) else list(maps)
    if not given:
        raise ConfigError("no map set given", fix="give one or more folders written by epir prepare")
    with ExitStack() as stack:
        sets = []
        for each in given:
            mapset = each if isinstance(each, MapSet) else load_maps(each)
            if mapset.folder is not None:
                mapset = replace(mapset, folder=real(mapset.folder))  # a worker may be in another folder
            else:
                folder = stack.enter_context(scratch_folder("maps")) / "maps"
                recipe, names = mapset.meta.get("recipe", {}), mapset.meta.get("views", ())
                mapset = save_maps(folder, mapset.maps, mapset.clips, recipe=recipe, views=names)
            sets.append(mapset)
        yield tuple(sets)


def provenance(sets: Sequence[MapSet], run: Path, *, engine: str, workers: int, device: str) -> dict[str, Any]:
    """Versions, machine and maps of a run, for `environment.json`; no name of a host or a person.

    Paths of map sets are relative to the run folder.
    """
    return {
        "versions": {"epir": __version__, "python": platform.python_version()} | _installed(),
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
                **({"views": list(mapset.view_names)} if mapset.views > 1 else {}),
                "recipe": dict(mapset.meta["recipe"]),
            }
            for mapset in sets
        ],
    }


def _installed() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue  # an extra that is not installed
    return found


def _experiment(clips: EvaluationSet, settings: Resolved, *, folds: str, seeds: int) -> Experiment:
    start = settings.training.start
    return Experiment(
        protocol=clips.protocol,
        classes=clips.classes,
        model=settings.model,
        training=settings.training if start is None else replace(settings.training, start=Path(start.name)),
        folds=clips.folds if folds == "loso" else folds,
        seeds=seeds,
        maps=clips.maps,
        clips=clips.digest,
        weights=weights_digest(find_folder(start)) if start else "",
    )


def _zero_shot_experiment(clips: EvaluationSet, folder: Path) -> Experiment:
    check_fits(folder, classes=clips.classes, map_size=clips.size, views=clips.views)
    views = read_config(folder).views
    return Experiment(
        protocol=clips.protocol,
        classes=clips.classes,
        model=with_views(read_settings(folder), clips.views),
        training=TrainingSettings(mirror_at_prediction=views["mirror"], shift_at_prediction=views["shift"]),
        folds=ZERO_SHOT,
        maps=clips.maps,
        clips=clips.digest,
        weights=weights_digest(folder),
    )


def fold_jobs(clips: EvaluationSet, experiment: Experiment, *, whole: bool = False) -> list[FoldJob]:
    """One job per fold and seed; a zero-shot experiment has one for every few hundred clips, or `whole` for all.

    The parts do not depend on the number of workers, and are those in which one process would predict: same bits.
    """
    row_of = {id(sample.clip): row for row, sample in enumerate(clips.samples)}  # folds hold these very clips

    def rows(some: Iterable[Clip]) -> np.ndarray:
        return np.array([row_of[id(clip)] for clip in some], dtype=np.int32)

    if experiment.is_zero_shot:
        count, everything = len(clips.samples), np.arange(len(clips.samples), dtype=np.int32)
        parts = 1 if whole else -(-count // PREDICTION_BATCH)
        if parts == 1:
            return [FoldJob(ALL, 0, everything[:0], everything)]
        size = PREDICTION_BATCH
        return [
            FoldJob(f"part {n + 1} of {parts}", 0, everything[:0], everything[n * size : (n + 1) * size])
            for n in range(parts)
        ]
    folds = [
        (fold.name, rows(fold.train), rows(fold.test))
        for fold in make_folds(clips.clips, clips.labels, experiment.folds)
    ]
    return [FoldJob(name, seed, train, test) for seed in range(experiment.seeds) for name, train, test in folds]


def _run_missing(store: Store, jobs: Sequence[FoldJob], inputs: FoldInputs, engine: Engine, progress: Progress) -> None:
    """Run the folds that are missing, and store each as soon as it is ready."""
    missing = [job for job in jobs if not store.has(job.fold, job.seed)]
    if not missing:
        return
    progress.start(f"{store.experiment.model.name} on {store.experiment.protocol}, folds", len(missing))
    earlier = f", {len(jobs) - len(missing)} done before" if len(missing) < len(jobs) else ""
    done = 0

    def update(words: Sequence[str] = (), *, steps: int = 0) -> None:
        left = len(missing) - done
        running = min(engine.processes, left)
        what = "; ".join(words[:SHOWN]) + (f" and {len(words) - SHOWN} more" if len(words) > SHOWN else "")
        progress.advance(steps, note=f"{what or f'{running} running'}, {left - running} queued{earlier}")

    update()
    if engine.is_cluster:  # its nodes need not see the disk of this one
        weights = pack_model(inputs.weights) if isinstance(inputs.weights, Path) else None
        inputs = replace(inputs, weights=weights, maps=read_maps(inputs.samples))
    for record in engine.run(run_job, missing, inputs, status=update):
        store.add(record)
        done += 1
        update(steps=1)
    progress.finish()
