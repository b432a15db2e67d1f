import json

import numpy as np
from typer.testing import CliRunner

from epir.cli.verbs import app


def test_what_is_said(tmp_path):
    random = np.random.default_rng(0)
    (tmp_path / "flow").mkdir()
    for name in ("a", "b"):
        np.save(tmp_path / "flow" / f"{name}.npy", random.normal(size=(3, 6, 6)).astype(np.float32))
    (tmp_path / "labels.csv").write_text("subject,clip,emotion\n1,a,joy\n2,b,fear\n")
    call = [
        "import-maps",
        str(tmp_path / "flow"),
        "--labels",
        str(tmp_path / "labels.csv"),
        "--out",
        str(tmp_path / "m"),
    ]
    said = CliRunner().invoke(app, call).stdout
    assert "2 maps of 2 people, 6 x 6 px" in said and "1 joy, 1 fear" in said and "digest of the files: " in said
    values = json.loads(CliRunner().invoke(app, [*call, "--force", "--json"]).stdout)
    assert (values["clips"], values["people"], values["copies"], len(values["digest"])) == (2, 2, [], 64)
    refused = CliRunner().invoke(app, [*call, "--force", "--classes", "x,y"])
    assert "row 2: the label is 'joy', not 0 to 1 (x, y)" in refused.exception.problem
    assert "research" in CliRunner().invoke(app, ["import-maps", "--help"]).stdout
