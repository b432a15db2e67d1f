"""How near the model comes to what the machine can do, and to its neighbours.

The limit is the machine's own rate of matrix multiplication: float32, 2048 x 2048, one thread.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from epir.bench.ratio import Ratio, seconds_each
from epir.models.epir import Epir
from epir.models.network import Network
from epir.models.registry import create_model
from epir.models.settings import preset

SIDE = 2048  # of the matrices whose product sets the limit
BATCH = 64
VIEWS = 10  # of one map: five places and the mirror image of each


def measure(*, quick: bool = False) -> list[Ratio]:
    """The yardsticks that concern the model alone."""
    torch.set_num_threads(1)
    rounds = 3 if quick else 12
    return [*near_the_limit(rounds), *one_answer(rounds), *many_tokens(rounds)]


def near_the_limit(rounds: int) -> list[Ratio]:
    """Training step and forward pass of the paper's model at batch 64, against matrix multiplication."""
    model, trained, maps = Epir().eval(), Epir(), torch.randn(BATCH, 3, 28, 28)
    multiply_adds = count_multiply_adds(model, maps[:1]) * BATCH
    a, b = torch.randn(SIDE, SIDE), torch.randn(SIDE, SIDE)
    seconds = seconds_each(
        {"matrix": lambda: a @ b, "forward": predicting(model, maps), "step": training_step(trained, maps)},
        rounds=rounds,
    )
    rate = SIDE**3 / seconds["matrix"]
    step = 3 * multiply_adds / seconds["step"] / rate  # the backward pass multiplies twice as much
    forward = multiply_adds / seconds["forward"] / rate
    return [
        Ratio(
            "training step",
            step,
            0.55,
            f"share of the matrix rate of {rate / 1e9:.0f} G multiply-adds/s, batch {BATCH}",
        ),
        Ratio("forward", forward, None, f"share of the matrix rate, batch {BATCH}"),
    ]


def one_answer(rounds: int) -> list[Ratio]:
    """The ten views of one map, over which an answer is the mean."""
    maps = torch.randn(VIEWS, 3, 28, 28)
    seconds = seconds_each({name: predicting(create_model(name), maps) for name in ("epir", "htnet")}, rounds=rounds)
    detail = f"{1000 * seconds['epir']:.0f} ms against {1000 * seconds['htnet']:.0f} ms"
    return [Ratio(f"htnet / epir, one answer of {VIEWS} views", seconds["htnet"] / seconds["epir"], 5.0, detail)]


def many_tokens(rounds: int) -> list[Ratio]:
    """A 112 x 112 map has 256 tokens: here merging must pay."""
    sizes = {"map_size": 112, "integration": 0.3}
    models = {"epir": Epir(preset("epir", **sizes)), "vit": Epir(preset("vit", map_size=112))}
    maps = torch.randn(4, 3, 112, 112)
    forward = seconds_each({name: predicting(m, maps) for name, m in models.items()}, rounds=rounds)
    step = seconds_each({name: training_step(m, maps) for name, m in models.items()}, rounds=max(2, rounds // 2))
    detail = "112 px map, integration 30 %"
    return [
        Ratio("vit / epir, 256 tokens, forward", forward["vit"] / forward["epir"], 1.15, detail),
        Ratio("vit / epir, 256 tokens, training", step["vit"] / step["epir"], 1.15, detail),
    ]


def count_multiply_adds(model: nn.Module, maps: Tensor) -> float:
    """Multiply-accumulates of one forward pass by torch's own counter, which counts two operations for each."""
    was_training = model.training
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model.eval()(maps)
    model.train(was_training)
    return counter.get_total_flops() / 2


def predicting(model: nn.Module, maps: Tensor) -> Callable[[], None]:
    """A forward pass in eager mode, ready to be timed."""
    model.eval()

    def run() -> None:
        with torch.inference_mode():
            model(maps)

    return run


def training_step(model: Network, maps: Tensor) -> Callable[[], None]:
    """A whole training step as `epir.training.fit` does it: forward, backward, AdamW."""
    labels = torch.arange(len(maps)) % 3
    optimiser = torch.optim.AdamW(model.parameters(), fused=True)

    model.train()

    def run() -> None:
        loss = model.loss(maps, labels)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()

    return run
