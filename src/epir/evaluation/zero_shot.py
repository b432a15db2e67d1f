"""Weights that are tried as they are: where they come from, and whether they fit the clips."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from epir.core.errors import CheckpointError
from epir.maps.mapset import file_digest
from epir.models.folder import load_weights, read_config
from epir.models.network import Network
from epir.models.registry import build, settings_from_dict
from epir.training.start import WEIGHTS, shipped_weights


def find_weights(folder: str | Path | None) -> Path:
    """The model folder that the user named, or the one that is shipped with the package."""
    if folder is not None:
        return Path(folder).resolve()
    shipped = shipped_weights()
    if not (shipped / WEIGHTS).exists():
        raise CheckpointError(
            "the weights that come with epir are missing",
            fix="install epir again, or name a model folder with --weights",
        )
    return shipped


def weights_digest(folder: Path) -> str:
    """The digest of a model folder's weights; refuses what is no model folder, before anything is written."""
    path = Path(folder) / WEIGHTS
    if not path.exists():
        raise CheckpointError(f"there are no weights {path}", fix="give a model folder, as epir train writes it")
    read_config(folder)
    return file_digest(path)


def load_network(folder: Path) -> Network:
    """The network in a model folder, ready to predict."""
    network = build(weights_settings(folder))
    assert isinstance(network, Network)
    load_weights(network, folder)
    return network.eval()


def view_choices(notes: Mapping[str, Any]) -> dict[str, Any]:
    """Over which views of a map the answer of a model is the mean, by the notes of its folder."""
    return {"mirror": bool(notes.get("mirror", True)), "shift": int(notes.get("shift", 0))}


def weights_settings(folder: Path) -> Any:
    """The settings of the network in a model folder."""
    return settings_from_dict(read_config(folder).settings)


def check_weights(folder: Path, *, classes: Sequence[str], map_size: int) -> None:
    """Refuse weights that were trained for other classes or another size of map."""
    labels, settings = read_config(folder).labels, weights_settings(folder)
    if (labels and labels != tuple(classes)) or settings.classes != len(classes):
        theirs = ", ".join(labels) or f"{settings.classes} classes"
        raise CheckpointError(
            f"the weights in {folder} tell {theirs} apart, but the protocol tells {', '.join(classes)} apart",
            fix="choose the protocol that they were trained for, or other weights",
        )
    if settings.map_size != map_size:
        raise CheckpointError(
            f"the weights in {folder} are for {settings.map_size} px maps, but the map set has {map_size} px",
            fix=f"prepare the maps with --size {settings.map_size}",
        )
