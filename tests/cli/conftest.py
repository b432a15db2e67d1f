"""The command line in this process, as a program and as a function; map sets of noise."""

import sys
from typing import NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

from epir.cli.main import main
from epir.cli.verbs import app
from epir.core.records import Clip
from epir.maps.mapset import save_maps

CLASSES = ("negative", "positive", "surprise")


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def epir(monkeypatch, capsys):
    """A function that runs `epir WORDS`: exit code, stdout, stderr."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["epir", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        return Outcome(end.value.code or 0, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def invoke():
    """A function that runs `epir WORDS`; errors are raised as they are."""

    def call(*words):
        result = CliRunner().invoke(app, [str(word) for word in words])
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


@pytest.fixture
def noise(tmp_path):
    """A function that writes a map set of noise."""

    def make(name="maps", *, people=4, clips=6, size=12, labels=CLASSES, corpora=("smic",)):
        random = np.random.default_rng(0)
        corpus = [corpora[number % len(corpora)] for number in range(people)]
        each = [
            Clip(corpus[n], str(n), f"c{k}", labels[(n + k) % len(labels)]) for n in range(people) for k in range(clips)
        ]
        maps = random.normal(size=(len(each), 3, size, size)).astype(np.float32)
        return save_maps(tmp_path / name, maps, each, recipe={"name": "noise"}).folder

    return make
