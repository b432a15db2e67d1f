"""The client in docs/web.md runs unchanged, with the packages of the extra `web`."""

import re
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

PAGE = Path(__file__).parents[2] / "docs" / "web.md"


def installed_by(name, extra="", seen=None):
    """The names of all packages that a requirement installs, extras included."""
    seen = set() if seen is None else seen
    for line in requires(name) or ():
        one = Requirement(line)
        key = one.name.lower().replace("_", "-")
        wanted = one.marker is None or one.marker.evaluate({"extra": extra})
        if wanted and key not in seen:
            seen.add(key)
            installed_by(one.name, seen=seen)
    return seen


@pytest.fixture
def run_client(server, tmp_path, monkeypatch, capsys):
    """Runs the client on a file; returns its output."""
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    modules = set(re.findall(r"^import (\w+)", program, re.MULTILINE)) - set(sys.stdlib_module_names)
    assert modules and modules <= installed_by("epir", "web")
    monkeypatch.chdir(tmp_path)

    def run(content):
        (tmp_path / "smile.mp4").write_bytes(content)
        exec(compile(program.replace("http://127.0.0.1:7860", server), "web.md", "exec"), {})
        return capsys.readouterr().out

    return run


def test_the_client_saves_why(run_client, clip, tmp_path):
    assert "negative" in run_client(clip.read_bytes())
    assert (tmp_path / "why.png").read_bytes().startswith(b"\x89PNG")


def test_the_client_runs_on_a_clip_without_a_movement(run_client, still, tmp_path):
    assert run_client(still.read_bytes()) == "no micro-expression found {}\n"
    assert not (tmp_path / "why.png").exists()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"only text", "smile.mp4 is not a supported video or picture; fix: send a video"),
        (b"\0\0\0\x18ftypmp42" + bytes(40), "smile.mp4 cannot be opened as a video: it is damaged.*; fix: play it"),
    ],
    ids=["refused", "failed"],
)
def test_the_client_says_what_is_wrong(run_client, content, problem):
    with pytest.raises(SystemExit, match=problem):
        run_client(content)
