import json

import pytest
from typer.testing import CliRunner

from epir.cli import demo as demo_verb
from epir.cli.verbs import app


@pytest.fixture
def small(monkeypatch):
    """The demo with fewer and smaller clips."""
    for name, value in {"PEOPLE": 2, "CLIPS": 3, "SIZE": 200, "FPS": 40.0}.items():
        monkeypatch.setattr(demo_verb, name, value)


@pytest.mark.slow
def test_the_demo_runs_every_step_and_a_second_call_repeats_nothing(small, tmp_path):
    out = tmp_path / "demo"
    first = CliRunner().invoke(app, ["demo", "--out", str(out), "--workers", "1"])
    assert first.exit_code == 0, first.output
    assert "strict (95 % interval" in first.output
    assert "best epoch (leaks)" in first.output
    assert f"Open {out / 'report.html'} in a browser." in first.output
    assert f"epir compare {out / 'run'}" in first.output
    assert f"To use `epir` in this shell:\n  {demo_verb.activation()}\n" in first.output
    assert "<html" in (out / "report.html").read_text()

    folds = {path: path.stat().st_mtime_ns for path in (out / "run" / "folds").iterdir()}
    frames = {path: path.stat().st_mtime_ns for path in (out / "corpus").rglob("*.jpg")}
    again = CliRunner().invoke(app, ["demo", "--out", str(out), "--workers", "1", "--json"])
    assert (
        json.loads(again.stdout)["strict"]["uf1"]
        == json.loads((out / "run" / "scores.json").read_text())["strict"]["uf1"]
    )
    assert folds == {path: path.stat().st_mtime_ns for path in (out / "run" / "folds").iterdir()}
    assert frames == {path: path.stat().st_mtime_ns for path in (out / "corpus").rglob("*.jpg")}


def test_another_corpus_in_its_place_is_refused(small, tmp_path):
    from epir.core.config import write_toml
    from epir.core.errors import EpirError
    from epir.core.output import DEMO, mark
    from epir.synthetic.corpus import CorpusSettings

    write_toml(CorpusSettings(people=4), tmp_path / "demo" / "corpus" / "corpus.toml")
    (tmp_path / "demo" / "corpus" / "annotations.csv").touch()
    mark(tmp_path / "demo", DEMO)
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "demo")])
    assert isinstance(result.exception, EpirError)
    assert "has other settings (clips: 9 -> 3)" in str(result.exception)
    assert "add --force" in result.exception.fix


@pytest.mark.parametrize("further", [(), ("--force",)], ids=["", "--force"])
def test_a_folder_with_a_corpus_and_more_is_not_a_demo(small, tmp_path, further):
    """A user's `corpus`, `maps` and `run` have the same names as those of the demo, which must not replace them."""
    from epir.synthetic.corpus import CorpusSettings, write_corpus

    write_corpus(tmp_path / "corpus", CorpusSettings(people=1, clips=1, idle=0, size=96, fps=10.0))
    before = sorted(tmp_path.rglob("*"))
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path), *further])
    assert "that epir made" in str(result.exception)
    assert sorted(path for path in tmp_path.rglob("*") if path.name != f".{tmp_path.name}.lock") == before


def test_activation_names_the_environment(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo_verb.sys, "prefix", str(tmp_path / ".venv"))
    assert demo_verb.activation() == "source .venv/bin/activate"
    monkeypatch.setattr(demo_verb.sys, "prefix", demo_verb.sys.base_prefix)
    assert "-m epir" in demo_verb.activation()
