"""The verbs `predict`, on a model with random weights: what is said, not whether it is right."""

import json

import cv2
import numpy as np
import pytest
import typer
from skimage.data import astronaut
from typer.testing import CliRunner

from epir.cli.predict import predict
from epir.models.epir import Epir
from epir.models.settings import preset

app = typer.Typer()
app.command()(predict)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model") / "random"
    network = Epir(preset("epir", width=32, feed_forward=32, blocks=3))
    network.save_pretrained(folder, labels=("negative", "positive", "surprise"), notes={"threshold": 0.0})
    return folder


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Two pictures of a real face whose mouth goes up."""
    place = tmp_path_factory.mktemp("pictures")
    face = astronaut()[20:220, 120:320]
    rows, columns = np.mgrid[0:200, 0:200].astype(np.float32)
    up = 2.5 * np.exp(-((columns - 102) ** 2 + (rows - 121) ** 2) / 300)
    for name, lift in (("onset.png", 0 * up), ("apex.png", up)):
        moved = cv2.remap(face, columns, rows + lift, cv2.INTER_CUBIC)
        cv2.imwrite(str(place / name), moved[..., ::-1])
    return place / "onset.png", place / "apex.png"


def run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


def test_two_pictures_get_one_line(model, pictures):
    result = run(*pictures, "--model", model)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["input", "onset", "apex", "offset", "answer", "score", "all", "scores"]
    assert any(word in lines[2] for word in ("negative", "positive", "surprise"))
    assert "note: " in lines[3] and "face is small" in lines[3]


def test_json_is_one_object(model, pictures):
    result = run(*pictures, "--model", model, "--json")
    values = json.loads(result.stdout)
    assert values["errors"] == []
    assert sum(values["answers"][0]["scores"].values()) == pytest.approx(1, abs=1e-4)


def test_what_was_written_is_told(model, pictures, tmp_path):
    result = run(*pictures, "--model", model, "--out", tmp_path / "out")
    assert f"written: {tmp_path / 'out' / 'apex' / 'why.png'}" in result.stdout
    assert (tmp_path / "out" / "apex" / "answer.json").exists()
    again = run(*pictures, "--model", model, "--out", tmp_path / "out")
    assert again.exit_code == 2
    assert "exists already" in again.stderr


def test_each_input_fails_alone_and_the_exit_code_says_so(model, pictures, tmp_path):
    result = run(tmp_path / "gone.mp4", *pictures, "--model", model)
    assert result.exit_code == 2
    assert "gone.mp4: there is no folder or video" in result.stderr
    assert "fix: check the path" in result.stderr
    assert "apex.png" in result.stdout


def test_a_single_failure_takes_two_lines(model, tmp_path):
    result = run(tmp_path / "gone.mp4", "--model", model)
    assert result.exit_code == 2
    problem, fix = result.stderr.strip().splitlines()
    assert problem.startswith("there is no folder or video")
    assert fix == "fix: check the path"
