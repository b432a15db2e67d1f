"""Everyone's methods in the benchmark: classes, files and estimators go the same way as the built-in ones."""

import json

import numpy as np
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from epir.core.engines import Engine
from epir.core.errors import ConfigError, EpirError, EpirWarning, RunError, TrainingError
from epir.evaluation.comparison import compare
from epir.evaluation.run import evaluate
from epir.evaluation.series import evaluate_models
from epir.evaluation.store import open_run
from epir.final.train import train
from epir.models import registry
from epir.models.predict import predict_maps

ONE = Engine(workers=1)
NET = """
import torch
from torch import nn


class MyNet(nn.Module):
    def __init__(self, classes: int, map_size: int = 28, width: int = 4):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, width, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(3), nn.Flatten())
        self.head = nn.Linear(9 * width, classes)

    def forward(self, maps):
        return self.head(self.body(maps))
"""
ESTIMATOR = """
import numpy as np


class Nearest:
    def __init__(self, power: float = 1.0):
        self.power = power

    def fit(self, maps, labels, groups, clips, seed):
        self.means = np.stack([maps[labels == number].mean(axis=0) for number in range(3)])

    def predict_proba(self, maps):
        near = np.exp(-self.power * np.square(maps[:, None] - self.means).mean(axis=(2, 3, 4)))
        return near / near.sum(axis=1, keepdims=True)
"""


@pytest.fixture
def net(tmp_path):
    """The path of a file with a small network, as --model names it."""
    (tmp_path / "my_net.py").write_text(NET)
    return f"{tmp_path / 'my_net.py'}:MyNet"


@pytest.fixture
def call(make_maps, tmp_path, quick):
    """Evaluates a method on small maps, in two grouped folds."""
    maps = make_maps()

    def evaluate_it(model, out="run", changes=quick, folds=2, **options):
        options = {"protocol": "cde", "engine": ONE} | options
        return evaluate(maps, model=model, out=tmp_path / out, changes=changes, folds=folds, **options)

    return evaluate_it


def predictions(run):
    return (run.folder / "predictions.csv").read_text()


def test_a_file_is_a_row_like_any_other(net, call):
    run = call(net, changes=("training.epochs=6", "training.lr=0.02", "training.batch=8"), seeds=2, folds="loso")
    assert run.name == "MyNet" and run.experiment.source.reference == "my_net.py:MyNet"
    assert run.scores["folds"] == 4 and run.scores["seeds"] == 2
    assert len(run.scores["strict"]["uf1_interval"]) == 2 and run.scores["best_epoch"]["uf1"] >= 0
    assert run.experiment.training.name == "baseline" and len(run.folds[0].loss) == 6


def test_the_same_code_gives_the_same_predictions_as_a_class_and_as_a_file(net, call, tmp_path):
    names: dict = {"__name__": "somewhere"}
    exec(NET, names)
    assert predictions(call(net)) == predictions(call(names["MyNet"], out="other"))


def test_workers_need_neither_the_folder_nor_the_file(net, call, tmp_path, monkeypatch):
    alone = predictions(call(net))
    real = Engine.run

    def run_without_the_file(self, *rest, **options):
        (tmp_path / "my_net.py").unlink()
        return real(self, *rest, **options)

    monkeypatch.setattr(Engine, "run", run_without_the_file)
    assert predictions(call(net, out="other", engine=Engine(workers=2))) == alone


def test_its_loss_and_its_settings_are_used(net, call, tmp_path):
    (tmp_path / "my_net.py").write_text(
        NET + "\n    def loss(self, maps, labels):\n        return 0 * self(maps).sum() + 7\n"
    )
    run = call(net, changes=("training.epochs=1", "model.width=3"))
    assert run.experiment.model.width == 3 and set(run.folds[0].loss) == {7.0}


def test_nested_choices_are_settings_of_the_method(net, call):
    choices = ("model.width=2", "model.width=3")
    with pytest.warns(EpirWarning, match="every fold trains 5 models"):
        run = call(net, changes=("training.epochs=1",), nested=choices, inner_folds=2, engine=Engine(workers=2))
    assert {record.chosen for record in run.folds} <= set(choices)
    with pytest.raises(ConfigError, match="'wide'"):
        call(net, out="other", nested=("default", "model.wide=3"))
    with pytest.raises(ConfigError, match="MyNet cannot be built: RuntimeError"):
        call(net, out="other", nested=("default", "model.width=-3"))


def test_estimators_of_scikit_learn(call):
    run = call(make_pipeline(StandardScaler(), SVC(C=10.0)), changes=("model.svc__C=5.0",))
    assert run.name == "standardscaler+svc" and run.experiment.model.svc__C == 5.0
    assert run.scores["strict"]["uf1"] > 0.9 and run.scores["strict"] == run.scores["best_epoch"]
    forest = RandomForestClassifier(n_estimators=5, max_depth=2)
    one, same = (predictions(call(forest, out=out, changes=(), seeds=2)) for out in ("one", "same"))
    assert one == same
    rows = [line.split(",") for line in one.splitlines()[1:]]
    assert [row[7:] for row in rows if row[6] == "0"] != [row[7:] for row in rows if row[6] == "1"]


def test_an_estimator_never_sees_a_held_out_clip(call, tmp_path):
    class Recording:
        def fit(self, maps, labels, groups, clips, seed):
            self.people, self.clips, self.sums = set(groups), {clip.key for clip in clips}, maps.sum(axis=(1, 2, 3))

        def predict_proba(self, maps, clips, groups):
            assert not self.people & set(groups) and not self.clips & {clip.key for clip in clips}
            assert not set(self.sums) & set(maps.sum(axis=(1, 2, 3)))
            with (tmp_path / "log").open("a") as log:
                log.write(f"{len(self.clips)} {len(clips)}\n")
            return np.full((len(maps), 3), 1 / 3)

    call(Recording(), changes=(), folds="loso")
    assert (tmp_path / "log").read_text().split("\n")[:-1] == ["18 6"] * 4


def test_an_estimator_of_a_file_takes_its_settings_and_no_training(tmp_path, call):
    (tmp_path / "near.py").write_text(ESTIMATOR)
    name = f"{tmp_path / 'near.py'}:Nearest"
    run = call(name, changes=("model.power=2.0",), engine=Engine(workers=2))
    assert run.experiment.model.power == 2.0 and run.scores["strict"]["uf1"] > 0.9
    for options, words in [
        ({"changes": ("training.epochs=3",)}, "--set training.epochs has no effect on it"),
        ({"changes": (), "training": "scratch"}, "--training scratch has no effect on it"),
        ({"changes": ("model.powr=3",)}, "did you mean 'power'"),
        ({"changes": ("model.power=much",)}, r"model\.power cannot be 'much'\n  fix: give a number"),
    ]:
        with pytest.raises(ConfigError, match=words):
            call(name, out="other", **options)
    assert not (tmp_path / "other").exists()


def test_a_run_is_resumed_with_the_same_code_only(net, call, tmp_path):
    before = predictions(call(net))
    next((tmp_path / "run" / "folds").iterdir()).unlink()
    assert predictions(call(net)) == before
    (tmp_path / "my_net.py").write_text(NET + "\n# changed\n")
    with pytest.raises(RunError, match=r"my_net.py:MyNet has changed since the run .* began\n  fix: restore it"):
        call(net)
    assert predictions(call(net, force=True)) == before


def test_finished_runs_need_no_code(net, call, tmp_path):
    from epir.reports.page import report

    call(net)
    call("bi-woof", out="other", changes=())
    (tmp_path / "my_net.py").unlink()
    registry._NAMED.clear()
    assert open_run(tmp_path / "run").experiment.model.width == 4
    difference = compare(open_run(tmp_path / "run"), open_run(tmp_path / "other"))
    assert len(difference.interval) == 2
    page = report([tmp_path / "run", tmp_path / "other"], out=tmp_path / "report.html")
    assert "my_net.py:MyNet" in page.read_text()


def test_settings_go_to_the_methods_that_have_them(net, make_maps, tmp_path):
    common = dict(protocol="cde", folds="2", engine=ONE)
    models, changes = [net, "bi-woof"], ["model.width=3", "model.bins=4", "training.epochs=1"]
    series = evaluate_models([make_maps()], models=models, changes=changes, out=tmp_path / "runs", **common)
    assert series.names == ("MyNet", "bi-woof")
    assert [run.experiment.model.__dict__.get("width") for run in series.runs] == [3, None]
    assert series.runs[1].experiment.model.bins == 4
    for changes, words in [(["model.dropout=0.1"], "has no setting 'dropout'"), (["model.wdth=3"], "did you mean")]:
        with pytest.raises(ConfigError, match=words):
            evaluate_models([tmp_path / "maps"], models=models, changes=changes, out=tmp_path / "other", **common)
    with pytest.raises(ConfigError, match="all of bi-woof, mdmo train themselves: --training scratch has no effect"):
        evaluate_models(
            [tmp_path / "maps"], models=["bi-woof", "mdmo"], training="scratch", out=tmp_path / "other", **common
        )
    assert not (tmp_path / "other").exists()


def test_a_recipe_of_the_user_s_own(net, call, tmp_path):
    (tmp_path / "mine.toml").write_text("epochs = 1\nlr = 0.02\n")
    run = call(net, changes=(), training=str(tmp_path / "mine.toml"))
    assert run.experiment.training.epochs == 1 and run.experiment.training.name == "mine"
    for text, words in [("epochs = 'many'", "epochs"), ("epoch = 3", "did you mean 'epochs'"), ("= 3", "mine.toml")]:
        (tmp_path / "mine.toml").write_text(text)
        with pytest.raises(ConfigError, match=words):
            call(net, out="other", changes=(), training=str(tmp_path / "mine.toml"))
    assert not (tmp_path / "other").exists()


class Bad(torch.nn.Module):
    def __init__(self, classes: int, map_size: int = 28, columns: int = 0):
        super().__init__()
        self.linear = torch.nn.Linear(3 * map_size**2, columns or classes)

    def forward(self, maps):
        return self.linear(maps.flatten(1))


class Failing:
    def fit(self, maps, labels):
        raise ValueError("the matrix is singular")

    def predict_proba(self, maps):
        return np.zeros((len(maps), 3))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (("model.columns=5",), r"Bad gives \(2, 5\) for maps .* not logits \(2, 3\)\n  fix: let forward"),
        (("model.columns=five",), r"model\.columns cannot be 'five'\n  fix: give a whole number"),
    ],
)
def test_what_cannot_be_evaluated_leaves_nothing_behind(call, tmp_path, changes, words):
    with pytest.raises(EpirError, match=words):
        call(Bad, changes=changes)
    assert not (tmp_path / "run").exists()


def test_what_fit_raises_names_the_fold(call):
    with pytest.raises(TrainingError, match=r"fold-1-of-2, seed 0: Failing: fit failed: the matrix is singular"):
        call(Failing(), changes=())


def test_from_training_to_an_answer(net, make_maps, tmp_path, monkeypatch):
    """`train` writes a model folder that answers, once its code is named, and tells where to find it if not."""
    maps = make_maps()
    monkeypatch.setenv(registry.CODE, "")
    final = train(
        maps, protocol="cde", out=tmp_path / "model", model=net, folds=2, workers=1, changes=["training.epochs=1"]
    )
    config = json.loads((final.folder / "config.json").read_text())
    assert config["source"]["reference"] == "my_net.py:MyNet" and config["model"]["width"] == 4
    registry._NAMED.clear()
    from epir.evaluation.run import evaluate_zero_shot
    from epir.recognition.recognizer import Recognizer

    call = dict(protocol="cde", weights=final.folder, allow_seen=True)
    with pytest.raises(ConfigError, match=r"code that is not in the folder: my_net.py:MyNet\n  fix: add --code"):
        Recognizer.from_pretrained(final.folder)
    with pytest.raises(ConfigError, match="code that is not in the folder"):
        evaluate_zero_shot(maps, out=tmp_path / "run", **call)
    assert not (tmp_path / "run").exists()
    registry.name_code([net])
    assert Recognizer.from_pretrained(final.folder).labels == ("negative", "positive", "surprise")
    network = registry.create_model(net, map_size=12).from_pretrained(final.folder)
    assert predict_maps(network, np.zeros((2, 3, 12, 12), dtype=np.float32)).scores.shape == (2, 3)
    with pytest.warns(EpirWarning):
        run = evaluate_zero_shot(maps, out=tmp_path / "run", engine=Engine(workers=2), **call)
    assert run.name == "MyNet (zero-shot)" and len(run.predictions) == 24


@pytest.mark.slow
def test_it_can_be_exported(net, tmp_path):
    pytest.importorskip("onnxruntime")
    from epir.final.export import export

    folder = registry.create_model(net, map_size=12).save_pretrained(tmp_path / "model", labels=("a", "b", "c"))
    done = export(folder, tmp_path / "model.onnx", maps=np.zeros((2, 3, 12, 12), dtype=np.float32))
    assert done.difference < 1e-4
