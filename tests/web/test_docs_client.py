"""The client in docs/web.md runs as it stands, with what the extra `web` installs."""

import re
import sys
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement

PAGE = Path(__file__).parents[2] / "docs" / "web.md"


def installed_by(name, extra="", seen=None):
    """The names of all packages that a requirement brings, its own extras included."""
    seen = set() if seen is None else seen
    for line in requires(name) or ():
        one = Requirement(line)
        key = one.name.lower().replace("_", "-")
        wanted = one.marker is None or one.marker.evaluate({"extra": extra})
        if wanted and key not in seen:
            seen.add(key)
            installed_by(one.name, seen=seen)
    return seen


def test_the_client_runs(server, clip, tmp_path, monkeypatch, capsys):
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    modules = set(re.findall(r"^import (\w+)", program, re.MULTILINE)) - set(sys.stdlib_module_names)
    assert modules and modules <= installed_by("epir", "web")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "smile.mp4").write_bytes(clip.read_bytes())
    exec(compile(program.replace("http://127.0.0.1:7860", server), "web.md", "exec"), {})
    assert "negative" in capsys.readouterr().out and (tmp_path / "why.png").read_bytes().startswith(b"\x89PNG")
