"""The verb `calibrate`: what is printed, and what changes in the folder."""

import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from epir.cli.calibrate import calibrate
from epir.core.records import Clip
from epir.maps.mapset import save_maps
from epir.models.registry import create_model

app = typer.Typer()
app.command()(calibrate)
CLASSES = ("negative", "positive", "surprise")


@pytest.fixture
def model(tmp_path):
    return create_model("ststnet", map_size=12).save_pretrained(tmp_path / "model", labels=CLASSES)


@pytest.fixture
def maps(tmp_path):
    clips = [Clip(("casme2", "samm")[n % 2], f"{n % 6}", f"{n}", CLASSES[n % 3]) for n in range(36)]
    random = np.random.default_rng(0).normal(size=(36, 3, 12, 12)).astype(np.float32)
    return save_maps(tmp_path / "maps", random, clips, recipe={}).folder


def test_the_temperature_is_written(model, maps):
    done = CliRunner().invoke(app, [str(model), "--on", str(maps), "--protocol", "cde"])
    assert done.exit_code == 0, done.output
    assert "36 clips of 6 people" in done.output.replace("\n", " ")
    assert "casme2: temperature of the others" in done.output and "written to the model folder" in done.output
    assert json.loads((model / "config.json").read_text())["notes"]["temperature"] > 0


def test_json_and_a_dry_run(model, maps):
    before = (model / "config.json").read_text()
    done = CliRunner().invoke(app, [str(model), "--on", str(maps), "--protocol", "cde", "--dry-run", "--json"])
    found = json.loads(done.output)
    assert found["clips"] == 36 and set(found["by_corpus"]) == {"casme2", "samm"} and found["reliability"]
    assert (model / "config.json").read_text() == before
