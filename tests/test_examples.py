"""Every example runs as it stands and says what it promises."""

import runpy
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import epir

EXAMPLES = Path(__file__).parent.parent / "examples"
PROMISES = {
    "01_one_clip.py": "selected by head",
    "02_train_on_synthetic.py": "strict, on 160 maps of other people",
    "03_compare_models.py": "best epoch (leaks)",
    "04_onnx_without_torch.py": "largest difference between ONNX Runtime and torch",
}


def test_every_example_is_tried():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {*PROMISES, "my_net.py"}


def test_the_network_of_the_readme_takes_maps():
    import torch

    assert epir.create_model(f"{EXAMPLES / 'my_net.py'}:MyNet", classes=5)(torch.rand(2, 3, 28, 28)).shape == (2, 5)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "words"), PROMISES.items())
def test_an_example_runs(name, words, capsys, tmp_path):
    if name == "04_onnx_without_torch.py":  # without the settings of the tests; the shipped weights take a minute
        small = epir.create_model("epir", width=16, feed_forward=16, blocks=3, heads=2)
        small.save_pretrained(tmp_path, labels=["a", "b", "c"], notes={"mirror": True, "shift": 1, "temperature": 2.0})
        command = [sys.executable, EXAMPLES / name, tmp_path]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    else:
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")  # in this process, which has imported torch already
        printed = capsys.readouterr().out
    assert words in printed


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the kernel, which runs in a process of its own
def test_the_notebook_runs_from_top_to_bottom():
    notebook = nbformat.read(EXAMPLES / "tour.ipynb", as_version=4)
    stored = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("image/png" in output.get("data", {}) for output in stored), "commit it with its outputs"
    assert "/tmp" not in str(stored) and not any(output["output_type"] == "error" for output in stored)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    text = "".join(output.get("text", "") for output in outputs)
    assert "to the apex." in text and "best epoch (leaks)" in text
    assert any("image/png" in output.get("data", {}) for output in outputs)  # the picture of why
