"""The pages on corpora repeat what the data files say; this keeps the two together."""

import re
from pathlib import Path

import pytest

from epir.datasets.cd6me import always_positive, pooled_positives, published_counts
from epir.datasets.protocols import get_protocol, list_protocols
from epir.datasets.registry import list_corpora
from epir.datasets.survey import Counts, expected_composite, expected_protocol

DOCS = Path(__file__).parents[2] / "docs"
PAGE = "\n".join(
    (DOCS / name).read_text(encoding="utf-8") for name in ("own-corpus.md", "spotting_protocol.md", "datasets.md")
)
SHEETS = {
    "casme2": "2014",
    "samm": "v2",
    "smic": "hs",
    "casme3": "v2",
    "mmew": "v1",
    "dfme": "challenge",
    "4dme": "v1",
    "casme": "2013",
}


@pytest.mark.parametrize("name", list_protocols())
def test_every_protocol_is_on_the_page_with_its_classes_and_counts(name):
    if name == "sde":
        assert "| `sde` |" in PAGE
        return
    corpus = name.split("-")[1] if name.startswith("sde-") else ""
    expected = expected_protocol(name, corpus, SHEETS[corpus]) if corpus else None
    expected = expected_composite() if name == "cde" else expected or Counts()
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[1] == ", ".join(get_protocol(name).classes)
    assert cells[2].partition(" ")[0] == ("" if expected.clips is None else str(expected.clips))
    assert cells[3] == ("" if expected.people is None else str(expected.people))


def test_the_table_of_the_composite():
    columns = [expected_protocol("cde", corpus, SHEETS[corpus]) for corpus in ("smic", "casme2", "samm")]
    columns.append(expected_composite())
    for label in get_protocol("cde").classes:
        assert f"| {label} | {' | '.join(str(column.classes[label]) for column in columns)} |" in PAGE
    assert f"| clips | {' | '.join(str(column.clips) for column in columns)} |" in PAGE
    assert f"| people | {' | '.join(str(column.people) for column in columns)} |" in PAGE


@pytest.mark.parametrize("name", list_corpora())
def test_every_corpus_is_on_the_page(name):
    assert f"| `{name}` |" in PAGE


def test_the_floor_of_cd6me():
    floor = always_positive(pooled_positives(), sum(each.clips for each in published_counts()))
    cells = [f"{100 * value:.1f}" for value in (*floor.values(), sum(floor.values()) / len(floor))]
    assert f"| always positive | {' | '.join(cells)} |" in PAGE


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
    assert written["load"](Path("lab"))[0].key == written["load"].corrections[0]["clip"] == "lab/s1/c1"


def test_the_python_for_long_videos_runs(tmp_path, release, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    program = python_of("spotting_protocol.md")
    own = program.replace('"casme-sq", "corpora/CASME_sq"', '"manifest", "intervals.csv"')
    assert own != program
    page = (DOCS / "spotting_protocol.md").read_text(encoding="utf-8")
    row = re.search(r"^    (corpus,subject,video.*\n)    (lab,anna,interview.*micro.*\n)", page, re.MULTILINE)
    release.frames(tmp_path / "anna/interview.mp4", range(1, 140))
    (tmp_path / "intervals.csv").write_text(row[1] + row[2])
    exec(compile(own, "spotting_protocol.md", "exec"), {})
    assert "[('micro', 120, 131)]" in capsys.readouterr().out
