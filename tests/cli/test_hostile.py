"""Every verb that reads, given the wrong kind of input: two lines, and no file written."""

import os
import sys

import pytest

from epir.cli.main import main

COMMANDS = {  # ODD stands for the wrong input
    "predict": ["predict", "ODD", "--out", "OUT"],
    "predict, a pair": ["predict", "ODD", "ODD"],
    "predict --model": ["predict", "ODD", "--model", "ODD"],
    "predict --table": ["predict", "ODD", "--table", "OUT", "--workers", "1"],
    "spot": ["spot", "ODD", "--out", "OUT", "--workers", "1"],
    "annotate": ["annotate", "ODD", "--out", "OUT", "--spot-only"],
    "annotate, a study": ["annotate", "ODD", "--spot-only"],
    "annotate --export": ["annotate", "ODD", "--export", "OUT.csv"],
    "export": ["export", "ODD", "--out", "OUT.onnx"],
    "import-annotations": ["import-annotations", "ODD", "--out", "OUT"],
    "check": ["check", "casme2", "ODD"],
    "check --sheet": ["check", "manifest", "ODD"],
    "prepare": ["prepare", "manifest", "ODD", "--out", "OUT", "--workers", "1"],
    "prepare, a corpus": ["prepare", "samm", "ODD", "--out", "OUT", "--workers", "1"],
    "align": ["align", "ODD", "--out", "OUT"],
    "evaluate": ["evaluate", "ODD", "--protocol", "sde", "--out", "OUT", "--workers", "1"],
    "evaluate --zero-shot": ["evaluate", "ODD", "--protocol", "cde", "--zero-shot", "--weights", "ODD", "--out", "OUT"],
    "ablate": ["ablate", "ODD", "--protocol", "sde", "--out", "OUT"],
    "reproduce": ["reproduce", "ODD", "--out", "OUT"],
    "train": ["train", "ODD", "--protocol", "sde", "--out", "OUT"],
    "calibrate": ["calibrate", "--on", "ODD", "--protocol", "cde", "--dry-run"],
    "report": ["report", "ODD", "--out", "OUT"],
    "score": ["score", "ODD", "--out", "OUT"],
    "import-predictions": ["import-predictions", "ODD", "--protocol", "cde", "--name", "x", "--out", "OUT"],
    "compare": ["compare", "ODD", "ODD"],
    "bench": ["bench", "--only", "robustness", "ODD"],
}


def odd_things(folder):
    """Files, folders, links, pipes and devices of the wrong kind."""
    (folder / "empty").mkdir()
    (folder / "empty.csv").write_bytes(b"")
    (folder / "text.xlsx").write_text("subject,clip\n1,a\n")
    (folder / "text.mp4").write_text("no film " * 100)
    (folder / "passwd").write_text("root:x:0:0:root:/root:/bin/bash\n" * 20)
    (folder / "loop").symlink_to(folder / "loop")
    os.mkfifo(folder / "pipe")
    named = folder / os.fsdecode(b"na\xffme.csv")
    named.write_bytes(b"\xff\xfe\x00")
    return [*sorted(folder.iterdir()), folder / "missing", folder / ("x" * 300), "/dev/zero", "/dev/null"]


@pytest.mark.parametrize("verb", COMMANDS)
def test_wrong_inputs_take_two_lines(verb, tmp_path, monkeypatch, capsysbinary):
    (tmp_path / "odd").mkdir()
    for odd in odd_things(tmp_path / "odd"):
        out = tmp_path / "out" / "new"
        words = [word.replace("ODD", str(odd)).replace("OUT", str(out)) for word in COMMANDS[verb]]
        monkeypatch.setattr(sys, "argv", ["epir", *words])
        with pytest.raises(SystemExit) as end:
            main()
        printed = capsysbinary.readouterr().err.decode("utf-8", "backslashreplace")
        assert end.value.code == 2, (odd, printed)
        assert printed.splitlines()[-1].startswith("fix: "), (odd, printed)
        written = [path.name for path in out.parent.rglob("*") if path.is_file() and path.name != ".epir"]
        assert not written or verb == "predict --table", odd  # a table has a row for a failed input
