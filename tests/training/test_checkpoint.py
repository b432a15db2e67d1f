from dataclasses import replace

import pytest
import torch

from epir.core.errors import CheckpointError
from epir.training.recipe import TrainingSettings
from epir.training.train import fit

RECIPE = TrainingSettings(epochs=5, batch=8, lr=0.01)


def weights(model):
    return torch.cat([tensor.flatten().float() for tensor in model.state_dict().values()])


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
    words = "is the checkpoint of another training\n  fix: give another name, or delete it"
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
