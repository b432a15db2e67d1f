"""A model folder or an ONNX file -> an engine, and the flow recipe that its maps are made with."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from epir.core.config import from_dict
from epir.core.errors import CheckpointError, ConfigError
from epir.evaluation.zero_shot import find_weights
from epir.flow.recipe import Recipe
from epir.recognition.engine import Engine, OnnxEngine, TorchEngine, recipe_values


def find_model(folder: str | Path | None) -> Path:
    """The model that the user named, or the shipped one."""
    if folder is not None:
        return Path(folder)
    try:
        return find_weights(None)
    except CheckpointError:
        raise CheckpointError(
            "the weights that come with epir are missing", fix="install epir again, or name a model folder (--model)"
        ) from None


def read_recipe(notes: Mapping[str, Any]) -> Recipe:
    """The flow recipe that a model's maps were made with; that of epir where its folder does not say."""
    known = {each.name for each in fields(Recipe)}
    values = {name: value for name, value in recipe_values(notes).items() if name in known}
    try:
        return from_dict(Recipe, values, section="recipe") if "flow" in values else Recipe()
    except ConfigError as error:
        raise CheckpointError(
            f"the flow recipe of this model cannot be used: {error.problem}",
            fix="install the version of epir that wrote the model, or correct notes.recipe in its config.json",
        ) from None


def open_engine(path: Path, engine: str | None = None) -> Engine:
    """The engine for a model: ONNX Runtime for an ONNX file or where it is asked for, else torch."""
    if path.suffix == ".onnx":
        if engine == "torch":
            raise ConfigError(f"torch cannot run {path}", fix="give the model folder, or leave out the engine")
        if not path.is_file():
            raise CheckpointError(f"there is no file {path}", fix="write it with epir export MODEL --out FILE.onnx")
        return OnnxEngine(path)
    if engine != "onnx":
        return TorchEngine(path)
    exported = path / "model.onnx"
    if not exported.exists():
        raise CheckpointError(f"{path} has no model.onnx", fix=f"write it with epir export {path} --out {exported}")
    return OnnxEngine(exported)
