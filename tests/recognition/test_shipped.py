import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from epir.evaluation.run import evaluate_zero_shot
from epir.maps.copies import map_hashes
from epir.maps.mapset import load_maps
from epir.models.folder import UNIT_HEAD, read_config, shipped_folder
from epir.models.seen import read_seen
from epir.recognition.movement import read_recipe
from epir.recognition.recognizer import Recognizer
from epir.synthetic.maps import synthetic_maps

ROOT = Path(__file__).parent.parent.parent


def has_avx512() -> bool:
    info = Path("/proc/cpuinfo")
    return info.exists() and "avx512f" in info.read_text()


def test_the_shipped_folder_holds_the_papers_model_in_half_precision():
    weights = load_file(shipped_folder() / "model.safetensors")
    assert all(tensor.dtype == torch.float16 for tensor in weights.values())
    body = [tensor.numel() for name, tensor in weights.items() if not name.startswith(UNIT_HEAD)]
    assert sum(body) == 7_025_384 and len(body) < len(weights)  # and a head for action units
    assert sum(path.stat().st_size for path in shipped_folder().iterdir()) < 15e6


def test_they_come_with_everything_a_recognizer_needs_and_no_machine_names():
    config = read_config(shipped_folder())
    assert config.labels == ("negative", "positive", "surprise")
    assert 0.3 < config.notes["temperature"] < 3 and config.notes["calibration"]["people"] >= 200
    assert set(config.notes["data"]["corpora"]) == {"synthetic"}, "nobody real was trained on"
    assert read_recipe(config.notes).name == "epir"
    text = (shipped_folder() / "config.json").read_text()
    json.loads(text, parse_constant=pytest.fail)  # no NaN
    assert not [value for value in _texts(json.loads(text)) if value.startswith(("/", "~"))]


def test_the_card_states_their_scores():
    card = (shipped_folder() / "README.md").read_text()
    for words in (
        "strict",
        "maps of 48 real people",
        "right (strict)",
        "interval",
        "Expected calibration error",
        "samm",
    ):
        assert words in card
    assert "Do not use it to detect lies" in card


def test_the_page_on_answers_quotes_the_reliability_in_the_folder():
    page = (ROOT / "docs/answers.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?:below|[0-9.]+ to) ([0-9.]+) \| (\d+) \| (\d+) % \|$", page, re.MULTILINE)
    bins = read_config(shipped_folder()).notes["real_people"]["reliability"]
    assert [(float(high), int(clips), int(right)) for high, clips, right in rows] == [
        (each["high"], each["clips"], round(100 * each["right"])) for each in bins
    ]


def test_make_weights_has_the_settings_that_they_were_trained_with():
    notes = read_config(shipped_folder()).notes
    command = ["make", "-n", "-B", f"build/weights/seed-{notes['seed']}/config.json"]
    printed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    settings = dict(re.findall(r"--set training\.(\w+)=(\S+)", printed))
    assert len(settings) == 12
    assert {name: float(value) for name, value in settings.items()} == {
        name: float(notes["training"][name]) for name in settings
    }
    assert f"--maps {notes['data']['clips']} " in printed and f"--set tables={notes['recipe']['tables']} " in printed


@pytest.mark.skipif(not has_avx512(), reason="make weights draws the same maps on processors with AVX-512 only")
def test_make_weights_draws_the_maps_that_they_have_seen(tmp_path):
    made = ["make", "-n", "-B", "build/weights/maps/meta.json"]
    printed = subprocess.run(made, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    (command,) = re.findall(r"^(\S+=.*) \S+/epir (synth .*)$", printed, re.MULTILINE)
    few = re.sub(r"--maps \d+", "--maps 96", command[1]).replace("build/weights/maps", str(tmp_path / "maps"))
    environment = dict(word.split("=") for word in command[0].split())
    subprocess.run([sys.executable, "-m", "epir", *few.split()], env=os.environ | environment, check=True)
    hashes = map_hashes(load_maps(tmp_path / "maps").maps)
    assert set(hashes.tolist()) <= read_seen(shipped_folder()).maps


@pytest.mark.slow
@pytest.mark.parametrize(
    "recipe", ["direct", "epir:flow.size=112", "epir:flow.size=112,flow.method=dis", "ststnet-like"]
)
def test_they_recognise_new_synthetic_people_however_the_flow_was_computed(recipe, tmp_path):
    count = 24 if recipe == "ststnet-like" else 90  # TV-L1 is slow
    run = evaluate_zero_shot(synthetic_maps(count, recipe, seed=2024), protocol="sde", out=tmp_path / "run")
    assert run.scores["strict"]["uf1"] > 0.6  # chance: 0.33


def test_without_a_folder_the_shipped_weights_answer(smile):
    recognizer = Recognizer.from_pretrained()
    assert recognizer.labels == ("negative", "positive", "surprise")
    answer = recognizer.predict(smile, fps=100)
    assert answer.best == "positive"
    assert np.isclose(sum(answer.scores.values()), 1, atol=1e-4)


def _texts(values):
    if isinstance(values, dict):
        values = list(values.values())
    if isinstance(values, list):
        for each in values:
            yield from _texts(each)
    elif isinstance(values, str):
        yield values
