"""The verb `align`: what is printed and written."""

import json

import numpy as np
import typer
from typer.testing import CliRunner

from epir.cli.align import align
from epir.core.records import Clip
from epir.maps.mapset import load_maps, save_maps
from epir.models.registry import create_model

app = typer.Typer()
app.command()(align)
CLASSES = ("negative", "positive", "surprise")


def test_align_writes_a_map_set_and_says_what_it_did(tmp_path):
    clips = [Clip("casme2", f"{n % 3}", f"{n}", CLASSES[n % 3]) for n in range(6)]
    random = np.random.default_rng(0).normal(size=(6, 3, 14, 14)).astype(np.float32)
    maps = save_maps(tmp_path / "maps", random, clips, recipe={}).folder
    model = create_model("ststnet", map_size=14).save_pretrained(tmp_path / "model", labels=CLASSES)
    call = [str(maps), "--out", str(tmp_path / "aligned"), "--weights", str(model)]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0, done.output
    assert "people); mean best score" in done.output.replace("\n", " ")
    assert load_maps(tmp_path / "aligned").clips == tuple(clips)
    found = json.loads(CliRunner().invoke(app, [*call, "--force", "--json"]).stdout)
    assert sum(found["people_by_step"].values()) == 3
