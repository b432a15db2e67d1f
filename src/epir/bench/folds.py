"""A strict evaluation: folds on two workers against one, the share of a fold that is training, and HTNet's folds."""

import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from epir.bench.ratio import Ratio
from epir.core.engines import Engine
from epir.core.processes import cores
from epir.core.records import Clip
from epir.evaluation.experiment import Experiment
from epir.evaluation.fold import FoldInputs, FoldJob, run_job
from epir.evaluation.record import FoldRecord
from epir.evaluation.run import fold_jobs
from epir.evaluation.samples import gather
from epir.maps.mapset import save_maps
from epir.models.registry import model_settings
from epir.training.recipe import TrainingSettings

CLIPS = 4  # of each person
FOLDS = 4  # how many of the people are held out
CLASSES = ("negative", "positive", "surprise")


def measure(*, quick: bool = False) -> list[Ratio]:
    """Two workers against one on the paper's model, and the share of a fold that is training."""
    people, epochs, rounds = (10, 1, 1) if quick else (40, 4, 3)
    with TemporaryDirectory(prefix="epir-bench-") as folder:
        jobs, inputs = _jobs(Path(folder) / "maps", people, epochs)
        _timed(*_jobs(Path(folder) / "few", 4, 1), workers=2)  # warm-up: starts the processes
        one, two = float("inf"), float("inf")
        records: list[FoldRecord] = []
        for _ in range(rounds):
            seconds, records = _timed(jobs, inputs, workers=1)
            one = min(one, seconds)
            two = min(two, _timed(jobs, inputs, workers=2)[0])
        few, other = _jobs(Path(folder) / "theirs", people, 1, model="htnet")
        theirs = _timed(few[:1], other, workers=1)[1]
    training = sum(record.training_seconds for record in records)
    share = training / sum(record.seconds for record in records)
    clips = (people - 1) * CLIPS
    detail = f"{FOLDS} folds of {clips} training clips, {epochs} epochs: {one:.1f} s and {two:.1f} s"
    each = 1000 * training / (FOLDS * epochs * clips)
    htnet = 1000 * theirs[0].training_seconds / clips
    return [
        Ratio("one worker / two workers", one / two, 1.85 if cores() >= 2 else None, detail),
        Ratio("training / fold", share, 0.95, f"{each:.1f} ms per training clip and epoch"),
        Ratio("htnet / epir, training of a fold", htnet / each, 5.0, f"{htnet:.1f} ms per training clip and epoch"),
    ]


def _timed(jobs: Sequence[FoldJob], inputs: FoldInputs, *, workers: int) -> tuple[float, list[FoldRecord]]:
    began = time.perf_counter()
    records = list(Engine(workers=workers).run(run_job, jobs, inputs))
    return time.perf_counter() - began, records


def _jobs(folder: Path, people: int, epochs: int, *, model: str = "epir") -> tuple[list[FoldJob], FoldInputs]:
    random = np.random.default_rng(0)
    clips = [
        Clip("synthetic", f"{person:02d}", f"clip{number}", CLASSES[number % 3])
        for person in range(people)
        for number in range(CLIPS)
    ]
    maps = random.normal(size=(len(clips), 3, 28, 28)).astype(np.float32)
    found = gather([save_maps(folder, maps, clips, recipe={"name": "noise"})], "sde")
    experiment = Experiment("sde", CLASSES, model_settings(model), TrainingSettings(epochs=epochs))
    return fold_jobs(found, experiment)[:FOLDS], FoldInputs(experiment, found.samples)
