"""The benchmark from maps to its page: the user's own method is a row like any other."""

import csv

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from epir.core.engines import Engine
from epir.core.records import Clip
from epir.evaluation.comparison import CONSTANT, FREQUENCY
from epir.maps.mapset import save_maps
from epir.reports.benchmark import benchmark

CLASSES = ("negative", "positive", "surprise")
NET = """
from torch import nn


def tiny(classes: int, map_size: int = 28):
    return nn.Sequential(nn.Flatten(), nn.Linear(3 * map_size**2, classes))
"""


@pytest.fixture
def maps(tmp_path):
    clips = [Clip(("casme2", "samm")[n % 2], f"{n}", f"c{k}", CLASSES[(n + k) % 3]) for n in range(6) for k in range(6)]
    values = np.random.default_rng(0).normal(size=(len(clips), 3, 12, 12)).astype(np.float32)
    for value, clip in zip(values, clips, strict=True):
        value[1, 4 * CLASSES.index(clip.emotion) :][:4] += 3
    return save_maps(tmp_path / "maps", values, clips, recipe={"name": "noise"}).folder


def test_every_method_and_chance_are_rows_of_one_page_and_one_table(maps, tmp_path, monkeypatch):
    (tmp_path / "net.py").write_text(NET)
    models = ["bi-woof", f"{tmp_path / 'net.py'}:tiny", LogisticRegression()]
    call = dict(protocol="cde", models=models, out=tmp_path / "out", folds="3", engine=Engine(workers=1))
    call |= {"changes": ["training.epochs=2"]}
    done = benchmark([maps], **call)
    names = [row.name for row in done.standings]
    assert set(names[:3]) == {"bi-woof", "tiny", "LogisticRegression"} and names[3:] == [CONSTANT, FREQUENCY]
    scores = [row.uf1 for row in done.standings[:3]]
    assert scores == sorted(scores, reverse=True) and done.standings[0].p is None
    assert done.standings[-1].uf1 == pytest.approx(1 / 3, abs=0.02) and done.standings[-1].p < 0.05
    assert sum(row.rank_of_people for row in done.standings[:3]) == pytest.approx(6)
    rows = {row["method"]: row for row in csv.DictReader(done.csv.read_text().splitlines())}
    assert rows["tiny"]["parameters"] == str(3 * 144 * 3 + 3) and rows["tiny"]["code"] == "net.py:tiny"
    assert rows["tiny"]["best_epoch_uf1"] and not rows["bi-woof"]["best_epoch_uf1"]
    assert rows[CONSTANT]["evaluation"] == "chance" and rows["bi-woof"]["evaluation"] == "strict"
    page = done.page.read_text()
    assert all(word in page for word in ("tiny", CONSTANT, "best epoch (leaks)", "mean of each person", "p against"))
    monkeypatch.setattr(Engine, "run", lambda *_, **__: pytest.fail("nothing was missing"))
    assert benchmark([maps], **call).csv.read_text() == done.csv.read_text()
