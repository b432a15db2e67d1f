import subprocess
import sys

import pytest

from epir.cli.main import main


@pytest.fixture
def epir(monkeypatch, capsys, tmp_path):
    """The command line in this process, in an empty folder: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["epir", *words])
        with pytest.raises(SystemExit) as end:
            main()
        out, err = capsys.readouterr()
        return end.value.code or 0, out, err

    return call


def test_the_template_works_and_so_does_its_test(epir, tmp_path):
    code, out, _ = epir("new", "method", "my_net.py")
    assert code == 0 and "--model my_net.py:MyNet" in out
    assert 25 <= len((tmp_path / "my_net.py").read_text().splitlines()) <= 45
    test = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_net.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert test.returncode == 0, test.stdout
    assert "2 passed" in test.stdout


def test_nothing_is_overwritten_without_force(epir, tmp_path):
    (tmp_path / "test_my_net.py").write_text("mine")
    code, _, err = epir("new", "method", "my_net.py")
    assert code == 2 and err == "test_my_net.py exists already\nfix: choose another name, or replace it with --force\n"
    assert not (tmp_path / "my_net.py").exists()
    assert epir("new", "method", "my_net.py", "--force")[0] == 0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("method", "my-net.py"), "my-net.py is not the name of a Python file that can be imported"),
        (("method", "my_net"), "my_net is not the name of a Python file"),
        (("corpus", "my.py"), "there is no template 'corpus'"),
    ],
)
def test_names_that_cannot_be_used_are_refused(epir, tmp_path, words, problem):
    code, _, err = epir("new", *words)
    assert code == 2 and problem in err and "fix: " in err
    assert list(tmp_path.iterdir()) == []
