import json
import re

import pytest
import torch
import typer
from typer.testing import CliRunner

from epir.cli.export import export
from epir.core.errors import CheckpointError
from epir.models.epir import Epir
from epir.models.settings import preset

pytest.importorskip("onnxscript")

app = typer.Typer()
app.command()(export)


@pytest.mark.slow
def test_the_difference_is_told(tmp_path):
    Epir(preset("epir", width=16, feed_forward=16, blocks=3, heads=2)).save_pretrained(tmp_path / "model")
    result = CliRunner().invoke(app, [str(tmp_path / "model"), "--out", str(tmp_path / "m.onnx"), "--json"])
    assert result.exit_code == 0, result.output
    values = json.loads(result.stdout)
    assert values["maps"] == 34
    assert values["same_answer"] == 34
    assert values["mean_score_difference"] < 1e-5
    assert max(values["random_maps"], values["real_maps"]) == values["max_difference"] < 1e-4
    assert (tmp_path / "m.onnx").stat().st_size == pytest.approx(values["megabytes"] * 1e6, abs=1e4)


@pytest.mark.slow
def test_eight_bits_say_how_many_answers_stay_the_same(tmp_path):
    torch.manual_seed(1)  # of random weights a few lose too much in eight bits, and are refused
    Epir(preset("epir", width=16, feed_forward=16, blocks=3, heads=2)).save_pretrained(tmp_path / "model")
    result = CliRunner().invoke(app, [str(tmp_path / "model"), "--out", str(tmp_path / "m.onnx"), "--int8"])
    assert result.exit_code == 0, result.output
    told = re.search(r"the same answer on (\d+) of them, scores (\S+) apart on average", result.stdout)
    assert told, result.stdout
    assert 0 < int(told[1]) <= 34
    assert 0 < float(told[2]) < 0.05


def test_a_missing_model_is_told(tmp_path):
    result = CliRunner().invoke(app, [str(tmp_path / "none"), "--out", str(tmp_path / "m.onnx")])
    assert isinstance(result.exception, CheckpointError)
    assert "there is no model folder" in str(result.exception)


def test_without_a_model_the_shipped_one_is_exported(tmp_path, monkeypatch):
    from epir.final import export as module
    from epir.models.folder import shipped_folder

    asked = []

    def remember(folder, out, **options):
        asked.append((folder, out))
        return module.Exported(out, 0.0, 0.0, 0.0, 1, 1, 0.0, 1.0)

    monkeypatch.setattr(module, "export", remember)
    result = CliRunner().invoke(app, ["--out", str(tmp_path / "m.onnx")])
    assert result.exit_code == 0, result.output
    assert asked == [(shipped_folder(), tmp_path / "m.onnx")]
