"""Killed at every single operation on files, then the same command: nothing is lost, and the result is the same.

Of preparing and evaluating a few of the operations in every test run; of all verbs more of them in slow tests; each
single one with `-m every`, which takes many minutes.
"""

import os
from itertools import count

import numpy as np
import pytest

from epir.core.engines import Engine
from epir.core.errors import EpirError
from epir.core.records import Clip
from epir.evaluation.run import evaluate
from epir.final.train import train
from epir.maps.mapset import save_maps
from epir.maps.prepare import prepare
from epir.synthetic.corpus import CorpusSettings, write_corpus

ONE = Engine(workers=1)
TINY = ("model.width=4", "model.heads=1", "model.feed_forward=4", "model.blocks=3", "training.epochs=2")


def every(slow, *quick):
    """Kills at every so many operations; at each single one with `-m every`."""
    marked = [pytest.param(slow, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.every)]
    return pytest.mark.parametrize("step", [*quick, *marked])


steps = every(7, 31)


@pytest.fixture(scope="session")
def maps(tmp_path_factory):
    random = np.random.default_rng(0)
    classes = ("negative", "positive", "surprise")
    clips = [Clip("smic", str(n), f"c{k}", classes[k]) for n in range(2) for k in range(3)]
    content = random.normal(size=(len(clips), 3, 14, 14)).astype(np.float32)
    return save_maps(tmp_path_factory.mktemp("crashes") / "maps", content, clips, recipe={"name": "noise"}).folder


@pytest.fixture
def killed_everywhere(tmp_path, crash_at):
    """Kills `work` at every `step`-th operation, does it again, and compares what `result` reads.

    `before` makes what is there already. Gives the number of kills.
    """

    def run(work, result, step, before=lambda place: None):
        home = tmp_path / "undisturbed"
        home.mkdir()
        before(home / "out")
        work(home / "out")
        expected, beside = result(home / "out"), sorted(os.listdir(home))
        for kills, number in enumerate(count(1, step)):
            home = tmp_path / str(number)
            home.mkdir()
            before(home / "out")
            crashed = crash_at(number, lambda home=home: work(home / "out"))
            work(home / "out")
            assert result(home / "out") == expected, f"killed at operation {number}"
            assert sorted(os.listdir(home)) == beside, "nothing is left beside it"
            if not crashed:
                return kills

    return run


def run_of(folder):
    names = ["config.toml", "predictions.csv", *(f"folds/{name}" for name in sorted(os.listdir(folder / "folds")))]
    assert [name for name in os.listdir(folder) if name.startswith(".")] == [".epir"]
    return names, (folder / "predictions.csv").read_bytes(), (folder / "config.toml").read_bytes()


@steps
@pytest.mark.parametrize("force", [False, True], ids=["", "--force"])
def test_evaluate(killed_everywhere, maps, step, force):
    def work(out, seeds=1, force=force):
        evaluate(maps, protocol="sde", model="bi-woof", out=out, folds=2, engine=ONE, seeds=seeds, force=force)

    kills = killed_everywhere(work, run_of, step, (lambda out: work(out, 2, False)) if force else lambda out: None)
    assert kills >= max(1, 30 // step)


@steps
@pytest.mark.parametrize("force", [False, True], ids=["", "--force"])
def test_prepare(killed_everywhere, face_clips, bytes_in, step, force):
    clips = face_clips(people=1, each=2)

    def work(out, size=8, force=force):
        prepare(clips, None, out, size=size, workers=1, detector="none", force=force)

    kills = killed_everywhere(work, bytes_in, step, (lambda out: work(out, 12, False)) if force else lambda out: None)
    assert kills >= max(1, 30 // step)


@every(17)
def test_train(killed_everywhere, maps, step):
    def work(out):
        train(maps, protocol="sde", out=out, training="scratch", changes=TINY, folds=2, workers=1)

    def result(out):
        return (out / "model.safetensors").read_bytes()

    assert killed_everywhere(work, result, step) >= max(1, 60 // step)


@every(29)
@pytest.mark.parametrize("force", [False, True], ids=["", "--force"])
def test_synth(killed_everywhere, bytes_in, step, force):
    def work(out, seed=0, force=force):
        settings = CorpusSettings(people=1, clips=1, idle=0, size=96, fps=10.0, seed=seed)
        try:
            write_corpus(out, settings, force=force)
        except EpirError as error:  # killed when it was in its place already
            assert "exists already" in error.problem and not force

    kills = killed_everywhere(work, bytes_in, step, (lambda out: work(out, 1, False)) if force else lambda out: None)
    assert kills >= max(1, 30 // step)


def test_a_training_that_was_stopped_goes_on_where_it_was(maps, tmp_path, monkeypatch):
    """The folds are not trained again, nor the epochs of the final model."""
    from epir.training import fit

    epochs = []

    def stop(self, path, name, save=fit.Checkpoint.save):
        save(self, path, name)
        epochs.append(len(self.losses))
        if epochs == [1]:
            raise KeyboardInterrupt

    monkeypatch.setattr(fit.Checkpoint, "save", stop)
    call = dict(protocol="sde", out=tmp_path / "model", training="scratch", changes=TINY, folds=2, workers=1)
    with pytest.raises(KeyboardInterrupt):
        train(maps, **call)
    (state,) = tmp_path.iterdir()
    assert state.name.startswith(".model-training-") and len(list((state / "run" / "folds").iterdir())) == 2
    folds = {path: path.stat().st_mtime_ns for path in (state / "run" / "folds").iterdir()}
    monkeypatch.setattr("epir.final.train._remove_states", lambda out, complete=False: None)
    train(maps, **call)
    assert epochs == [1, 2] and {path: path.stat().st_mtime_ns for path in folds} == folds
