"""Folds x seeds -> a run: evaluate a model under a protocol, or finish what an earlier call left."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from epir.core.errors import ConfigError
from epir.core.progress import Progress, Silent
from epir.evaluation.choices import choose
from epir.evaluation.cluster import run_ray
from epir.evaluation.environment import describe_environment
from epir.evaluation.fold import FoldTask
from epir.evaluation.folds import make_folds
from epir.evaluation.local import cores, run_local
from epir.evaluation.record import FoldRecord
from epir.evaluation.samples import Material, gather
from epir.evaluation.settings import ZERO_SHOT, Experiment
from epir.evaluation.store import Run, Store, open_store
from epir.maps.mapset import MapSet, load_maps, save_maps
from epir.models.folder import check_fits, find_folder, read_config, read_settings, weights_digest
from epir.training.fit import find_device
from epir.training.recipe import TrainingSettings

Maps = str | Path | MapSet


@dataclass(frozen=True)
class Engine:
    """How the folds are run: it decides how long a run takes, never what it says."""

    name: str = "local"  # or ray
    workers: int | None = None  # all cores
    address: str = ""  # of a Ray cluster that is already there
    gpus: float = 0.0  # each fold's share of a GPU, with ray

    def __post_init__(self) -> None:
        if self.name not in ("local", "ray"):
            raise ConfigError(f"there is no engine {self.name!r}", fix="use --engine local or --engine ray")
        if self.workers is not None and self.workers < 1:
            raise ConfigError(
                f"{self.workers} workers cannot do anything", fix="give --workers 1 or more, or leave it out"
            )
        if self.gpus < 0:
            raise ConfigError(f"{self.gpus:g} of a GPU is no share", fix="give 0 or more, for example --gpus 0.25")

    @property
    def processes(self) -> int:
        """How many workers there will be."""
        return self.workers or cores()

    def run(self, tasks: Sequence[FoldTask]) -> Iterator[FoldRecord]:
        """The records of the tasks, each as soon as it is there."""
        if self.name == "ray":
            return run_ray(tasks, workers=self.processes, address=self.address, gpus=self.gpus)
        return run_local(tasks, workers=self.processes)


def evaluate(
    maps: Maps | Sequence[Maps],
    *,
    protocol: str,
    model: str = "epir",
    out: str | Path | None = None,
    folds: str | int = "loso",
    seeds: int = 1,
    training: str | None = None,
    changes: Iterable[str] = (),
    zero_shot: bool = False,
    weights: str | Path | None = None,
    engine: Engine | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Train and predict every fold of `model` under `protocol`, and give the run; done folds are not done again.

    `training` names a recipe, `changes` are texts like `training.epochs=30`. With `zero_shot` nothing is trained: the
    `weights` of a model folder (or the shipped ones) predict every clip once.
    """
    engine, changes = engine or Engine(), tuple(changes)
    _refuse_contradictions(zero_shot=zero_shot, weights=weights, trains=bool(changes or training or seeds != 1))
    with opened(maps) as sets:
        material = gather(sets, protocol)
        if zero_shot:
            home = find_folder(weights).resolve()
            experiment = _zero_shot_experiment(material, home)
        else:
            home = None
            settings, recipe = choose(
                model, training=training, changes=changes, classes=len(material.classes), map_size=material.size
            )
            experiment = _experiment(material, settings, recipe, folds=str(folds), seeds=seeds)
        out = Path(out) if out is not None else default_out(material.protocol, model, zero_shot=zero_shot)
        tasks = _tasks(material, experiment, home)
        with open_store(out, experiment, force=force) as store:
            device = str(find_device(experiment.training.device))
            where = describe_environment(sets, out, engine=engine.name, workers=engine.processes, device=device)
            store.describe(where | {"clips_left_out": material.left_out})
            _finish(store, tasks, engine, progress or Silent())
            return store.finish(sorted({task.fold for task in tasks}))


def _refuse_contradictions(*, zero_shot: bool, weights: str | Path | None, trains: bool) -> None:
    if weights is not None and not zero_shot:
        raise ConfigError("--weights is for --zero-shot", fix="to train from weights use --set training.start=MODEL")
    if zero_shot and trains:
        raise ConfigError("--zero-shot trains nothing", fix="leave out --set, --training and --seeds")


def default_out(protocol: str, model: str, *, zero_shot: bool = False) -> Path:
    """Where a run goes that the user gave no folder for."""
    return Path("runs") / f"{protocol}-{'zero-shot' if zero_shot else model}"


@contextmanager
def opened(maps: Maps | Sequence[Maps]) -> Iterator[tuple[MapSet, ...]]:
    """The map sets, each with a folder that worker processes can open."""
    given = [maps] if isinstance(maps, str | Path | MapSet) else list(maps)
    if not given:
        raise ConfigError(
            "there is no map set to evaluate", fix="name one or more folders, as epir prepare writes them"
        )
    with ExitStack() as stack:
        sets = []
        for each in given:
            mapset = each if isinstance(each, MapSet) else load_maps(Path(each).resolve())
            if mapset.folder is None:
                folder = Path(stack.enter_context(TemporaryDirectory(prefix="epir-maps-")))
                mapset = save_maps(folder, mapset.maps, mapset.clips, recipe=mapset.meta.get("recipe", {}))
            sets.append(mapset)
        yield tuple(sets)


def _experiment(material: Material, model: object, training: TrainingSettings, *, folds: str, seeds: int) -> Experiment:
    return Experiment(
        protocol=material.protocol,
        classes=material.classes,
        model=model,
        training=training,
        folds=folds,
        seeds=seeds,
        maps=material.maps,
        clips=material.digest,
        weights=weights_digest(find_folder(training.start)) if training.start else "",
    )


def _zero_shot_experiment(material: Material, home: Path) -> Experiment:
    check_fits(home, classes=material.classes, map_size=material.size)
    views = read_config(home).views
    return Experiment(
        protocol=material.protocol,
        classes=material.classes,
        model=read_settings(home),
        training=TrainingSettings(mirror_at_prediction=views["mirror"], shift_at_prediction=views["shift"]),
        folds=ZERO_SHOT,
        maps=material.maps,
        clips=material.digest,
        weights=weights_digest(home),
    )


def _tasks(material: Material, experiment: Experiment, weights: Path | None) -> list[FoldTask]:
    """One task per fold and seed; a zero-shot experiment has one fold, of all clips."""
    sample_of = {sample.clip.key: sample for sample in material.samples}
    if experiment.is_zero_shot:
        return [FoldTask(experiment, "all clips", 0, (), material.samples, weights)]
    return [
        FoldTask(
            experiment=experiment,
            fold=fold.name,
            seed=seed,
            train=tuple(sample_of[clip.key] for clip in fold.train),
            test=tuple(sample_of[clip.key] for clip in fold.test),
        )
        for seed in range(experiment.seeds)
        for fold in make_folds(material.clips, material.labels, experiment.folds)
    ]


def _finish(store: Store, tasks: Sequence[FoldTask], engine: Engine, progress: Progress) -> None:
    """Run the folds that are missing, and keep each as soon as it is there."""
    missing = [task for task in tasks if not store.has(task.fold, task.seed)]
    if not missing:
        return
    progress.start(f"{store.experiment.model.name} on {store.experiment.protocol}, folds", len(missing))
    earlier = f", {len(tasks) - len(missing)} done earlier" if len(missing) < len(tasks) else ""

    def tell(done: int, *, steps: int) -> None:
        left = len(missing) - done
        running = min(engine.processes, left)
        progress.advance(steps, note=f"{running} running, {left - running} waiting{earlier}")

    tell(0, steps=0)
    for number, record in enumerate(engine.run(missing), start=1):
        store.add(record)
        tell(number, steps=1)
    progress.finish()
