"""Starting from the weights of a model folder instead of random ones; where the shipped ones are, and whom they fit."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from epir.core.config import to_dict
from epir.core.errors import CheckpointError
from epir.models.folder import ModelConfig, read_config
from epir.models.network import HEAD, Network
from epir.training.recipe import SHIPPED

WEIGHTS = "model.safetensors"
FREE = ("classes", "normalise", "dropout", "margin", "contrastive")  # a model may differ in these and start from there


def shipped_weights() -> Path:
    """The model folder that comes with the package."""
    return Path(str(files("epir"))) / "weights"


def start_folder(start: Path) -> Path:
    """The model folder that a recipe names."""
    return shipped_weights() if start == SHIPPED else start


def can_start(settings: Any, folder: Path) -> bool:
    """Whether a model of these settings can start from the weights of a model folder."""
    if not (folder / WEIGHTS).exists():
        return False
    mine, theirs = to_dict(settings), dict(read_config(folder).settings)
    return all(mine.get(name) == theirs.get(name) for name in mine.keys() | theirs.keys() if name not in FREE)


def start_from(model: Network, folder: Path, classes: Sequence[str]) -> bool:
    """Copy the weights in `folder` into the model, and say whether the head came along.

    It does where it tells the same `classes` apart, in the same order; for others it keeps its random start.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    folder = start_folder(Path(folder))
    path = folder / WEIGHTS
    if not path.exists():
        raise CheckpointError(f"there are no weights {path}", fix="give a model folder, as epir train writes it")
    try:
        weights = load_file(path)
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}", fix="copy or train that model again") from None
    own = model.state_dict()
    strangers = sorted(own.keys() ^ weights.keys())
    if strangers:
        raise CheckpointError(
            f"{path} holds the weights of another model: {len(strangers)} names differ, for example {strangers[0]!r}",
            fix=f"start from a model folder of {model.settings.name!r} with the same settings",
        )
    knows = _tells_apart(read_config(folder), classes)
    copied = {name: tensor for name, tensor in weights.items() if knows or name.split(".")[0] != HEAD}
    for name, tensor in copied.items():
        if tensor.shape != own[name].shape:
            raise CheckpointError(
                f"{path} does not fit: {name} is {tuple(tensor.shape)} there and {tuple(own[name].shape)} here",
                fix="use the sizes of that model, for example its map size and width",
            )
    model.load_state_dict(own | {name: tensor.to(own[name].dtype) for name, tensor in copied.items()})
    return knows


def _tells_apart(config: ModelConfig, classes: Sequence[str]) -> bool:
    """Whether a model folder's head is for these classes, by their number alone where it does not name its own."""
    return config.labels == tuple(classes) if config.labels else config.settings.get("classes") == len(classes)
