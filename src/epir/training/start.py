"""Starting from the weights of a model folder instead of random ones; where the shipped ones are, and whom they fit."""

from importlib.resources import files
from pathlib import Path
from typing import Any

from epir.core.config import to_dict
from epir.core.errors import CheckpointError
from epir.model.folder import read_config
from epir.model.network import Network
from epir.training.settings import SHIPPED

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


def start_from(model: Network, folder: Path) -> frozenset[str]:
    """Copy the weights in `folder` into the model; a head for another number of classes keeps its random start.

    Gives the names of the weights that were copied.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = start_folder(Path(folder)) / WEIGHTS
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
    changed = [name for name in own if weights[name].shape != own[name].shape]
    for name in changed:
        if _differ_in_classes(tuple(own[name].shape), tuple(weights[name].shape), model.settings.classes):
            continue
        raise CheckpointError(
            f"{path} does not fit: {name} is {tuple(weights[name].shape)} there and {tuple(own[name].shape)} here",
            fix="use the sizes of that model, for example its map size and width",
        )
    for name, tensor in weights.items():
        own[name] = own[name] if name in changed else tensor.to(own[name].dtype)
    model.load_state_dict(own)
    return frozenset(weights.keys() - set(changed))


def _differ_in_classes(mine: tuple[int, ...], theirs: tuple[int, ...], classes: int) -> bool:
    """Whether these are shapes of one head for different numbers of classes, on whichever axis those lie."""
    if len(mine) != len(theirs):
        return False
    return [size for size, other in zip(mine, theirs, strict=True) if size != other] == [classes]
