from unittest.mock import Mock, call

import pytest
import torch

from epir.models.predict import predict_maps
from epir.training.fit import TrainingInputs, run_epochs
from epir.training.recipe import TrainingSettings
from epir.training.teachers import SHARE_OF_START, DistillationTarget, Teacher, TeacherSettings, train_teachers

RECIPE = TrainingSettings(epochs=2, batch=10, teachers=2, shift=0, turn=0, zoom=0, device="cpu")


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
    found = train_teachers(model, two_classes, RECIPE, seed=0)
    assert torch.equal(torch.get_rng_state(), state)
    assert len(found) == 2
    for teacher in found:
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

    trained = run_epochs(make_tiny(), two_classes, RECIPE, TrainingInputs(teacher=teacher), seed=0)
    assert asked == [20] * 4 and len(trained.losses) == 2
    assert abs(predict_maps(trained.model, two_classes.maps).scores - 0.5).max() < 0.4


def test_progress_counts_the_teachers(make_tiny, two_classes):
    progress = Mock()
    train_teachers(make_tiny(), two_classes, RECIPE, seed=0, progress=progress)
    assert progress.mock_calls == [call.start("training teachers", 2), call.advance(), call.advance(), call.finish()]
