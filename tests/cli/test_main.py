import subprocess
import sys

import pytest

from epir import __version__
from epir.cli.verbs import VERBS


def epir(*words):
    return subprocess.run([sys.executable, "-m", "epir.cli.main", *words], capture_output=True, text=True)


def test_help_lists_every_verb():
    answer = epir("--help")
    assert answer.returncode == 0
    for verb in VERBS:
        assert verb.__name__ in answer.stdout


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_every_verb_explains_itself_with_an_example(verb):
    assert f"epir {verb.__name__}" in verb.__doc__


def test_the_version():
    assert epir("--version").stdout.strip() == f"epir {__version__}"


def test_a_wrong_verb_exits_2():
    assert epir("predikt").returncode == 2
