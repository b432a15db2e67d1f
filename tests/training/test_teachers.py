from dataclasses import replace
from unittest.mock import Mock, call

import pytest
import torch

from epir.training.data import LabelledMaps
from epir.training.fit import fit, predict
from epir.training.recipe import TrainingSettings
from epir.training.teachers import SHARE_OF_START, Lesson, Tutor, TutorSettings, prepare_lesson

RECIPE = TrainingSettings(epochs=2, batch=10, tutors=2, shift=0, turn=0, zoom=0, device="cpu")


class Sure:
    """Somebody who always gives the same answer."""

    def __init__(self, *probabilities):
        self.answer = torch.tensor(probabilities).log()

    def __call__(self, maps):
        return self.answer.expand(len(maps), -1)


def saved(model, folder, labels=("brow", "lip")):
    model.save_pretrained(folder, labels=labels)
    return folder


def test_a_tutor_is_small():
    tutor = Tutor(TutorSettings())
    convolutions = 3 * 16 * 25 + 16 * 32 * 9 + 32 * 48 * 9
    norms, head = 2 * (16 + 32 + 48), 48 * 7 * 7 * 3 + 3
    assert sum(weight.numel() for weight in tutor.parameters()) == convolutions + norms + head == 26_883


@pytest.mark.parametrize("size", [6, 14, 27, 30, 112])
def test_a_tutor_takes_maps_of_other_sizes(size):
    assert Tutor(TutorSettings(map_size=size, classes=5))(torch.randn(2, 3, size, size)).shape == (2, 5)


def test_the_lesson_is_the_mean_of_the_tutors_and_the_start_has_its_share():
    maps = torch.zeros(4, 3, 6, 6)
    tutors = [Sure(0.9, 0.1), Sure(0.5, 0.5)]
    torch.testing.assert_close(Lesson(tutors, None)(maps), torch.tensor([[0.7, 0.3]]).expand(4, 2))
    first = 0.7 * (1 - SHARE_OF_START) + 0.2 * SHARE_OF_START
    torch.testing.assert_close(Lesson(tutors, Sure(0.2, 0.8))(maps)[0], torch.tensor([first, 1 - first]))


def test_there_is_no_lesson_where_no_tutors_are_wanted(make_tiny, two_classes):
    assert prepare_lesson(make_tiny(), two_classes, replace(RECIPE, tutors=0), seed=0) is None


def test_tutors_learn_the_clips_and_leave_the_model_and_random_numbers_alone(make_tiny, two_classes):
    model = make_tiny()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    torch.manual_seed(3)
    state = torch.get_rng_state()
    lesson = prepare_lesson(model, two_classes, RECIPE, seed=0)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(lesson(two_classes.maps).argmax(1), two_classes.labels)
    assert len(lesson.tutors) == 2 and lesson.start is None
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_a_seed_decides_the_lesson(make_tiny, two_classes):
    def answer(seed):
        return prepare_lesson(make_tiny(), two_classes, RECIPE, seed=seed)(two_classes.maps)

    assert torch.equal(answer(1), answer(1)) and not torch.equal(answer(1), answer(2))
    first, second = prepare_lesson(make_tiny(), two_classes, RECIPE, seed=1).tutors
    assert not torch.equal(first(two_classes.maps), second(two_classes.maps))  # several opinions, not one twice


def test_a_start_that_knows_the_classes_is_asked_too(make_tiny, two_classes, tmp_path):
    source = make_tiny()
    torch.nn.init.constant_(source.head.weight, 0.25)
    recipe = replace(RECIPE, start=saved(source, tmp_path / "model"))
    lesson = prepare_lesson(make_tiny(), two_classes, recipe, seed=0)
    torch.testing.assert_close(lesson.start(two_classes.maps), source.eval()(two_classes.maps))


@pytest.mark.parametrize("labels", [("lip", "brow"), ("a", "b", "c", "d", "e")])
def test_a_start_of_other_classes_is_not_asked(make_tiny, two_classes, tmp_path, labels):
    recipe = replace(RECIPE, start=saved(make_tiny(classes=len(labels)), tmp_path / "model", labels))
    assert prepare_lesson(make_tiny(), two_classes, recipe, seed=0).start is None


def test_what_is_taught_is_the_lesson_and_not_the_labels(make_tiny, two_classes):
    wrong = LabelledMaps(two_classes.maps, 1 - two_classes.labels, two_classes.classes)
    lesson = prepare_lesson(make_tiny(), two_classes, RECIPE, seed=0)
    model = make_tiny()
    fit(model, wrong, replace(RECIPE, epochs=60, lr=0.02), lesson=lesson)
    assert (predict(model, two_classes.maps).argmax(1) == two_classes.labels.numpy()).all()


def test_the_lesson_is_asked_about_each_batch_and_as_many_mixtures(make_tiny, two_classes):
    asked = []

    def lesson(maps):
        asked.append(len(maps))
        return torch.full((len(maps), 2), 0.5)

    trained = fit(make_tiny(), two_classes, replace(RECIPE, epochs=3), lesson=lesson)
    assert asked == [20] * 6 and len(trained.losses) == 3


def test_progress_counts_the_tutors(make_tiny, two_classes):
    progress = Mock()
    prepare_lesson(make_tiny(), two_classes, RECIPE, seed=0, progress=progress)
    assert progress.mock_calls == [call.start("training tutors", 2), call.advance(), call.advance(), call.finish()]
