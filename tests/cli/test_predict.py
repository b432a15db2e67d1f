"""The verb `predict` on a model with random weights: its output, not its accuracy."""

import json

import cv2
import numpy as np
import pytest
from skimage.data import astronaut

from epir.models.epir import Epir
from epir.models.settings import preset


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


@pytest.fixture
def run(epir, model):
    return lambda *words: epir("predict", *words, "--model", model)


def test_two_pictures_get_one_line(run, pictures):
    result = run(*pictures)
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    assert lines[0].split() == ["input", "onset", "apex", "offset", "probability", "answer", "score", "all", "scores"]
    assert any(word in lines[2] for word in ("negative", "positive", "surprise"))
    assert lines[3].endswith(".") and "% of the face" in lines[3]
    assert "note: " in lines[4] and "face is small" in lines[4]


def test_json_is_one_object(run, pictures):
    result = run(*pictures, "--json")
    values = json.loads(result.out)
    assert values["errors"] == []
    assert sum(values["answers"][0]["scores"].values()) == pytest.approx(1, abs=1e-4)


def test_it_lists_the_files_it_wrote(run, pictures, tmp_path):
    result = run(*pictures, "--out", tmp_path / "out")
    assert f"written: {tmp_path / 'out' / 'apex' / 'why.png'}" in result.out
    assert (tmp_path / "out" / "apex" / "answer.json").exists()
    again = run(*pictures, "--out", tmp_path / "out")
    assert again.code == 2
    assert "exists already" in again.err


def test_each_input_fails_alone_and_the_exit_code_says_so(run, pictures, tmp_path):
    result = run(tmp_path / "gone.mp4", *pictures)
    assert result.code == 2
    assert "gone.mp4: there is no folder or video" in result.err
    assert "fix: check the path" in result.err
    assert "apex.png" in result.out


def test_a_single_failure_takes_two_lines(run, tmp_path):
    result = run(tmp_path / "gone.mp4")
    assert result.code == 2
    problem, fix = result.err.strip().splitlines()
    assert problem.startswith("there is no folder or video")
    assert fix == "fix: check the path"


def test_cropped_pictures_need_detector_none_and_the_answer_says_so(run, pictures, tmp_path):
    paths = []
    for path in pictures:
        face = cv2.imread(str(path))[95:140, 70:135]  # nose and mouth alone
        paths.append(tmp_path / path.name)
        cv2.imwrite(str(paths[-1]), cv2.resize(face, None, fx=3, fy=3))
    refused = run(*paths)
    assert refused.code == 0
    assert "no face" in refused.out
    assert "--detector none" in refused.out
    accepted = run(*paths, "--detector", "none", "--json")
    assert json.loads(accepted.out)["answers"][0]["scores"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--detector", "haar"), "haar"),
        (("--faces", "some"), "some"),
        (("--start", "3", "--end", "2"), "nothing between --start 3 and --end 2"),
        (("--fps", "0"), "0 frames a second is not a frame rate"),
        (("--workers", "2"), "--workers needs --table"),
    ],
)
def test_impossible_options_take_two_lines(run, pictures, options, words):
    result = run(*pictures, *options)
    problem, fix = result.err.splitlines()[-2:]
    assert result.code == 2 and words in problem and fix.startswith("fix: ")


def test_a_video_gets_seconds_and_tracks(run, tmp_path):
    from epir.frames.film import write_film

    face = np.ascontiguousarray(astronaut()[20:220, 120:320])
    grain = np.random.default_rng(0)
    film = [np.clip(face + grain.normal(0, 2, face.shape), 0, 255).astype(np.uint8) for _ in range(20)]
    path = write_film(tmp_path / "a.mp4", film, 50)
    values = json.loads(run(path, "--faces", "all", "--json").out)["answers"][0]
    assert {"onset_s", "apex_s", "offset_s", "track", "gaps", "fps"} <= values.keys()
    assert values["fps"] == pytest.approx(50)


def test_a_table_of_many_inputs(run, pictures, tmp_path):
    table = tmp_path / "events.csv"
    result = run(*pictures, "--table", table, "--workers", 1)
    assert result.code == 0, result.err
    assert f"{table}: 1 input answered; 1 micro-expression" in result.out.replace("\n", "")
    values = json.loads(run(*pictures, "--table", table, "--json").out)
    assert (values["answered"], values["known"], values["movements"]) == (0, 1, 1)


def test_a_table_excludes_an_output_folder_and_key_frames(run, pictures, tmp_path):
    for option in (("--out", tmp_path / "out"), ("--onset", 3)):
        result = run(*pictures, "--table", tmp_path / "events.csv", *option)
        assert result.err.startswith(f"{option[0]} cannot be combined with --table\nfix: leave out --table or ")
