"""The verb `import-predictions`."""

import json

from typer.testing import CliRunner

from epir.cli.verbs import app

TABLE = """corpus,subject,clip,truth,prediction
casme2,sub01,EP02_01f,positive,positive
casme2,sub01,EP02_02f,negative,positive
samm,006,006_1_2,surprise,surprise
"""


def test_a_table_becomes_a_run(tmp_path):
    (tmp_path / "table.csv").write_text(TABLE)
    words = ["import-predictions", tmp_path / "table.csv", "--protocol", "cde", "--name", "HTNet"]
    result = CliRunner().invoke(app, [*map(str, words), "--out", str(tmp_path / "run")])
    assert result.exit_code == 0 and "trained elsewhere: not checked" in result.stdout and "HTNet" in result.stdout
    result = CliRunner().invoke(app, [*map(str, words), "--out", str(tmp_path / "run"), "--force", "--json"])
    assert json.loads(result.stdout)["not_checked"]["accuracy"] == 0.666667
