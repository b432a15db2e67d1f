"""Every example runs as it stands and says what it promises."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
PROMISES = {
    "01_one_clip.py": "selected by head",
    "02_train_on_synthetic.py": "strict, on 160 maps of other people",
    "03_compare_models.py": "best epoch (leaks)",
    "04_onnx_without_torch.py": "largest difference between ONNX Runtime and torch",
}


def test_every_example_is_tried():
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(PROMISES)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "words"), PROMISES.items())
def test_an_example_runs(name, words):
    done = subprocess.run([sys.executable, EXAMPLES / name], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert words in done.stdout
