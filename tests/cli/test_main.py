import signal
import subprocess
import sys
import time

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


def test_ctrl_c_exits_130_and_leaves_no_half_written_folder(tmp_path):
    command = [sys.executable, "-m", "epir.cli.main", "synth", str(tmp_path / "out"), "--people", "40"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline:  # it has begun to write
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.endswith("interrupted; whatever can be resumed goes on with the same command\n")
    assert list(tmp_path.iterdir()) == []
