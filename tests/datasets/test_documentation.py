"""The pages on corpora repeat what the data files say; this keeps the two together."""

import re
from pathlib import Path

import pytest

from epir.datasets.registry import list_corpora

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "\n".join(
    (DOCS / name).read_text(encoding="utf-8") for name in ("own-corpus.md", "spotting_protocol.md", "datasets.md")
)


@pytest.mark.parametrize("name", list_corpora())
def test_every_corpus_is_on_the_page(name):
    assert f"`{name}`" in PAGE


def python_of(name):
    (program,) = re.findall(r"```python\n(.*?)```", (DOCS / name).read_text(encoding="utf-8"), re.DOTALL)
    return program


def test_the_python_of_the_page_runs(casme2_small, monkeypatch, capsys):
    monkeypatch.chdir(casme2_small)
    (casme2_small / "corpora").mkdir()
    (casme2_small / "corpora/CASME2").symlink_to(casme2_small)
    exec(compile(python_of("datasets.md"), "datasets.md", "exec"), {})
    assert capsys.readouterr().out.startswith("Corpus(casme2, sheet 2014, cropped frames: clips ")


def test_the_corpus_in_python_runs():
    written: dict = {}
    exec(python_of("own-corpus.md"), written)
    assert written["load"](Path("lab"))[0].key == "lab/s1/c1"


def test_the_python_for_long_videos_runs(tmp_path, release, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    program = python_of("spotting_protocol.md")
    runnable = program.replace('"casme-sq", "corpora/CASME_sq"', '"manifest", "intervals.csv"')
    assert runnable != program
    page = (DOCS / "spotting_protocol.md").read_text(encoding="utf-8")
    row = re.search(r"^    (corpus,subject,video.*\n)    (lab,anna,interview.*micro.*\n)", page, re.MULTILINE)
    release.frames(tmp_path / "anna/interview.mp4", range(1, 140))
    (tmp_path / "intervals.csv").write_text(row[1] + row[2])
    exec(compile(runnable, "spotting_protocol.md", "exec"), {})
    assert "[('micro', 120, 131)]" in capsys.readouterr().out
