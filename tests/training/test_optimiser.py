import pytest
import torch
from torch import nn

from epir.models.registry import create_model
from epir.models.units import UnitHead
from epir.training.optimiser import AveragedModel, learning_rate, make_optimiser, take_step
from epir.training.recipe import TrainingSettings

# ----------------------------------------------------------------------------------------------- optimiser and schedule


def test_the_rate_rises_then_falls_along_half_a_cosine():
    recipe = TrainingSettings(lr=1.0, warmup=0.2)
    rates = [learning_rate(step, 10, recipe) for step in range(10)]
    assert rates[:3] == pytest.approx([0.5, 1.0, 1.0])
    assert rates[2:] == sorted(rates[2:], reverse=True)
    assert rates[6] == pytest.approx(0.5) and 0 < rates[-1] < 0.05


def test_a_constant_rate_stays():
    recipe = TrainingSettings(lr=0.5, warmup=0.0, schedule="constant")
    assert {learning_rate(step, 7, recipe) for step in range(7)} == {0.5}


def test_only_weight_matrices_decay():
    """Not biases, norms, the class token, positions and temperatures, though the last three have several axes."""
    model = create_model("epir", width=24, feed_forward=32)
    model.unit_head = UnitHead(24)
    optimiser = make_optimiser(model, TrainingSettings(weight_decay=0.1))
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    decays = {
        names[id(parameter)]: group["weight_decay"] for group in optimiser.param_groups for parameter in group["params"]
    }
    layers = {f"{name}.weight" for name, part in model.named_modules() if isinstance(part, nn.Linear)}
    assert {name for name, decay in decays.items() if decay} == layers
    assert decays.keys() == set(names.values())  # nothing is left out


def test_temperatures_have_a_rate_of_their_own():
    model = create_model("epir", width=24, feed_forward=32)
    recipe = TrainingSettings(lr=1e-3, temperature_rate=5.0)
    optimiser = make_optimiser(model, recipe)
    temperature = model.blocks[0].attention.temperature
    before = temperature.detach().clone()
    take_step(model, optimiser, model.loss(torch.randn(4, 3, 28, 28), torch.arange(4) % 3), 1e-3, 0.0)
    # the first step of Adam is as long as its rate
    assert (temperature - before).abs().flatten().tolist() == pytest.approx([5e-3] * 3, rel=1e-2)


@pytest.mark.parametrize(("name", "kind"), [("adam", torch.optim.Adam), ("adamw", torch.optim.AdamW)])
def test_the_optimiser_has_the_name_it_is_given(make_tiny, name, kind):
    assert type(make_optimiser(make_tiny(), TrainingSettings(optimiser=name))) is kind


# -------------------------------------------------------------------------------------------------- average of weights


def head(network):
    return network.head.bias.detach().clone()


def move(model, value):
    with torch.no_grad():
        model.head.bias.fill_(value)


def test_without_averaging_the_trained_network_is_delivered(make_tiny):
    model = make_tiny()
    assert AveragedModel(model, TrainingSettings(averaging="none")).network is model


def test_the_moving_average_is_quick_at_first_and_then_decays_as_set(make_tiny):
    model = make_tiny()
    average = AveragedModel(model, TrainingSettings(averaging="ema", decay=0.5))
    expected = head(model)
    for step in range(1, 21):
        move(model, float(step))
        average.after_step(model)
        decay = (1 + step) / (10 + step) if step < 8 else 0.5  # the warm-up ends where it reaches the decay
        expected = decay * expected + (1 - decay) * step
        torch.testing.assert_close(head(average.network), expected)


def test_the_warm_up_forgets_the_first_weights(make_tiny):
    """With a decay of 0.98 from the start, a tenth of the first weights would be left after a hundred steps."""
    model = make_tiny()
    move(model, 1000.0)
    average = AveragedModel(model, TrainingSettings(averaging="ema", decay=0.98))
    move(model, 0.0)
    for _ in range(100):
        average.after_step(model)
    assert float(head(average.network)[0]) < 1e-6


def test_running_statistics_are_averaged_and_counters_are_copied(make_tiny):
    model = make_tiny()
    average = AveragedModel(model, TrainingSettings(averaging="ema", decay=0.1))
    for number in (1, 2):
        model.norm.running_mean.fill_(float(number))
        model.norm.num_batches_tracked.fill_(10 * number)
        average.after_step(model)
    assert float(average.network.norm.running_mean[0]) == pytest.approx(1.89)
    assert int(average.network.norm.num_batches_tracked) == 20


def test_the_average_never_touches_the_trained_network(make_tiny):
    model = make_tiny()
    average = AveragedModel(model, TrainingSettings(averaging="ema"))
    before = head(model)
    average.after_step(model)
    average.network.head.bias.zero_()
    assert torch.equal(head(model), before)


def test_weights_are_interpolated_with_the_first_ones(make_tiny):
    model = make_tiny()
    move(model, 1.0)
    average = AveragedModel(model, TrainingSettings(averaging="none"), interpolate=0.25)
    move(model, 5.0)
    delivered = average.current()
    assert delivered is not model
    assert head(delivered).tolist() == [4.0, 4.0]  # 0.25 * 1 + 0.75 * 5
    assert head(model).tolist() == [5.0, 5.0]  # training goes on from its own weights
    assert AveragedModel(model, TrainingSettings(averaging="none")).current() is model
