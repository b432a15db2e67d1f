"""A model folder: config.json, model.safetensors and README.md, the Hugging Face layout.

Nothing in it is ever executed: weights are read as safetensors only, settings are checked name by name.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from epir.core.config import to_dict
from epir.core.errors import CheckpointError, ConfigError
from epir.core.files import whole_folder

FORMAT = "epir-model/1"
PICKLES = ("pytorch_model.bin", "model.pt", "model.pth", "model.pkl")


@dataclass(frozen=True)
class ModelConfig:
    """What `config.json` says: the settings, the names of the classes, and whatever else was learnt about the model."""

    settings: Mapping[str, Any]
    labels: tuple[str, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)  # recipe of the maps, calibration, scores, ...


def save_model(
    network: nn.Module,
    settings: object,
    folder: str | Path,
    *,
    labels: Sequence[str] = (),
    notes: Mapping[str, Any] | None = None,
    card: str = "",
    half: bool = False,
    force: bool = False,
) -> Path:
    """Write a model folder in one step; `half` stores the weights in half precision."""
    refuse_foreign_folder(Path(folder))
    config = {"format": FORMAT, "model": to_dict(settings), "labels": list(labels), "notes": dict(notes or {})}
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}
    if half:
        weights = {name: tensor.half() if tensor.is_floating_point() else tensor for name, tensor in weights.items()}
    with whole_folder(Path(folder), force=force) as temporary:
        (temporary / "config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        save_file(weights, temporary / "model.safetensors", metadata={"format": "pt"})
        (temporary / "model.safetensors").chmod((temporary / "config.json").stat().st_mode)  # readable as the others
        (temporary / "README.md").write_text(card or default_card(config), encoding="utf-8")
    return Path(folder)


def refuse_foreign_folder(folder: Path) -> None:
    """`force` replaces a model, never a folder that holds something else."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "config.json").exists():
        raise CheckpointError(f"{folder} exists already and is not a model folder", fix="choose another name")


def read_config(folder: str | Path) -> ModelConfig:
    """What a model folder says about itself."""
    folder = Path(folder)
    path = folder / "config.json"
    if not folder.is_dir():
        raise CheckpointError(f"there is no model folder {folder}", fix="check the path, or make one with epir train")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CheckpointError(
            f"{folder} is not a model folder: it has no config.json", fix="make one with epir train"
        ) from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise CheckpointError(f"{path} is damaged: {error}", fix="restore it from a copy, or train again") from None
    found = config.get("format") if isinstance(config, dict) else None
    if found != FORMAT:
        raise CheckpointError(
            f"{path} has the format {found!r}, this version of epir reads {FORMAT!r}",
            fix="install the version of epir that wrote it, or train again",
        )
    if not isinstance(config.get("model"), dict):
        raise CheckpointError(f"{path} has no settings of the model", fix="restore it from a copy, or train again")
    return ModelConfig(config["model"], tuple(config.get("labels", ())), config.get("notes", {}))


def load_weights(network: nn.Module, folder: str | Path) -> None:
    """Fill the network with the weights of a model folder, in the network's own precision."""
    path = Path(folder) / "model.safetensors"
    try:
        weights = load_file(path)
    except FileNotFoundError:
        pickles = [name for name in PICKLES if (path.parent / name).exists()]
        if pickles:
            raise CheckpointError(
                f"{path.parent} holds its weights as a pickle ({pickles[0]}), which can run code and is never opened",
                fix="save it again with save_pretrained, which writes model.safetensors",
            ) from None
        raise CheckpointError(
            f"{path.parent} has no model.safetensors", fix="restore it from a copy, or train again"
        ) from None
    except (SafetensorError, OSError) as error:
        raise CheckpointError(
            f"{path} is not a whole safetensors file: {error}", fix="it may be cut short: copy it again, or train again"
        ) from None
    _refuse_other_shapes(network.state_dict(), weights, path)
    network.load_state_dict(
        {name: tensor.to(torch.float32) if tensor.is_floating_point() else tensor for name, tensor in weights.items()}
    )


def _refuse_other_shapes(wanted: Mapping[str, Tensor], found: Mapping[str, Tensor], path: Path) -> None:
    fix = "use the config.json and model.safetensors of one and the same model"
    for name, tensor in wanted.items():
        if name not in found:
            raise CheckpointError(f"{path} lacks the weights {name!r}", fix=fix)
        if found[name].shape != tensor.shape:
            raise CheckpointError(
                f"{path}: {name!r} is {tuple(found[name].shape)}, the model needs {tuple(tensor.shape)}", fix=fix
            )
    for name in found:
        if name not in wanted:
            raise CheckpointError(f"{path} has weights {name!r} that the model does not know", fix=fix)


def default_card(config: Mapping[str, Any]) -> str:
    """A model card that says what is known without having seen the training."""
    name = config["model"].get("name", "epir")
    labels = ", ".join(config["labels"]) or "not named"
    rows = "\n".join(f"| `{key}` | {value} |" for key, value in config["model"].items())
    return (
        f"---\nlibrary_name: epir\ntags: [micro-expression]\n---\n\n# {name}\n\n"
        f"A model of epir for micro-expression maps. Classes: {labels}.\n\n"
        f"| setting | value |\n|---|---|\n{rows}\n"
    )


def unusable(error: ConfigError, folder: str | Path) -> CheckpointError:
    """The error for a model folder whose settings this version does not accept."""
    return CheckpointError(
        f"{Path(folder) / 'config.json'} cannot be used: {error.problem}",
        fix="install the version of epir that wrote it, or correct that setting",
    )
