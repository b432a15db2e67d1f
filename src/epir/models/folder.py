"""Model folders: save, load, find the shipped one, start training from one, download from the Hugging Face hub.

A folder holds config.json, model.safetensors and README.md, the Hugging Face layout, and a record of the training
people (`epir.models.seen`). Nothing in it is ever executed: weights are read as safetensors only, and every setting is
checked. config.json carries digests of the weights, of that record and of itself, so that edits are noticed; change it
with `write_config` only.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from epir.core.config import digest, from_dict, to_dict
from epir.core.errors import CheckpointError, ConfigError
from epir.core.files import check_regular, file_digest, read_json, utf8_name, write_bytes, write_text
from epir.core.output import MODEL, new_folder
from epir.core.words import counted
from epir.models.registry import Source, build, method_for, settings_from_dict
from epir.models.schema import FIX, check_config
from epir.models.seen import HASHES, RECORD, Seen, read_seen, record_digest, write_seen
from epir.models.settings import NAMED, SHIPPED
from epir.models.units import UnitHead

if TYPE_CHECKING:
    from epir.models.network import Network

FORMAT = "epir-model/2"
WEIGHTS = "model.safetensors"
PICKLES = ("pytorch_model.bin", "model.pt", "model.pth", "model.pkl")
HEAD = "head"  # the classifier layer of a network
UNIT_HEAD = "unit_head."  # prefix of the action-unit weights
FREE = ("classes", "normalise", "dropout", "margin", "contrastive")  # weights also fit a model that differs in these
HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")  # owner/name


@dataclass(frozen=True)
class ModelConfig:
    """The content of `config.json`: settings, class names, and notes on training and calibration."""

    settings: Mapping[str, Any]
    labels: tuple[str, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)  # flow recipe, calibration, scores, ...
    units: tuple[int, ...] = ()  # the action units of the unit head; empty without one
    weights: str = ""  # the digest of model.safetensors
    source: Source | None = None  # the code that the model needs; None: part of epir

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes, numbered if the folder has no names."""
        return self.labels or tuple(f"class {number}" for number in range(int(self.settings.get("classes", 0))))

    @property
    def map_size(self) -> int:
        """The size of its maps in pixels."""
        return int(self.settings.get("map_size", 28))

    @property
    def views(self) -> dict[str, Any]:
        """The test-time copies to average over, as arguments of `predict_maps`."""
        return {"mirror": bool(self.notes.get("mirror", True)), "shift": int(self.notes.get("shift", 0))}


# ---------------------------------------------------------------------------------------------------------- find


def shipped_folder() -> Path:
    """Return the model folder that comes with the package."""
    return Path(str(files("epir"))) / "weights"


def find_folder(name: str | Path | None = None) -> Path:
    """Return the model folder `name`: the shipped one (`shipped` or None), a path, or `owner/name` on the hub."""
    if name is None or Path(name) == SHIPPED:
        if not (shipped_folder() / WEIGHTS).exists():
            raise CheckpointError(
                "the weights that come with epir are missing", fix="install epir again, or name a model folder"
            )
        return shipped_folder()
    if Path(name).exists() or not HUB_NAME.fullmatch(str(name)):
        return Path(name)
    return _download(str(name))


def _download(name: str) -> Path:
    """Download `owner/name` from the Hugging Face hub, or return the cached copy."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, allow_patterns=["config.json", WEIGHTS, "README.md", RECORD, HASHES]))
    except LocalEntryNotFoundError:
        problem = "the Hugging Face hub cannot be reached"
    except HfHubHTTPError:
        problem = "the Hugging Face hub has no public model of that name"
    raise CheckpointError(
        f"there is no model folder {name}, and {problem}",
        fix="check the path or the name; epir train writes a model folder",
    )


# --------------------------------------------------------------------------------------------------------- write


def save_model(
    network: "Network",
    folder: str | Path,
    *,
    labels: Sequence[str] = (),
    notes: Mapping[str, Any] | None = None,
    card: str = "",
    half: bool = False,
    seen: Seen | None = None,
    force: bool = False,
) -> Path:
    """Write a model folder atomically: settings, weights, model card, and the record of the training people.

    `half` stores the weights in half precision. `seen` is the record of the training people; without it, a network that
    was loaded and not trained since keeps its record.
    """
    config: dict[str, Any] = {
        "format": FORMAT,
        "model": to_dict(network.settings),
        "labels": list(labels),
        "notes": dict(notes or {}),
    }
    if network.source is not None:
        config["source"] = to_dict(network.source)
    if network.unit_head is not None:
        config["units"] = list(network.unit_head.units)
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}
    if half:
        weights = {name: tensor.half() if tensor.is_floating_point() else tensor for name, tensor in weights.items()}
    with new_folder(folder, MODEL, force=force) as temporary:
        write_bytes(temporary / WEIGHTS, save(weights, metadata={"format": "pt"}))
        config["weights"] = file_digest(temporary / WEIGHTS)
        (temporary / "README.md").write_text(card or default_card(config), encoding="utf-8")
        if (record := seen or network.seen) is not None:
            write_seen(temporary, record)
        write_config(temporary, config)
    return Path(folder)


def write_config(folder: Path, values: Mapping[str, Any]) -> None:
    """Write `config.json` with digests of the record of training people and of its own content."""
    text = json.dumps(sealed({**values, "seen": record_digest(folder)}), indent=2)
    write_text(folder / "config.json", text + "\n")


def sealed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a config with a digest of themselves added."""
    plain = json.loads(json.dumps({name: value for name, value in values.items() if name != "digest"}))
    return {**plain, "digest": digest(plain)}


def check_sealed(values: Mapping[str, Any], where: Path) -> None:
    """Raise an error if the values of a config changed after they were sealed."""
    if sealed(values)["digest"] != values.get("digest"):
        raise CheckpointError(
            f"{where} was changed after it was written",
            fix="restore it from a copy, or train again; predict takes --threshold, calibrate sets the temperature",
        )


def default_card(config: Mapping[str, Any]) -> str:
    """Return a model card with the settings alone, for a model saved without training notes."""
    name = config["model"].get("name", "epir")
    labels = ", ".join(config["labels"]) or "not named"
    rows = "\n".join(f"| `{key}` | {value} |" for key, value in config["model"].items())
    return (
        f"---\nlibrary_name: epir\ntags: [micro-expression]\n---\n\n# {name}\n\n"
        f"A model of epir for micro-expression maps. Classes: {labels}.\n\n"
        f"| setting | value |\n|---|---|\n{rows}\n"
    )


# ---------------------------------------------------------------------------------------------------------- read


def read_config(folder: str | Path) -> ModelConfig:
    """Read and validate the `config.json` of a model folder."""
    folder = Path(folder)
    path = folder / "config.json"
    if not folder.is_dir():
        raise CheckpointError(f"there is no model folder {folder}", fix="check the path, or make one with epir train")
    try:
        config = read_json(path, error=CheckpointError, fix=FIX)
    except FileNotFoundError:
        raise CheckpointError(
            f"{folder} is not a model folder: it has no config.json", fix="make one with epir train"
        ) from None
    version = config.get("format")
    if version != FORMAT:
        raise CheckpointError(
            f"{path} has the format {version!r}, but this version of epir reads {FORMAT!r}",
            fix="install the version of epir that wrote it, or train again",
        )
    check_config(config, path)
    if not config.get("weights"):
        raise CheckpointError(f"{path} lacks the digest of the weights", fix=FIX)
    check_sealed(config, path)
    if (folder / RECORD).exists() and record_digest(folder) != config.get("seen"):
        raise CheckpointError(
            f"{RECORD} and {HASHES} in {folder} do not match config.json",
            fix="copy the whole folder again, or train again",
        )
    return ModelConfig(
        settings=config["model"],
        labels=tuple(config.get("labels", ())),
        notes=config.get("notes", {}),
        units=tuple(config.get("units", ())),
        weights=config["weights"],
        source=from_dict(Source, config["source"], section="source") if "source" in config else None,
    )


def read_settings(folder: str | Path) -> Any:
    """Read the settings of the network in a model folder."""
    return _settings(read_config(folder), folder)


def _settings(config: ModelConfig, folder: str | Path) -> Any:
    try:
        return settings_from_dict(config.settings, config.source)
    except ConfigError as error:
        raise CheckpointError(
            f"{Path(folder) / 'config.json'} cannot be used: {error.problem}",
            fix="install the version of epir that wrote it, or train again",
        ) from None


def load_network(folder: str | Path) -> "Network":
    """Load the network of a model folder, ready to predict."""
    from epir.models.network import Network

    config = read_config(folder)
    if config.source is None:
        network = build(_settings(config, folder))
    else:
        network = _build_named(config.source, config.settings, Path(folder))
    assert isinstance(network, Network), "estimators have no model folder"
    weights = _read_weights(Path(folder), config)
    network.unit_head = _empty_unit_head(weights, config.units)
    _check_shapes(network.state_dict(), weights, Path(folder) / WEIGHTS, config.source)
    network.load_state_dict(weights)
    network.seen = read_seen(folder)
    return network.eval()


def _build_named(source: Source, values: Mapping[str, Any], folder: Path) -> Any:
    """Build a network from the user's code; settings added to the code since then get their defaults."""
    method = method_for(source, folder)
    try:
        return method.build(method.with_settings(**values))
    except ConfigError as error:
        raise CheckpointError(
            f"{source.reference} cannot be built with the settings in {folder}: {error.problem}",
            fix="restore the code that trained these weights",
        ) from None


def _empty_unit_head(weights: Mapping[str, Tensor], units: tuple[int, ...]) -> UnitHead | None:
    """Return a unit head of the size of these weights, or None if they include none."""
    width = weights.get(f"{UNIT_HEAD}norm.weight")
    return UnitHead(len(width), units) if units and width is not None else None


def weights_digest(folder: Path) -> str:
    """Return the digest of a model folder's weights; raise an error if it is not a model folder."""
    read_config(folder)
    path = Path(folder) / WEIGHTS
    try:
        check_regular(path, error=CheckpointError, fix=FIX)
    except FileNotFoundError:
        raise _no_weights(path) from None
    return file_digest(path)


def _read_weights(folder: Path, config: ModelConfig) -> dict[str, Tensor]:
    """Read the weights of a model folder as float32."""
    path = folder / WEIGHTS
    try:
        check_regular(path, error=CheckpointError, fix=FIX)
        with utf8_name(path) as name:
            weights = load_file(name)
    except FileNotFoundError:
        raise _no_weights(path) from None
    except (SafetensorError, OSError, KeyError, ValueError, TypeError) as error:  # KeyError: a type unknown to torch
        raise CheckpointError(
            f"{path} is not a complete safetensors file: {error}",
            fix="it may be truncated: copy it again, or train again",
        ) from None
    broken = next((name for name, tensor in weights.items() if not bool(tensor.float().isfinite().all())), None)
    if broken is not None:
        raise CheckpointError(
            f"{path}: the weights {broken!r} hold NaN or infinity",
            fix="its training diverged: train again with a lower rate, or restore the file from a copy",
        )
    if config.weights != file_digest(path):
        raise CheckpointError(
            f"{path} does not match config.json",
            fix="copy the whole folder again, or train again",
        )
    return {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in weights.items()}


def _no_weights(path: Path) -> CheckpointError:
    pickles = [name for name in PICKLES if (path.parent / name).exists()]
    if pickles:
        return CheckpointError(
            f"{path.parent} holds its weights as a pickle ({pickles[0]}), which can run code and is never opened",
            fix="save it again with save_pretrained, which writes model.safetensors",
        )
    return CheckpointError(
        f"{path.parent} has no {path.name}", fix="give a model folder written by epir train, or train again"
    )


def _check_shapes(
    state: Mapping[str, Tensor], weights: Mapping[str, Tensor], path: Path, source: Source | None = None
) -> None:
    fix = "use the config.json and model.safetensors of the same model"
    if source is not None:
        fix = f"restore the version of {source.reference} that trained these weights"
    for name, tensor in state.items():
        if name not in weights:
            raise CheckpointError(f"{path} lacks the weights {name!r}", fix=fix)
        if weights[name].shape != tensor.shape:
            raise CheckpointError(
                f"{path}: {name!r} is {tuple(weights[name].shape)}, the model needs {tuple(tensor.shape)}", fix=fix
            )
    for name in weights:
        if name not in state:
            raise CheckpointError(f"{path} has weights {name!r} that the model does not know", fix=fix)


# ------------------------------------------------------------------------------------------------ start from one


def can_start(settings: Any, folder: Path) -> bool:
    """Whether a model with these settings can start from the weights of a model folder."""
    if not (folder / WEIGHTS).exists():
        return False
    mine, theirs = to_dict(settings), to_dict(read_settings(folder))
    free = {*FREE, *({"name"} if settings.name in NAMED and theirs["name"] in NAMED else ())}  # presets of one network
    return all(mine.get(name) == theirs.get(name) for name in mine.keys() | theirs.keys() if name not in free)


def start_from(model: "Network", start: str | Path, classes: Sequence[str]) -> bool:
    """Copy the weights of a model folder into the model; return whether that includes the classifier head.

    The head is copied if it was trained for the same `classes` in the same order; otherwise the model keeps its random
    head. The head for action units is copied if the folder has one.
    """
    folder = find_folder(start)
    path, config = folder / WEIGHTS, read_config(folder)
    weights = _read_weights(folder, config)
    model.unit_head = _empty_unit_head(weights, config.units)
    state = model.state_dict()
    mismatched_keys = sorted(state.keys() ^ weights.keys())
    if mismatched_keys:
        raise CheckpointError(
            f"{path} holds the weights of another model: {counted(len(mismatched_keys), 'name')} not in both, "
            f"for example {mismatched_keys[0]!r}",
            fix=f"start from a model folder of {model.settings.name!r} with the same settings",
        )
    with_head = _same_classes(config, classes)
    copied = {
        name: tensor
        for name, tensor in weights.items()
        if with_head or not _is_head(name, tensor, state[name], len(config.classes), len(classes))
    }
    for name, tensor in copied.items():
        if tensor.shape != state[name].shape:
            raise CheckpointError(
                f"{path} does not fit: its {name} is {tuple(tensor.shape)}, the model's is {tuple(state[name].shape)}",
                fix="use the sizes of that model, for example its map size and width",
            )
    model.load_state_dict(state | {name: tensor.to(state[name].dtype) for name, tensor in copied.items()})
    return with_head


def _is_head(name: str, theirs: Tensor, mine: Tensor, classes_there: int, classes: int) -> bool:
    """Whether these weights belong to the classifier, by name or, in a user's module, by size."""
    if name.removeprefix("module.").split(".")[0] == HEAD:
        return True
    sizes = (theirs.shape[:1], mine.shape[:1])
    return name.startswith("module.") and sizes == ((classes_there,), (classes,)) and classes != classes_there


def check_fits(folder: Path, *, classes: Sequence[str], map_size: int) -> None:
    """Raise an error if the weights were trained for other classes or another map size."""
    config = read_config(folder)
    settings = _settings(config, folder)
    if not _same_classes(config, classes):
        theirs = ", ".join(config.labels) or f"{settings.classes} classes"
        raise CheckpointError(
            f"the weights in {folder} classify {theirs}, but the protocol has {', '.join(classes)}",
            fix="choose the protocol they were trained for, or other weights",
        )
    if settings.map_size != map_size:
        raise CheckpointError(
            f"the weights in {folder} are for {settings.map_size} px maps, but the map set has {map_size} px",
            fix=f"prepare the maps with --size {settings.map_size}",
        )


def _same_classes(config: ModelConfig, classes: Sequence[str]) -> bool:
    """Whether a model folder's head is for these classes, by number alone if the folder has no class names."""
    return config.labels == tuple(classes) if config.labels else config.settings.get("classes") == len(classes)
