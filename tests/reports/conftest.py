"""Made-up runs, written by the same code that writes real ones, with maps and frames that fit them."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from epir import synthetic_maps
from epir.core.engines import Engine
from epir.core.records import Clip
from epir.evaluation.experiment import Experiment
from epir.evaluation.fold import ClipRecord, FoldRecord
from epir.evaluation.run import evaluate
from epir.evaluation.store import Run, open_run, open_store
from epir.maps.mapset import MapSet, save_maps
from epir.models.registry import model_settings
from epir.reports.record import record_result
from epir.training.recipe import TrainingSettings

CLASSES = ("negative", "positive", "surprise")


def make_clips(
    corpora: dict[str, int], per_person: int, *, seed: int = 0, classes: tuple[str, ...] = CLASSES
) -> list[Clip]:
    """Some clips of some people of some corpora; the classes are as uneven as real ones."""
    rng = np.random.default_rng(seed)
    shares = np.array([0.56, 0.25, 0.19]) if len(classes) == 3 else np.full(len(classes), 1 / len(classes))
    return [
        Clip(
            corpus,
            f"sub{person:02d}",
            f"EP{number:02d}_{person}f",
            str(rng.choice(classes, p=shares)),
            10,
            30,
            60,
            200.0,
        )
        for corpus, people in corpora.items()
        for person in range(1, people + 1)
        for number in range(1, 1 + int(rng.integers(1, 2 * per_person)))
    ]


def make_maps(clips: list[Clip], *, size: int = 28, seed: int = 0) -> np.ndarray:
    """Smooth motion around one place of the face per class, (n, 3, S, S)."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:size, 0:size] / size
    maps = np.zeros((len(clips), 3, size, size), np.float32)
    for row, clip in enumerate(clips):
        place = {"negative": (0.35, 0.3), "positive": (0.5, 0.75), "surprise": (0.5, 0.2)}.get(clip.emotion, (0.5, 0.5))
        across, down = np.array(place) + rng.normal(0, 0.04, 2)
        bump = np.exp(-(((x - across) / 0.18) ** 2 + ((y - down) / 0.12) ** 2))
        maps[row, 0] = bump * rng.normal(0.4, 0.3) + rng.normal(0, 0.02, bump.shape)
        maps[row, 1] = bump * rng.normal(-0.8, 0.3) + rng.normal(0, 0.02, bump.shape)
        maps[row, 2] = np.hypot(*np.gradient(maps[row, 1]))
    return maps


def make_tokens(rng: np.random.Generator, *, grid: int = 4, heads: int = 3, merges: int = 6) -> dict:
    """A token record as a fold keeps it."""
    groups = [[patch] for patch in range(grid * grid)]
    for _ in range(merges):
        first, second = sorted(rng.choice(len(groups), 2, replace=False))
        groups[first] = sorted(groups[first] + groups.pop(second))
    rollout = rng.dirichlet(np.full(grid * grid, 0.4), heads)
    return {
        "groups": groups,
        "selected": [int(np.argmax([rollout[h][group].sum() for group in groups])) for h in range(heads)],
        "rollout": [[round(float(value), 5) for value in head] for head in rollout],
    }


def write_run(
    folder: Path,
    clips: list[Clip],
    *,
    maps: tuple[MapSet, ...] = (),
    model: str = "epir",
    protocol: str = "cde",
    classes: tuple[str, ...] = CLASSES,
    seeds: int = 1,
    epochs: int = 20,
    skill: float = 0.62,
    tokens: bool = True,
    merges: int = 6,
    environment: dict | None = None,
    seed: int = 0,
    training: TrainingSettings | None = None,
    weights: str = "",
    zero_shot: bool = False,
    **changes: object,
) -> Run:
    """A finished run with made-up predictions, right with the probability `skill`."""
    settings = model_settings(model, classes=len(classes), **changes)
    experiment = Experiment(
        protocol,
        classes,
        settings,
        training or TrainingSettings(epochs=max(epochs, 1)),
        folds="zero-shot" if zero_shot else "loso",
        seeds=seeds,
        maps=tuple(each.digest for each in maps),
        weights=weights,
    )
    folds = {person: [clip for clip in clips if clip.person == person] for person in {clip.person for clip in clips}}
    folds = {"all clips": clips} if zero_shot else dict(sorted(folds.items()))
    with open_store(folder, experiment) as store:
        for number in range(seeds):
            rng = np.random.default_rng([seed, number])
            for name, mine in folds.items():
                store.add(_fold(name, number, experiment, mine, rng, skill, epochs, merges if tokens else None))
        store.describe(
            environment
            or {
                "versions": {"epir": "0.1.0", "python": "3.11.2"},
                "workers": 2,
                "maps": [
                    {
                        "folder": os.path.relpath(each.folder, folder),
                        "digest": each.digest,
                        "clips": len(each),
                        "size": each.size,
                        "recipe": {"name": "epir"},
                    }
                    for each in maps
                ],
            }
        )
        return store.finish({name: [clip.key for clip in mine] for name, mine in folds.items()})


def _fold(name, number, experiment, clips, rng, skill, epochs, merges):
    classes = experiment.classes
    habit = float(np.clip(rng.normal(skill, 0.15), 0.05, 1.0))
    best = int(rng.integers(max(1, epochs // 3), epochs + 1)) if epochs else 0
    records = []
    for clip in clips:
        truth = classes.index(clip.emotion)
        after = [
            truth if rng.random() < habit * (1 - 0.7 * np.exp(-epoch / 4)) else int(rng.integers(len(classes)))
            for epoch in range(epochs)
        ]
        final = after[-1] if after else truth if rng.random() < habit else int(rng.integers(len(classes)))
        if after and rng.random() < 0.35:
            after[best - 1] = truth
        scores = rng.dirichlet(np.where(np.arange(len(classes)) == final, 9.0, 1.0))
        scores[[final, int(scores.argmax())]] = scores[[int(scores.argmax()), final]]
        records.append(
            ClipRecord(
                clip.corpus,
                clip.subject,
                clip.clip,
                truth=clip.emotion,
                strict=classes[final],
                best_epoch=classes[after[best - 1]] if after else classes[final],
                seed=number,
                fold=name,
                scores=tuple(round(float(score), 6) for score in scores),
                by_epoch=tuple(after),
                tokens=None if merges is None else make_tokens(rng, merges=merges),
            )
        )
    loss = tuple(float(1.1 * np.exp(-epoch / 6) + 0.25 + rng.normal(0, 0.02)) for epoch in range(epochs))
    return FoldRecord(name, number, experiment.digest, tuple(records), loss, best, 100, 3.2, 4.0)


def draw_face(clip: Clip, size: int = 240) -> np.ndarray:
    """A plain drawn face, (size, size, 3) uint8."""
    y, x = np.mgrid[0:size, 0:size] / size
    picture = np.full((size, size, 3), (70, 90, 110), np.uint8)
    tone = np.random.default_rng(list(clip.person.encode())).integers(0, 40)
    picture[((x - 0.5) / 0.42) ** 2 + ((y - 0.5) / 0.5) ** 2 < 1] = (224 - tone, 186 - tone, 160 - tone)
    for eye in (0.33, 0.67):
        picture[((x - eye) / 0.08) ** 2 + ((y - 0.4) / 0.035) ** 2 < 1] = (50, 40, 40)
        picture[(abs(x - eye) < 0.1) & (abs(y - 0.3) < 0.015)] = (90, 60, 40)
    picture[(abs(x - 0.5) < 0.13) & (abs(y - 0.76) < 0.02)] = (170, 70, 80)
    return picture


CORPORA = {"casme2": 2, "samm": 2, "smic": 2}


def make_run(home: Path, name: str = "run", **changes: object) -> Run:
    """A small run of three corpora with its map set in `home`; the same call gives the same run.

    One without `pictures` has neither maps nor tokens, and is quick to report.
    """
    clips = changes.pop("clips", None) or make_clips(changes.pop("corpora", CORPORA), 3)
    if not changes.pop("pictures", True):
        return write_run(home / name, clips, tokens=False, **changes)
    mapset = save_maps(home / "maps", make_maps(clips), clips, recipe={"name": "epir"}, force=True)
    return write_run(home / name, clips, maps=(mapset,), **changes)


@pytest.fixture
def fresh(tmp_path: Path) -> Callable[..., Run]:
    """Writes runs into `tmp_path`, to be moved or damaged."""

    def make(name: str = "run", **changes: object) -> Run:
        return make_run(tmp_path, name, **changes)

    return make


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """Runs that all tests share, each written once."""
    written: dict[str, Run] = {}

    def make(name: str = "run", **changes: object) -> Run:
        call = repr((name, sorted(changes.items())))
        if call not in written:
            written[call] = make_run(tmp_path_factory.mktemp("runs"), name, **changes)
        return written[call]

    return make


@pytest.fixture(scope="session")
def plain(small: Callable[..., Run]) -> Run:
    """The quickest run to report: of one corpus, without pictures."""
    return small(corpora={"casme2": 2}, pictures=False, epochs=1)


@pytest.fixture
def some_clips() -> list[Clip]:
    """The clips of the small run."""
    return make_clips(CORPORA, 3)


@pytest.fixture(scope="session")
def with_faces(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Clip]:
    """A run whose frames exist, and one of its clips."""
    return make_run_with_faces(tmp_path_factory.mktemp("faces"))


def make_run_with_faces(home: Path) -> tuple[Run, Clip]:
    """A run whose frames lie in `home`."""
    from PIL import Image

    clips = []
    for clip in make_clips({"casme2": 2}, 1):
        folder = home / "frames" / clip.key
        folder.mkdir(parents=True)
        Image.fromarray(draw_face(clip)).save(folder / "img30.png")
        crop = "x=120 y=120 side=230 angle=0 stretch=1"
        clips.append(replace(clip, extra={"frames": str(folder), "crop": crop}))
    return make_run(home, clips=clips, epochs=2), clips[0]


@pytest.fixture(scope="session")
def zero_shot(small: Callable[..., Run]) -> Run:
    """A run of weights that were not trained on its clips."""
    return small("zero-shot", zero_shot=True, epochs=0, weights="0123456789abcdef", pictures=False)


@pytest.fixture(scope="session")
def rates(small: Callable[..., Run]) -> list[Run]:
    """A sweep over the integration rate."""
    return [
        small(f"r{merges}", integration=rate, merges=merges, epochs=2, seed=merges, corpora={"casme2": 3})
        for rate, merges in ((0.0, 0), (0.3, 5))
    ]


@pytest.fixture(scope="session")
def render() -> Callable[..., str]:
    """The whole page of some runs, each drawn once."""
    from epir.core.engines import Silent
    from epir.reports.page import report_page

    drawn: dict[str, str] = {}

    def make(*runs: Run, **changes: object) -> str:
        call = repr(([str(run.folder) for run in runs], changes))
        if call not in drawn:
            drawn[call] = report_page(runs, **{"maps": (), "faces": True, "progress": Silent(), **changes})
        return drawn[call]

    return make


@pytest.fixture(scope="session")
def one(small: Callable[..., Run], render: Callable[..., str]) -> str:
    """The page of one run with everything on it."""
    return render(small(corpora={"casme2": 1, "samm": 1, "smic": 1}, seeds=2, epochs=4))


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """A map set and a finished run of it with two seeds."""
    home = tmp_path_factory.mktemp("results")
    maps = synthetic_maps(24, "direct")
    save_maps(home / "maps", maps.maps, maps.clips, recipe={"name": "drawn"})
    evaluate(
        home / "maps", protocol="sde", model="ststnet", folds=2, seeds=2, out=home / "run",
        changes=("training.epochs=2", "training.batch=16"), engine=Engine(workers=1),
    )  # fmt: skip
    return home


@pytest.fixture
def result(home, tmp_path):
    run = open_run(home / "run")
    path, change = record_result(run, tmp_path / "results", f"epir evaluate {home / 'maps'} --protocol sde")
    assert change == "new"
    return json.loads(path.read_text())
