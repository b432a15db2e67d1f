import subprocess
import sys

import pytest

from epir.core.errors import RunError
from epir.evaluation.lock import locked

HOLD = """
import pathlib, sys
from epir.evaluation.lock import locked
with locked(pathlib.Path(sys.argv[1])):
    print(1, flush=True)
    input()
"""


def test_a_second_process_is_told_and_a_killed_one_leaves_no_lock(tmp_path):
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with other:
        assert other.stdout.readline() == "1\n"
        with (
            pytest.raises(RunError, match=r"another process is working in the run folder .*\n  fix: wait"),
            locked(tmp_path),
        ):
            pass
        other.kill()
    with locked(tmp_path):
        pass


def test_one_process_may_come_back(tmp_path):
    for _ in range(2):
        with locked(tmp_path / "new" / "run"):
            assert (tmp_path / "new" / "run").is_dir()


def test_an_unwritable_place_is_told(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with (
        pytest.raises(RunError, match=r"cannot write to the run folder .*\n  fix: give another folder"),
        locked(tmp_path / "file"),
    ):
        pass
