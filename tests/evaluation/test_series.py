import json

import pytest

from epir.core.engines import Engine
from epir.core.errors import ConfigError, EpirWarning, RunError
from epir.evaluation.comparison import scores_with_training
from epir.evaluation.experiment import resolve_settings
from epir.evaluation.series import ablate, evaluate_models, ladder_variants, mixed_training, sweep_variants
from epir.models.registry import model_settings
from epir.training.recipe import BASELINE, FINETUNE, SCRATCH

ONE = Engine(workers=1)
SMALL = ("model.width=12", "model.heads=2", "model.feed_forward=12", "model.patch=3", "training.epochs=1")


def test_the_ladder_is_the_papers():
    names = [variant.name for variant in ladder_variants()]
    assert names[0] == "vit" and names[-1] == "epir" and len(names) == 6


def test_the_block_sweep_keeps_the_last_block():
    for variant, blocks in zip(sweep_variants("blocks"), range(7, 16), strict=True):
        assert variant.changes == (f"model.blocks={blocks}",)
        settings = model_settings("epir", blocks=blocks)
        assert settings.integration_blocks + settings.extractor_blocks + 1 == blocks
        assert abs(settings.integration_blocks - settings.extractor_blocks) <= 1


def test_the_integration_sweep_takes_away_its_share():
    left = []
    for variant, rate in zip(sweep_variants("integration"), (0.0, 0.3, 0.6, 0.8), strict=True):
        assert variant.changes == (f"model.integration={rate}",)
        left.append(16 - sum(model_settings("epir", integration=rate).pairs))
    assert left == [16, 11, 6, 3]


def test_an_unknown_sweep_is_refused():
    with pytest.raises(ConfigError, match="there is no sweep 'block'\n  fix: did you mean 'blocks'"):
        sweep_variants("block")


def side_by_side(maps, out, **options):
    return evaluate_models([maps], protocol="cde", models=["ststnet", "bi-woof"], out=out, engine=ONE, **options)


def test_several_models_end_in_one_table(make_maps, tmp_path, quick):
    series = side_by_side(make_maps(), tmp_path / "runs", folds="2", changes=quick)
    assert [run.folder.name for run in series.runs] == ["ststnet", "bi-woof"]
    assert [row.cells[0] for row in series.table.rows[:4]] == ["ststnet", "ststnet", "bi-woof", "bi-woof"]
    assert (tmp_path / "runs" / "table.csv").read_text() == series.table.csv()
    stored = json.loads((tmp_path / "runs" / "table.json").read_text())
    assert stored["bi-woof"] == scores_with_training(series.runs[1])
    assert stored["bi-woof"]["strict"]["uf1"] == stored["bi-woof"]["best_epoch"]["uf1"]


def test_two_files_of_one_name_are_refused_before_training(make_maps, tmp_path):
    files = [tmp_path / folder / "net.py" for folder in "ab"]
    for file in files:
        file.parent.mkdir()
        file.write_text("from sklearn.dummy import DummyClassifier\n\nclass Net(DummyClassifier):\n    pass\n")
    call = dict(protocol="cde", models=[f"{file}:Net" for file in files], out=tmp_path / "out", engine=ONE)
    with pytest.raises(ConfigError, match=r"two methods .* the folder net.py-Net\n  fix: .*different names"):
        evaluate_models([make_maps()], **call)
    assert not (tmp_path / "out").exists()


def test_a_setting_that_no_model_has_is_refused_at_once(make_maps, tmp_path):
    with pytest.raises(ConfigError, match=r"\[model\] has no setting 'droput'\n  fix: did you mean 'dropout'"):
        side_by_side(make_maps(), tmp_path / "runs", changes=["model.droput=0.1"])
    assert not (tmp_path / "runs").exists()


def test_the_ladder_is_shown_with_the_published_rungs(make_maps, tmp_path):
    series = ablate([make_maps()], protocol="cde", out=tmp_path / "ladder", folds="2", changes=SMALL, engine=ONE)
    assert series.names[0] == "vit" and (tmp_path / "ladder" / "vit+dtsm" / "scores.json").exists()
    published = ["Baseline", "+DTSM", "+ITALS", "+SPT", "+DNSPT", "+Token Integration"]
    assert [row.cells[0] for row in series.table.rows[2::3]] == published


def test_a_sweep_is_resumed(make_maps, tmp_path, monkeypatch):
    call = dict(protocol="cde", sweep="integration", out=tmp_path / "sweep", folds="2", changes=SMALL, engine=ONE)
    maps = [make_maps()]
    series = ablate(maps, **call)
    assert series.names == ("integration 0 %", "integration 30 %", "integration 60 %", "integration 80 %")
    assert sorted(path.name for path in (tmp_path / "sweep").iterdir() if path.is_dir())[0] == "integration-0"
    monkeypatch.setattr(Engine, "run", lambda *_, **__: pytest.fail("nothing was missing"))
    assert ablate(maps, **call).table == series.table


def test_models_that_are_trained_differently_are_announced_before_training(make_maps, tmp_path, monkeypatch):
    def settings(*names):
        return [resolve_settings(name, training=None, changes=(), classes=3, map_size=28) for name in names]

    assert mixed_training(settings("epir", "vit", "htnet", "ststnet", "bi-woof")) == (
        f"the models are trained differently (epir: {FINETUNE} from the shipped weights; "
        f"vit, htnet: {SCRATCH} from random weights; ststnet: {BASELINE} from random weights). "
        f"Use --training {SCRATCH} to train all of them alike."
    )
    assert mixed_training(settings("vit", "htnet", "mdmo")) == ""
    monkeypatch.setattr(Engine, "run", lambda *_, **__: pytest.fail("training has started"))
    call = dict(protocol="cde", models=["htnet", "ststnet"], out=tmp_path / "runs", engine=ONE)
    with pytest.warns(EpirWarning, match="trained differently"), pytest.raises(pytest.fail.Exception):
        evaluate_models([make_maps(size=28)], **call)


def test_several_models_go_neither_into_a_run_nor_into_a_map_set(make_maps, finished):
    """From a map set `epir prepare --force` would remove them."""
    with pytest.raises(RunError, match="is a run of one model\n  fix: choose another folder"):
        side_by_side(finished / "maps", finished / "run")
    other = make_maps("other")
    before = sorted(other.rglob("*"))
    with pytest.raises(RunError, match="other is a map set, not a folder of runs\n  fix: choose another folder"):
        side_by_side(finished / "maps", other)
    assert sorted(other.rglob("*")) == before
