import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from epir.core.errors import CheckpointError
from epir.models.folder import load_network, shipped_folder, weights_digest
from epir.models.packed import pack_model
from epir.models.registry import create_model


@pytest.fixture
def folder(tmp_path):
    return create_model("ststnet", map_size=12).save_pretrained(tmp_path / "mine", labels=("a", "b", "c"))


def test_a_model_arrives_as_it_left_though_its_folder_is_gone(folder):
    packed, digest = pack_model(folder), weights_digest(folder)
    shutil.rmtree(folder)
    place = packed.unpack()
    assert place.name == "mine" and weights_digest(place) == digest
    assert load_network(place).settings.map_size == 12
    assert packed.unpack() == place  # once for each process


def test_equal_models_are_equal_and_others_are_not(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    assert pack_model(copy) == pack_model(folder) and hash(pack_model(copy)) == hash(pack_model(folder))
    create_model("ststnet", map_size=12).save_pretrained(copy, force=True)
    assert pack_model(copy) != pack_model(folder)


def test_without_a_name_the_shipped_weights_travel():
    assert dict(pack_model(None).files)["config.json"] == (shipped_folder() / "config.json").read_bytes()


def test_one_file_travels_as_a_file(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"graph")
    place = pack_model(tmp_path / "model.onnx").unpack()
    assert place.name == "model.onnx" and place.read_bytes() == b"graph"


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match=r"there is no model folder .*\n  fix: check the path"):
        pack_model(tmp_path / "nothing")


def test_nothing_is_left_when_the_process_ends(folder):
    code = "import sys; from epir.models.packed import pack_model; print(pack_model(sys.argv[1]).unpack())"
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("mine")
    assert not Path(done.stdout.strip()).parent.exists()
