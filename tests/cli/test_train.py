import json

import typer
from typer.testing import CliRunner

from epir.cli.train import train
from epir.maps.mapset import save_maps
from epir.synthetic.maps import synthetic_maps

app = typer.Typer()
app.command()(train)
CHANGES = ("model.width=24", "model.feed_forward=24", "model.blocks=3", "model.heads=2", "training.epochs=2")
QUICK = (*(word for change in CHANGES for word in ("--set", change)), "--folds", "2", "--workers", "1")


def test_a_model_folder_is_written_and_its_scores_are_told(tmp_path):
    made = synthetic_maps(48, "direct", seed=1)
    save_maps(tmp_path / "maps", made.maps, made.clips, recipe=made.meta["recipe"])
    out = tmp_path / "model"
    result = CliRunner().invoke(app, [str(tmp_path / "maps"), "--protocol", "sde", "--out", str(out), *QUICK])
    assert result.exit_code == 0, result.output
    assert "48 clips of 6 people, protocol sde" in result.stdout
    assert "strict, grouped folds: UF1 0." in result.stdout
    assert "expected calibration error" in result.stdout
    names = ["README.md", "config.json", "model.safetensors", "seen.json", "seen.npy"]
    assert sorted(path.name for path in out.iterdir()) == names

    again = [str(tmp_path / "maps"), "--protocol", "sde", "--out", str(out), "--force", "--json", *QUICK]
    values = json.loads(CliRunner().invoke(app, again).stdout)
    assert (values["clips"], values["people"]) == (48, 6)
    assert values["calibration"]["temperature"] > 0
    assert values["strict"]["uf1"] == json.loads((out / "config.json").read_text())["notes"]["strict"]["uf1"]


def test_other_people_calibrate_and_the_state_is_kept(tmp_path):
    made, others = synthetic_maps(24, "direct", seed=1), synthetic_maps(24, "direct", seed=2)
    for name, each in (("maps", made), ("others", others)):
        save_maps(tmp_path / name, each.maps, each.clips, recipe=each.meta["recipe"])
    out, state = tmp_path / "model", tmp_path / "state"
    words = [str(tmp_path / "maps"), "--protocol", "sde", "--out", str(out), *QUICK]
    result = CliRunner().invoke(app, [*words, "--calibrate-on", str(tmp_path / "others"), "--checkpoint", str(state)])
    assert result.exit_code == 0, result.output
    assert "strict, other people: UF1 0." in result.stdout and state.exists()
