"""Starting from the weights of a model folder instead of random ones."""

from pathlib import Path

from epir.core.errors import CheckpointError
from epir.model.network import Network

WEIGHTS = "model.safetensors"


def start_from(model: Network, folder: Path) -> None:
    """Copy the weights in `folder` into the model; a head for another number of classes keeps its random start."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    path = Path(folder) / WEIGHTS
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
        is_head = len(own[name]) == model.settings.classes and weights[name].shape[1:] == own[name].shape[1:]
        if is_head:
            continue
        raise CheckpointError(
            f"{path} does not fit: {name} is {tuple(weights[name].shape)} there and {tuple(own[name].shape)} here",
            fix="use the sizes of that model, for example its map size and width",
        )
    for name, tensor in weights.items():
        own[name] = own[name] if name in changed else tensor.to(own[name].dtype)
    model.load_state_dict(own)
