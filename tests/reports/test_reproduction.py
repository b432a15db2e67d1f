import json
from types import SimpleNamespace

import numpy as np
import pytest

from epir.core.engines import Engine
from epir.core.errors import ProtocolError
from epir.core.records import Clip
from epir.evaluation.series import reproduce
from epir.maps.mapset import save_maps
from epir.reports.reproduction import paper_tables, write_reproduction

TINY = ("model.width=24", "model.feed_forward=24", "model.heads=2", "model.blocks=5", "training.epochs=1")
CLASSES = ("negative", "positive", "surprise")


def save(folder, corpora=("casme2", "samm"), labels=CLASSES):
    random = np.random.default_rng(0)
    clips = [
        Clip(corpora[person % len(corpora)], f"{person:02d}", f"c{number}", labels[(person + number) % len(labels)])
        for person in range(4)
        for number in range(3)
    ]
    maps = random.normal(size=(len(clips), 3, 28, 28)).astype(np.float32)
    return save_maps(folder, maps, clips, recipe={"name": "noise"}).folder


@pytest.fixture(scope="module")
def reproduction(tmp_path_factory):
    """What was reproduced, its page, and a function that calls it again."""
    home = tmp_path_factory.mktemp("paper")
    maps = save(home / "maps")
    call = dict(out=home / "out", quick=True, sweeps=False, changes=TINY, engine=Engine(workers=1))
    results = reproduce([maps], **call)
    return results, write_reproduction(results, home / "out"), lambda: reproduce([maps], **call)


def test_every_table_that_the_maps_allow_is_made_and_the_others_say_why_not(reproduction):
    results, page, _ = reproduction
    assert [table.name for table in paper_tables(results)] == ["table-1-cde", "table-4-cde"]
    assert results.missing["sde-casme3"] == "no clip is of casme3"
    problem = "labelled 'negative', which the protocol sde-casme2 does not know"
    assert problem in results.missing["sde-casme2"]  # it has the composite's labels only
    text = page.read_text()
    assert "Not reproduced: sde-casme3 (Table 2): no clip is of casme3." in text and "A quick look" in text


def test_the_ladder_has_both_columns_printed_scores_size_and_a_test_of_each_rung(reproduction):
    ladder = paper_tables(reproduction[0])[1]
    titles = [column.title for column in ladder.columns]
    assert titles[-4:] == ["parameters (M)", "multiply-accumulates (M)", "difference", "p"]
    rows = {row.cells[:2]: row.cells for row in ladder.rows}
    assert ("vit", "strict") in rows and ("vit", "best epoch (leaks)") in rows
    assert rows["+DTSM", "printed: unknown"][2] == "0.7736"
    tested = [name for (name, kind), cells in rows.items() if cells[-1]]
    assert len(tested) == 5 and "vit" not in tested  # six rungs, five steps


def test_the_numbers_are_there_as_json_and_a_second_call_repeats_nothing(reproduction):
    _, page, again = reproduction
    numbers = json.loads((page.parent / "numbers.json").read_text())
    assert [step["to"] for step in numbers["protocols"]["cde"]["steps"]][-1] == "epir"
    assert numbers["protocols"]["cde"]["ladder"]["epir"]["training"].startswith("paper")
    stamps = {path: path.stat().st_mtime_ns for path in page.parent.glob("cde/*/folds/*.json")}
    again()
    assert stamps and all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())


@pytest.mark.parametrize("blocks", [9, 13])
def test_the_point_of_a_sweep_that_is_the_whole_model_is_not_run_twice(tmp_path, monkeypatch, blocks):
    def evaluate(*_, out, changes, **__):
        last = [change for change in changes if change.startswith("model.blocks=")][-1]
        return SimpleNamespace(folder=out, experiment=SimpleNamespace(model=SimpleNamespace(blocks=int(last[13:]))))

    monkeypatch.setattr("epir.evaluation.series.evaluate", evaluate)
    results = reproduce([save(tmp_path / "maps")], out=tmp_path / "out", changes=[f"model.blocks={blocks}"])
    points = {run.experiment.model.blocks: run.folder.name for run in results.parts[0].sweeps["blocks"]}
    assert points[blocks] == "epir" and points[7] == "blocks-7" and points[22 - blocks] == f"blocks-{22 - blocks}"


def test_maps_that_fit_no_protocol_are_refused(tmp_path):
    maps = save(tmp_path / "maps", corpora=("casme3",), labels=("sad", "nothing", "odd"))
    with pytest.raises(ProtocolError, match="fit no protocol of the paper"):
        reproduce([maps], out=tmp_path / "out")
