import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from epir.cli.ablate import ablate
from epir.core.errors import ConfigError
from epir.core.records import Clip
from epir.maps.mapset import save_maps

SMALL = [f"--set={word}" for word in ("model.width=12", "model.heads=2", "model.feed_forward=12", "training.epochs=1")]


@pytest.fixture
def run_ablate(tmp_path):
    random = np.random.default_rng(0)
    clips = [
        Clip("smic", str(n), f"c{k}", ("negative", "positive", "surprise")[k % 3]) for n in range(3) for k in range(3)
    ]
    maps = random.normal(size=(9, 3, 28, 28)).astype(np.float32)
    folder = save_maps(tmp_path / "maps", maps, clips, recipe={"name": "noise"}).folder
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(ablate)

    def call(*words):
        start = [str(folder), "--folds", "2", "--workers", "1", "--out", str(tmp_path / "runs"), *SMALL]
        result = CliRunner().invoke(app, [*start, *words])
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


def test_the_ladder_ends_in_one_table(run_ablate, tmp_path):
    result = run_ablate("--protocol", "cde")
    assert result.exit_code == 0
    for words in ("vit+dtsm+itals+dnspt", "+Token Integration", "published: unknown", "0.8852"):
        assert words in result.stdout
    assert (tmp_path / "runs" / "table.csv").read_text().count("best epoch (leaks)") == 6


def test_a_sweep_gives_json(run_ablate):
    found = json.loads(run_ablate("--protocol", "sde", "--sweep", "integration", "--json").stdout)
    assert list(found["runs"]) == [f"integration {rate} %" for rate in (0, 30, 60, 80)]
    assert all("strict" in scores for scores in found["runs"].values())


def test_an_unknown_sweep_is_refused(run_ablate):
    with pytest.raises(ConfigError, match="there is no sweep 'depth'\n  fix: use one of: blocks, integration"):
        run_ablate("--protocol", "sde", "--sweep", "depth")
