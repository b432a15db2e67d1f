"""Validation of a model's `config.json`: the type and range of every field that epir reads."""

import math
from collections.abc import Mapping
from typing import Any, NoReturn

from epir.core.errors import CheckpointError

COLDEST, HOTTEST = 0.01, 100.0  # temperatures; fitted ones stay well inside
MOST_SHIFT = 8  # px, of test-time copies
MOST_CLASSES = 10_000
LARGEST_UNIT = 99
FIX = "restore it from a copy, install the version of epir that wrote it, or train again"


def check_config(values: Mapping[str, Any], where: object) -> None:
    """Raise an error if a field has the wrong type or is out of range; unknown fields are ignored."""
    settings, labels = values.get("model"), values.get("labels", [])
    if not isinstance(settings, dict):
        raise CheckpointError(f"{where} has no model settings", fix=FIX)
    classes = settings.get("classes", 2)
    if not _whole(classes, 2, MOST_CLASSES):
        _fail(where, "model.classes", classes, f"a whole number from 2 to {MOST_CLASSES}")
    if not isinstance(labels, list) or not all(isinstance(each, str) and each for each in labels):
        _fail(where, "labels", labels, "a list of names")
    if len(set(labels)) < len(labels) or (labels and "classes" in settings and len(labels) != classes):
        _fail(where, "labels", labels, f"{classes} different names, one for each class")
    units = values.get("units", [])
    if not isinstance(units, list) or not all(_whole(each, 1, LARGEST_UNIT) for each in units):
        _fail(where, "units", units, "a list of action unit numbers")
    if len(set(units)) < len(units):
        _fail(where, "units", units, "a list of distinct action units")
    if not isinstance(weights := values.get("weights", ""), str):
        _fail(where, "weights", weights, "the digest of the weights")
    notes = values.get("notes", {})
    if not isinstance(notes, dict):
        _fail(where, "notes", notes, "an object")
    _check_notes(notes, where)


def _check_notes(notes: Mapping[str, Any], where: object) -> None:
    ranges = {"temperature": (COLDEST, HOTTEST), "highest": (0.5, 1), "threshold": (0, 1)}
    for name, (least, most) in ranges.items():
        if not _number(notes.get(name, 1.0), least, most):
            _fail(where, f"notes.{name}", notes[name], f"a number from {least:g} to {most:g}")
    if not isinstance(mirror := notes.get("mirror", True), bool):
        _fail(where, "notes.mirror", mirror, "true or false")
    if not _whole(shift := notes.get("shift", 0), 0, MOST_SHIFT):
        _fail(where, "notes.shift", shift, f"a whole number from 0 to {MOST_SHIFT}")
    for name in ("recipe", "calibration", "data", "strict", "training", "units", "real_people"):
        if notes.get(name) is not None and not isinstance(notes[name], dict):
            _fail(where, f"notes.{name}", notes[name], "an object")
    recipes = (notes.get("recipe") or {}).get("recipes", [])
    if not isinstance(recipes, list) or not all(isinstance(recipe, dict) for recipe in recipes):
        _fail(where, "notes.recipe.recipes", recipes, "a list of objects")
    if not isinstance(corpora := (notes.get("data") or {}).get("corpora", {}), dict):
        _fail(where, "notes.data.corpora", corpora, "an object")
    _check_units(notes.get("units") or {}, where)
    bins = (notes.get("real_people") or {}).get("reliability", [])
    if not isinstance(bins, list | tuple) or not all(_is_bin(each) for each in bins):
        _fail(where, "notes.real_people.reliability", bins, "a list of ranges with low, high, clips and right")


def _check_units(units: Mapping[str, Any], where: object) -> None:
    for name in ("present", "side"):
        pair = units.get(name)
        if pair is not None and not (isinstance(pair, list) and len(pair) == 2 and all(map(_number, pair))):
            _fail(where, f"notes.units.{name}", pair, "two finite numbers")
    if not _number(margin := units.get("side_margin", 1.0)):
        _fail(where, "notes.units.side_margin", margin, "a finite number")
    thresholds = units.get("thresholds", {})
    if not isinstance(thresholds, dict) or not all(
        unit.isdecimal() and len(unit) < 4 and _number(value, 0, 1) for unit, value in thresholds.items()
    ):
        _fail(where, "notes.units.thresholds", thresholds, "a number from 0 to 1 for each action unit")


def _is_bin(values: Any) -> bool:
    names = {"low", "high", "clips", "right"}
    return isinstance(values, dict) and values.keys() == names and all(map(_number, values.values()))


def _number(value: Any, least: float = -1e9, most: float = 1e9) -> bool:
    """Whether this is a finite number in a range; booleans are not numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return least <= value <= most and math.isfinite(value)


def _whole(value: Any, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _fail(where: object, name: str, value: Any, expected: str) -> NoReturn:
    shown = repr(value) if not isinstance(value, int) or abs(value) < 10**24 else "a very large number"
    raise CheckpointError(f"{where}: {name} is {shown[:100]}, not {expected}", fix=FIX)
