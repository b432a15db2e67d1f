"""Small map sets, quick settings and a finished run for the tests of the evaluation."""

import shutil

import numpy as np
import pytest

from epir.core.records import Clip
from epir.maps.mapset import save_maps

CLASSES = ("negative", "positive", "surprise")
QUICK = ("training.epochs=2", "training.batch=16", "training.lr=0.01")


def synthetic(people=4, each=6, *, size=12, corpora=("casme2", "samm"), signal=3.0, labels=CLASSES, seed=0):
    """Maps whose class is written in v, clips of people of several corpora; classes go round."""
    random = np.random.default_rng(seed)
    clips = [
        Clip(corpora[person % len(corpora)], f"{person:02d}", f"clip_{number}", labels[(person + number) % len(labels)])
        for person in range(people)
        for number in range(each)
    ]
    maps = random.normal(size=(len(clips), 3, size, size)).astype(np.float32)
    for place, clip in zip(maps, clips, strict=True):
        third = size // len(labels)
        first = labels.index(clip.emotion) * third
        place[1, first : first + third] += signal
    return maps, clips


@pytest.fixture
def make_maps(tmp_path):
    """A function that writes a synthetic map set and gives its folder."""

    def make(name="maps", **choices):
        maps, clips = synthetic(**choices)
        return save_maps(tmp_path / name, maps, clips, recipe={"name": "noise"}).folder

    return make


@pytest.fixture
def quick():
    """Settings under which a fold takes a fraction of a second."""
    return QUICK


@pytest.fixture(scope="session")
def _finished(tmp_path_factory):
    from epir.core.engines import Engine
    from epir.evaluation.run import evaluate

    home = tmp_path_factory.mktemp("finished")
    maps, clips = synthetic()
    save_maps(home / "maps", maps, clips, recipe={"name": "noise"})
    evaluate(home / "maps", protocol="cde", model="ststnet", out=home / "run", changes=QUICK, engine=Engine(workers=1))
    return home


@pytest.fixture
def finished(_finished, tmp_path):
    """A copy of a map set (`maps`) and of a finished run of it (`run`), made with the settings `quick`."""
    shutil.copytree(_finished / "maps", tmp_path / "maps")
    shutil.copytree(_finished / "run", tmp_path / "run")
    return tmp_path
