"""What a recipe says is done: these tests fail when a part of it is left out."""

from dataclasses import replace
from unittest.mock import Mock, call

import pytest
import torch

from epir.core.errors import CheckpointError, ConfigError
from epir.models.predict import predict_maps
from epir.models.registry import create_model, model_settings
from epir.training import train as module
from epir.training.data import LabelledMaps
from epir.training.fit import run_epochs
from epir.training.recipe import TrainingSettings
from epir.training.train import (
    SHARE_OF_START,
    DistillationTarget,
    Teacher,
    TeacherSettings,
    fit,
    new_network,
    train_teachers,
)

RECIPE = TrainingSettings(epochs=2, batch=10, teachers=2, shift=0, turn=0, zoom=0, device="cpu")
QUICK = TrainingSettings(epochs=4, batch=8, lr=0.01, shift=0, device="cpu")
CLASSES = ("negative", "positive", "surprise")


class Sure:
    """A network that always gives the same answer."""

    def __init__(self, *probabilities):
        self.answer = torch.tensor(probabilities).log()

    def __call__(self, maps):
        return self.answer.expand(len(maps), -1)


def test_a_teacher_is_small():
    teacher = Teacher(TeacherSettings())
    convolutions = 3 * 16 * 25 + 16 * 32 * 9 + 32 * 48 * 9
    norms, head = 2 * (16 + 32 + 48), 48 * 7 * 7 * 3 + 3
    assert sum(weight.numel() for weight in teacher.parameters()) == convolutions + norms + head == 26_883


@pytest.mark.parametrize("size", [6, 14, 27, 30, 112])
def test_a_teacher_takes_maps_of_other_sizes(size):
    assert Teacher(TeacherSettings(map_size=size, classes=5))(torch.randn(2, 3, size, size)).shape == (2, 5)


def test_the_target_is_the_mean_of_the_teachers_and_the_start_has_its_share():
    maps = torch.zeros(4, 3, 6, 6)
    teachers = [Sure(0.9, 0.1), Sure(0.5, 0.5)]
    torch.testing.assert_close(DistillationTarget(teachers, None)(maps), torch.tensor([[0.7, 0.3]]).expand(4, 2))
    assert SHARE_OF_START == 0.4
    # 0.6 * 0.7 + 0.4 * 0.2
    torch.testing.assert_close(DistillationTarget(teachers, Sure(0.2, 0.8))(maps)[0], torch.tensor([0.5, 0.5]))


def test_teachers_learn_the_clips_and_leave_the_model_and_random_numbers_alone(make_tiny, two_classes):
    model = make_tiny()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    torch.manual_seed(3)
    state = torch.get_rng_state()
    teachers = train_teachers(model, two_classes, RECIPE, seed=0)
    assert torch.equal(torch.get_rng_state(), state)
    assert len(teachers) == 2
    for teacher in teachers:
        assert torch.equal(teacher(two_classes.maps).argmax(1), two_classes.labels)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_a_seed_decides_the_teachers(make_tiny, two_classes):
    def answers(seed):
        return [each(two_classes.maps) for each in train_teachers(make_tiny(), two_classes, RECIPE, seed=seed)]

    first, again, other = answers(1), answers(1), answers(2)
    assert torch.equal(first[0], again[0]) and not torch.equal(first[0], other[0])
    assert not torch.equal(first[0], first[1])  # several opinions, not one twice


def test_the_teacher_is_asked_about_each_batch_and_as_many_mixtures(make_tiny, two_classes):
    asked = []

    def teacher(maps):
        asked.append(len(maps))
        return torch.full((len(maps), 2), 0.5)

    trained = run_epochs(make_tiny(), two_classes, RECIPE, teacher=teacher, seed=0)
    assert asked == [20] * 4 and len(trained.losses) == 2
    assert abs(predict_maps(trained.model, two_classes.maps).scores - 0.5).max() < 0.4


def test_progress_counts_the_teachers(make_tiny, two_classes):
    progress = Mock()
    train_teachers(make_tiny(), two_classes, RECIPE, seed=0, progress=progress)
    assert progress.mock_calls == [call.start("training teachers", 2), call.advance(), call.advance(), call.finish()]


def weights(model):
    return torch.cat([tensor.flatten().float() for tensor in model.state_dict().values()])


@pytest.fixture
def clips():
    """Twelve small clips of three classes, which move up, down or not at all."""
    labels = torch.arange(12) % 3
    maps = 0.3 * torch.randn(12, 3, 12, 12, generator=torch.Generator().manual_seed(1))
    maps[labels == 0, 1, :6] -= 1
    maps[labels == 1, 1, 6:] += 1
    return LabelledMaps(maps, labels, CLASSES)


def trained(clips, recipe, seed=0):
    network = new_network(model_settings("ststnet", map_size=12), seed=seed)
    return fit(network, clips, recipe, seed=seed).model


def test_the_first_weights_come_from_the_seed(clips):
    a, b, c = (trained(clips, QUICK, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(weights(a), weights(b)) and not torch.equal(weights(a), weights(c))
    assert not a.training


def test_an_estimator_is_refused():
    with pytest.raises(ConfigError, match=r"'mdmo' is an estimator, not a network\n  fix: train a network"):
        new_network(model_settings("mdmo"))


def test_a_recipe_may_be_named(make_tiny, two_classes):
    assert len(fit(make_tiny(), two_classes, "scratch").losses) == 20


def test_training_starts_from_the_given_weights(make_tiny, two_classes, tmp_path):
    source = make_tiny()
    torch.nn.init.constant_(source.head.weight, 0.25)
    source.save_pretrained(tmp_path / "start", labels=two_classes.classes)
    model = make_tiny()
    fit(model, two_classes, replace(QUICK, start=tmp_path / "start", lr=1e-9))
    assert torch.allclose(model.head.weight, torch.full_like(model.head.weight, 0.25))
    with pytest.raises(CheckpointError, match="is not a model folder"):
        fit(make_tiny(), two_classes, replace(QUICK, start=tmp_path))


def test_all_of_the_start_is_delivered_when_it_is_interpolated_by_1(make_tiny, two_classes, tmp_path):
    source = make_tiny()
    torch.nn.init.constant_(source.head.weight, 0.25)
    source.save_pretrained(tmp_path / "start")
    model = make_tiny()
    fit(model, two_classes, replace(QUICK, start=tmp_path / "start", interpolate=1.0))
    assert (model.head.weight == 0.25).all()


def test_nothing_is_interpolated_under_a_head_for_other_classes(make_tiny, two_classes, tmp_path):
    """It learnt what the moved weights say; moved back, they would say something else to it."""
    make_tiny().save_pretrained(tmp_path / "start", labels=("other", "classes"))
    models = [make_tiny(), make_tiny()]
    for model, share in zip(models, (0.0, 0.5), strict=True):
        fit(model, two_classes, replace(QUICK, start=tmp_path / "start", interpolate=share))
    assert torch.equal(weights(models[0]), weights(models[1]))


def test_teachers_teach(clips, monkeypatch):
    """Under teachers that always say `surprise`, `surprise` is learnt, whatever the labels say."""

    class Surprised(torch.nn.Module):
        def forward(self, maps):
            return torch.tensor([-9.0, -9.0, 9.0]).expand(len(maps), 3)

    monkeypatch.setattr(module, "train_teachers", lambda *arguments, **options: [Surprised()] * 2)
    recipe = replace(QUICK, teachers=2, epochs=40)
    assert predict_maps(trained(clips, recipe), clips.maps).scores[:, 2].min() > 0.6
    assert predict_maps(trained(clips, replace(recipe, teachers=0)), clips.maps).scores[:, 2].min() < 0.4


@pytest.mark.parametrize(("labels", "asked"), [(CLASSES, True), (CLASSES[::-1], False)])
def test_a_start_that_knows_the_classes_is_one_of_the_teachers(clips, tmp_path, monkeypatch, labels, asked):
    source = create_model("ststnet", map_size=12)
    torch.nn.init.constant_(source.module.head.weight, 0.1)
    source.save_pretrained(tmp_path / "start", labels=labels)
    targets = []

    class Recorded(DistillationTarget):
        def __init__(self, teachers, start):
            super().__init__(teachers, start)
            targets.append(self)

    monkeypatch.setattr(module, "DistillationTarget", Recorded)
    trained(clips, replace(QUICK, teachers=1, epochs=1, start=tmp_path / "start"))
    (target,) = targets
    assert len(target.teachers) == 1 and (target.start is not None) is asked
    if asked:
        torch.testing.assert_close(target.start(clips.maps), source.eval()(clips.maps))
