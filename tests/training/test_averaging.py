import pytest
import torch

from epir.training.averaging import Averaged
from epir.training.recipe import TrainingSettings


def head(network):
    return network.head.bias.detach().clone()


def move(model, value):
    with torch.no_grad():
        model.head.bias.fill_(value)


def test_without_averaging_the_trained_network_is_delivered(make_tiny):
    model = make_tiny()
    assert Averaged(model, TrainingSettings(averaging="none")).network is model


def test_the_moving_average_is_the_formula(make_tiny):
    model, expected = make_tiny(), None
    recipe = TrainingSettings(averaging="ema", decay=0.5)
    average = Averaged(model, recipe)
    expected = head(model)
    for step in range(1, 21):
        move(model, float(step))
        average.after_step(model)
        decay = min(0.5, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * step
    torch.testing.assert_close(head(average.network), expected)


def test_the_last_epochs_are_averaged_evenly(make_tiny):
    model = make_tiny()
    average = Averaged(model, TrainingSettings(averaging="last", epochs=6, last=3))
    delivered = []
    for epoch in range(1, 7):
        move(model, float(epoch))
        average.after_epoch(model, epoch)
        delivered.append(float(head(average.network)[0]))
    assert delivered == pytest.approx([1, 2, 3, 4, 4.5, 5])  # before the window: the weights themselves


def test_running_statistics_are_averaged_and_counters_are_copied(make_tiny):
    model = make_tiny()
    average = Averaged(model, TrainingSettings(averaging="last", epochs=2, last=2))
    for epoch in (1, 2):
        model.norm.running_mean.fill_(float(epoch))
        model.norm.num_batches_tracked.fill_(10 * epoch)
        average.after_epoch(model, epoch)
    assert float(average.network.norm.running_mean[0]) == pytest.approx(1.5)
    assert int(average.network.norm.num_batches_tracked) == 20


def test_the_average_never_touches_the_trained_network(make_tiny):
    model = make_tiny()
    average = Averaged(model, TrainingSettings(averaging="ema"))
    before = head(model)
    average.after_step(model)
    average.network.head.bias.zero_()
    assert torch.equal(head(model), before)


def test_a_share_of_the_start_is_kept(make_tiny):
    model = make_tiny()
    move(model, 1.0)
    average = Averaged(model, TrainingSettings(averaging="none"), keep=0.25)
    move(model, 5.0)
    delivered = average.now()
    assert delivered is not model
    assert head(delivered).tolist() == [4.0, 4.0]  # 0.25 * 1 + 0.75 * 5
    assert head(model).tolist() == [5.0, 5.0]  # training goes on from its own weights
    assert Averaged(model, TrainingSettings(averaging="none")).now() is model
