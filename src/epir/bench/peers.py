"""How long each learned peer takes for a forward pass, in times of what `epir` takes in the same run, on one thread."""

import torch

from epir.bench.model import predicting
from epir.bench.ratio import Ratio, seconds_each
from epir.models.baselines.base import BaselineSettings
from epir.models.registry import create_model, is_pipeline, list_models, model_settings

BATCHES = (1, 64)


def measure(*, quick: bool = False) -> list[Ratio]:
    """One ratio per learned peer and batch size; above 1 the peer is slower than `epir`."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return [ratio for name in learned_peers() for ratio in compare(name, rounds=3 if quick else 12)]
    finally:
        torch.set_num_threads(before)


def learned_peers() -> tuple[str, ...]:
    """The peers that are networks, by name."""
    return tuple(
        name for name in list_models() if not is_pipeline(name) and isinstance(model_settings(name), BaselineSettings)
    )


def compare(name: str, *, rounds: int) -> list[Ratio]:
    """The peer `name` against `epir`, for one map and for a batch."""
    models = {each: create_model(each) for each in (name, "epir")}
    ratios = []
    for clips in BATCHES:
        maps = torch.randn(clips, 3, 28, 28)
        calls = 3 if clips == 1 else 1
        work = {each: predicting(model, maps) for each, model in models.items()}
        seconds = seconds_each(work, rounds=rounds, calls=calls)
        title = "one map" if clips == 1 else f"batch {clips}"
        detail = f"{1000 * seconds[name]:.2f} ms against {1000 * seconds['epir']:.2f} ms"
        ratios.append(Ratio(f"{name} / epir, forward, {title}", seconds[name] / seconds["epir"], None, detail))
    return ratios
