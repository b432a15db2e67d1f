"""A model as one ONNX file, run by ONNX Runtime and NumPy alone: no epir and no torch where it answers.

Views, normalisation and temperature are inside the graph, so that its output `scores` is what `epir predict` says.

Run: python examples/04_onnx_without_torch.py [MODEL], a model folder; by default the weights that ship with epir
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ANSWER = """
import json, sys
import numpy as np
import onnxruntime

session = onnxruntime.InferenceSession(sys.argv[1], providers=["CPUExecutionProvider"])
labels = json.loads(session.get_modelmeta().custom_metadata_map["epir"])["labels"]
scores = session.run(["scores"], {"maps": np.load(sys.argv[2])})[0]  # (n, C), calibrated
assert "torch" not in sys.modules and "epir" not in sys.modules
print(json.dumps([dict(zip(labels, row.tolist())) for row in scores]))
"""

if __name__ == "__main__":
    import epir

    maps = epir.synthetic_maps(4, "direct", seed=1).maps  # u, v and strain of four synthetic clips
    model = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(epir.__file__).with_name("weights")
    recognizer = epir.Recognizer.from_pretrained(model)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.onnx"
        epir.export(model, file, maps=maps)  # or: epir export --out model.onnx
        np.save(Path(folder) / "maps.npy", maps)
        command = [sys.executable, "-c", ANSWER, str(file), str(Path(folder) / "maps.npy")]
        answers = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    expected = recognizer.classifier.scores(maps)
    for answer, own in zip(answers, expected, strict=True):
        print(", ".join(f"{label} {score:.3f}" for label, score in answer.items()), f"(torch: {own.max():.3f})")
    off = np.abs(np.array([list(answer.values()) for answer in answers]) - expected).max()
    print(f"largest difference between ONNX Runtime and torch: {off:.1e}")
    assert off < 1e-4
