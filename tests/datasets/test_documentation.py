"""docs/datasets.md repeats what the data files say; this keeps the two together."""

from pathlib import Path

import pytest

from epir.datasets.base import all_corrections
from epir.datasets.protocols import get_protocol, list_protocols
from epir.datasets.survey import expected_composite, expected_protocol

PAGE = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")
SHEETS = {"casme2": "2014", "samm": "v2", "smic": "hs", "casme3": "v2"}


@pytest.mark.parametrize("one", all_corrections(), ids=lambda one: one.clip)
def test_every_correction_is_on_the_page(one):
    assert f"| `{one.clip}` | {one.field} | {one.old} | {one.new} |" in PAGE


@pytest.mark.parametrize("name", list_protocols())
def test_every_protocol_is_on_the_page_with_its_classes_and_counts(name):
    if name == "sde":
        assert "| `sde` |" in PAGE
        return
    corpus = name.split("-")[1] if "-" in name else ""
    expected = expected_protocol(name, corpus, SHEETS[corpus]) if corpus else expected_composite()
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |")]
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert cells[1] == ", ".join(get_protocol(name).classes)
    assert cells[2].split()[0] == str(expected.clips)
    assert cells[3] == str(expected.people)


def test_the_table_of_the_composite():
    columns = [expected_protocol("cde", corpus, SHEETS[corpus]) for corpus in ("smic", "casme2", "samm")]
    columns.append(expected_composite())
    for label in get_protocol("cde").classes:
        assert f"| {label} | {' | '.join(str(column.classes[label]) for column in columns)} |" in PAGE
    assert f"| clips | {' | '.join(str(column.clips) for column in columns)} |" in PAGE
    assert f"| people | {' | '.join(str(column.people) for column in columns)} |" in PAGE
