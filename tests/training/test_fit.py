from dataclasses import replace

import numpy as np
import pytest
import torch

from epir.core.errors import CheckpointError, ConfigError, TrainingError
from epir.models.predict import predict_maps
from epir.training.data import LabelledMaps
from epir.training.recipe import TrainingSettings
from epir.training.train import fit

QUICK = TrainingSettings(epochs=4, batch=8, lr=0.01)
RECIPE = TrainingSettings(epochs=5, batch=8, lr=0.01)


def weights(model):
    return torch.cat([tensor.flatten().float() for tensor in model.state_dict().values()])


def test_what_can_be_learnt_is_learnt(make_tiny, two_classes):
    model = make_tiny()
    trained = fit(model, two_classes, replace(QUICK, epochs=30))
    assert (predict_maps(model, two_classes.maps).scores.argmax(1) == two_classes.labels.numpy()).all()
    assert len(trained.losses) == 30 and trained.losses[-1] < trained.losses[0]
    assert not model.training


@pytest.mark.parametrize("averaging", ["none", "ema"])
def test_a_seed_decides_everything(make_tiny, two_classes, averaging):
    recipe = replace(QUICK, averaging=averaging)
    steps = []
    for seed in (5, 5, 6):
        model = make_tiny()
        torch.rand(17)  # the caller's random numbers are of no account
        fit(model, two_classes, recipe, seed=seed)
        steps.append(weights(model))
    assert torch.equal(steps[0], steps[1]) and not torch.equal(steps[0], steps[2])


@pytest.mark.parametrize("averaging", ["none", "ema"])
def test_predicting_after_each_epoch_changes_nothing(make_tiny, two_classes, averaging):
    recipe = replace(QUICK, averaging=averaging)
    alone, watched = make_tiny(), make_tiny()
    seen = []

    def watch(epoch, network):
        assert not network.training
        torch.rand(100 * epoch)
        seen.append((epoch, predict_maps(network, two_classes.maps).scores))

    fit(alone, two_classes, recipe)
    fit(watched, two_classes, recipe, after_epoch=watch)
    assert torch.equal(weights(alone), weights(watched))
    assert [epoch for epoch, _ in seen] == [1, 2, 3, 4]
    assert np.array_equal(
        seen[-1][1], predict_maps(watched, two_classes.maps).scores
    )  # the last prediction is the result


def test_training_leaves_the_callers_random_numbers_alone(make_tiny, two_classes):
    model = make_tiny()
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    fit(model, two_classes, QUICK, after_epoch=lambda epoch, network: None)
    assert torch.equal(torch.rand(4), expected)


def test_class_weights_lift_a_rare_class(make_tiny):
    random = torch.Generator().manual_seed(0)
    clips = LabelledMaps(
        torch.randn(40, 3, 6, 6, generator=random), (torch.arange(40) >= 36).long(), ("often", "rarely")
    )
    chances = []
    for is_weighted in (False, True):
        model = make_tiny()
        fit(model, clips, replace(QUICK, epochs=10, class_weights=is_weighted))
        chances.append(predict_maps(model, clips.maps).scores[:, 1].mean())
    assert chances[1] > chances[0] + 0.1


def test_a_loss_that_is_no_number_stops_with_the_last_good_weights(make_tiny, two_classes):
    model = make_tiny()
    good = {}
    loss, calls = model.loss, []

    def breaks_in_epoch_three(maps, labels, **options):
        calls.append(1)
        if len(calls) == 7:  # three batches an epoch: this is the first of the third
            good.update({name: tensor.clone() for name, tensor in model.state_dict().items()})
        value = loss(maps, labels, **options)
        return value * float("nan") if len(calls) == 9 else value

    model.loss = breaks_in_epoch_three
    words = r"became NaN or infinite in epoch 3; the model holds the last good weights\n  fix: train .* than 0.01"
    with pytest.raises(TrainingError, match=words):
        fit(model, two_classes, replace(QUICK, epochs=5))
    kept = model.state_dict()
    learned = [name for name in good if "norm.running" not in name and "tracked" not in name]
    assert all(torch.equal(kept[name], good[name]) for name in learned)
    assert torch.isfinite(weights(model)).all()


def test_weights_that_a_step_spoiled_are_not_called_good(make_tiny, two_classes):
    model = make_tiny()
    with pytest.raises(TrainingError, match="lower rate"):
        fit(model, two_classes, replace(QUICK, lr=1000, weight_decay=1000, gradient_limit=0.0, warmup=0.0))
    assert torch.isfinite(weights(model)).all()
    assert np.isfinite(predict_maps(model, two_classes.maps).scores).all()


def test_a_model_of_other_classes_is_refused(make_tiny, two_classes):
    with pytest.raises(ConfigError, match=r"the model has 3 classes but the clips have 2\n  fix: build .* classes=2"):
        fit(make_tiny(classes=3), two_classes, QUICK)


def test_too_few_clips_are_refused(make_tiny, two_classes):
    one = LabelledMaps(two_classes.maps[:1], two_classes.labels[:1], two_classes.classes)
    with pytest.raises(TrainingError, match="1 clip to train on: too few\n  fix: give two clips or more"):
        fit(make_tiny(), one, QUICK)


def test_a_device_that_is_not_there_is_refused(make_tiny, two_classes):
    with pytest.raises(ConfigError, match=r"there is no device 'abacus' here\n  fix: use --set training.device=cpu"):
        fit(make_tiny(), two_classes, replace(QUICK, device="abacus"))


def test_progress_tells_loss_and_throughput(make_tiny, two_classes):
    notes = []

    class Notes:
        def start(self, task, total):
            notes.append((task, total))

        def advance(self, steps=1, note=""):
            notes.append(note)

        def finish(self):
            notes.append("end")

    fit(make_tiny(), two_classes, QUICK, progress=Notes())
    assert notes[0] == ("training", 4) and notes[-1] == "end" and len(notes) == 6
    assert "loss" in notes[1] and "clips a second" in notes[1]


def test_a_last_step_that_spoils_the_weights_is_found(make_tiny, two_classes, monkeypatch):
    """The loss of every step was finite; what the last one left is looked at too."""
    model = make_tiny()

    def spoil(model, optimiser, loss, *_):
        next(model.parameters()).data.fill_(float("nan"))

    monkeypatch.setattr("epir.training.fit.take_step", spoil)
    recipe = replace(QUICK, epochs=1, batch=len(two_classes), averaging="none")
    with pytest.raises(TrainingError, match=r"became NaN or infinite in epoch 1; .* last good weights\n  fix: train"):
        fit(model, two_classes, recipe)
    assert torch.isfinite(weights(model)).all()


@pytest.mark.parametrize("averaging", ["none", "ema"])
def test_a_stopped_training_goes_on_to_the_same_weights(make_tiny, two_classes, tmp_path, averaging):
    recipe, kept = replace(RECIPE, averaging=averaging), tmp_path / "state.safetensors"
    whole, stopped, again = make_tiny(), make_tiny(), make_tiny()
    expected = fit(whole, two_classes, recipe, seed=3)

    def stop(epoch, network):
        if epoch == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(stopped, two_classes, recipe, seed=3, after_epoch=stop, checkpoint=kept)
    seen = []
    trained = fit(again, two_classes, recipe, seed=3, after_epoch=lambda epoch, _: seen.append(epoch), checkpoint=kept)
    assert seen == [3, 4, 5]  # two epochs were kept
    assert trained.losses == expected.losses
    assert torch.equal(weights(again), weights(whole))


def test_a_finished_training_is_not_done_again(make_tiny, two_classes, tmp_path):
    kept = tmp_path / "state.safetensors"
    first, second = make_tiny(), make_tiny()
    fit(first, two_classes, RECIPE, checkpoint=kept)
    trained = fit(second, two_classes, RECIPE, checkpoint=kept, after_epoch=lambda *_: pytest.fail("an epoch was done"))
    assert torch.equal(weights(first), weights(second)) and len(trained.losses) == 5


def test_another_training_is_not_continued(make_tiny, two_classes, tmp_path):
    kept = tmp_path / "state.safetensors"
    fit(make_tiny(), two_classes, RECIPE, checkpoint=kept)
    words = "is the checkpoint of another training\n  fix: choose another name, or delete it"
    with pytest.raises(CheckpointError, match=words):
        fit(make_tiny(), two_classes, replace(RECIPE, lr=0.02), checkpoint=kept)
    with pytest.raises(CheckpointError, match=words):
        fit(make_tiny(), replace(two_classes, maps=two_classes.maps + 1), RECIPE, checkpoint=kept)
    with pytest.raises(CheckpointError, match=words):
        fit(make_tiny(), two_classes, RECIPE, seed=1, checkpoint=kept)


def test_a_damaged_file_says_what_to_do(make_tiny, two_classes, tmp_path):
    kept = tmp_path / "state.safetensors"
    kept.write_bytes(b"no tensors at all")
    with pytest.raises(CheckpointError, match=r"cannot be read: .*\n  fix: delete it to train from the start"):
        fit(make_tiny(), two_classes, RECIPE, checkpoint=kept)


def test_another_start_is_not_continued(make_tiny, two_classes, tmp_path):
    """Under the same name: what counts is the weights, and not where they lie."""
    kept, start = tmp_path / "state.safetensors", tmp_path / "start"
    torch.manual_seed(0)
    make_tiny().save_pretrained(start)
    recipe = replace(RECIPE, start=start)
    fit(make_tiny(), two_classes, recipe, checkpoint=kept)
    start.rename(tmp_path / "moved")
    fit(make_tiny(), two_classes, replace(recipe, start=tmp_path / "moved"), checkpoint=kept)
    torch.manual_seed(1)
    other = make_tiny()
    next(other.parameters()).data.mul_(1.5)
    other.save_pretrained(start)
    with pytest.raises(CheckpointError, match="is the checkpoint of another training"):
        fit(make_tiny(), two_classes, recipe, checkpoint=kept)
