"""Estimators: methods that train themselves, with scikit-learn's `fit` and `predict_proba`.

A scikit-learn estimator sees each map as one row of numbers; any other object sees maps (n, 3, S, S). If `fit` or
`predict_proba` has an argument `clips`, `groups` (the person of each clip) or `seed`, it is passed. `fit` never sees a
held-out clip.

Axes: n clips, S map size, C classes
"""

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import softmax

from epir.core.errors import ConfigError, ShapeError, TrainingError
from epir.core.records import Clip
from epir.models.arguments import trains_itself

MOST_SEED = 2**32  # scikit-learn takes seeds of 32 bits


class Estimator:
    """A fresh, unfitted copy of an estimator; its scores have one column per class of the protocol."""

    def __init__(self, estimator: Any, settings: Any) -> None:
        self.settings = settings
        self.estimator = _fresh(estimator)
        _check_contract(self.estimator, settings.name)

    def fit(self, maps: np.ndarray, labels: np.ndarray, *, seed: int = 0, clips: Sequence[Clip] = ()) -> None:
        """Train on maps (n, 3, S, S) float32 with labels (n,), the class numbers."""
        name = self.settings.name
        self._check(maps)
        labels = np.asarray(labels)
        if len(np.unique(labels)) < 2:
            raise TrainingError(
                f"{name} got training clips of one class only", fix="train on clips of two or more classes"
            )
        _set_seed(self.estimator, seed % MOST_SEED)
        optional = {"clips": clips, "groups": [clip.person for clip in clips], "seed": seed % MOST_SEED}
        _guarded(name, "fit", self.estimator.fit, self._rows(maps), labels, **_accepted(self.estimator.fit, optional))

    def predict(self, maps: np.ndarray, *, clips: Sequence[Clip] = ()) -> tuple[np.ndarray, np.ndarray]:
        """Return the class (n,) of each map and its scores (n, C), which are 0 for classes that `fit` never saw."""
        self._check(maps)
        if not len(maps):
            return np.zeros(0, dtype=np.int64), np.zeros((0, self.settings.classes))
        scores = self._scores(maps, clips)
        if not hasattr(self.estimator, "predict") or not _is_scikit_learn(self.estimator):
            return scores.argmax(axis=1), scores
        classes = np.asarray(_guarded(self.settings.name, "predict", self.estimator.predict, self._rows(maps)))
        if classes.shape != (len(maps),):
            raise ShapeError(
                f"{self.settings.name}: predict gave {classes.shape} for {len(maps)} maps",
                fix="let it return one class per map",
            )
        return classes.astype(np.int64), scores

    def _scores(self, maps: np.ndarray, clips: Sequence[Clip]) -> np.ndarray:
        name, rows = self.settings.name, self._rows(maps)
        optional = {"clips": clips, "groups": [clip.person for clip in clips]}
        if hasattr(self.estimator, "predict_proba"):
            call = self.estimator.predict_proba
            answers = _guarded(
                name, "predict_proba", lambda: np.asarray(call(rows, **_accepted(call, optional)), float)
            )
        else:  # a support vector machine, for example
            answers = np.asarray(_guarded(name, "decision_function", self.estimator.decision_function, rows))
            answers = decision_scores(answers)
        columns = np.asarray(getattr(self.estimator, "classes_", np.arange(self.settings.classes))).astype(int)
        if answers.shape != (len(maps), len(columns)):
            raise ShapeError(
                f"{name} gave scores of the shape {answers.shape} for {len(maps)} maps and {len(columns)} classes",
                fix="let predict_proba give one row per map and one column per class",
            )
        if not np.isfinite(answers).all():
            raise TrainingError(f"{name} gave scores that are not finite", fix="check the settings of the method")
        scores = np.zeros((len(maps), self.settings.classes))
        scores[:, columns] = answers
        return scores

    def _rows(self, maps: np.ndarray) -> np.ndarray:
        return maps.reshape(len(maps), -1) if _wants_rows(self.estimator) else maps

    def _check(self, maps: np.ndarray) -> None:
        size = self.settings.map_size
        if maps.ndim != 4 or maps.shape[1:] != (3, size, size):
            raise ShapeError(
                f"{self.settings.name} takes maps (n, 3, {size}, {size}) but got {maps.shape}",
                fix=f"prepare the maps with --size {size}, or set model.map_size",
            )
        if not np.isfinite(maps).all():
            raise ShapeError("a map holds NaN or infinity", fix="look at the frames of that clip, and prepare it again")


def decision_scores(decisions: np.ndarray) -> np.ndarray:
    """Turn the output of a `decision_function` into scores (n, C) that sum to 1.

    With two classes scikit-learn gives a single number (n,), for the second class.
    """
    if decisions.ndim == 1:
        decisions = np.stack([-decisions, decisions], axis=1)
    return np.asarray(softmax(decisions, axis=1))


def parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters of a scikit-learn estimator, its steps included, that can be written as settings."""
    if not hasattr(estimator, "get_params"):
        return {}
    values = estimator.get_params(deep=True)
    return {name: value for name, value in values.items() if value is None or type(value) in (bool, int, float, str)}


def _fresh(estimator: Any) -> Any:
    if _is_scikit_learn(estimator):
        from sklearn.base import clone

        return clone(estimator)
    return copy.deepcopy(estimator)


def _is_scikit_learn(estimator: Any) -> bool:
    return hasattr(estimator, "get_params") and hasattr(estimator, "set_params")


def _wants_rows(estimator: Any) -> bool:
    if not _is_scikit_learn(estimator):
        return False
    if not hasattr(estimator, "__sklearn_tags__"):
        return True
    return bool(estimator.__sklearn_tags__().input_tags.two_d_array)


def _set_seed(estimator: Any, seed: int) -> None:
    if _is_scikit_learn(estimator):
        names = [name for name in estimator.get_params(deep=True) if name.split("__")[-1] == "random_state"]
        if names:
            estimator.set_params(**dict.fromkeys(names, seed))


def _check_contract(estimator: Any, name: str) -> None:
    if not trains_itself(estimator):
        raise ConfigError(f"{name} has no fit", fix="give a torch module, or an object with fit and predict_proba")
    if not hasattr(estimator, "predict_proba") and not hasattr(estimator, "decision_function"):
        raise ConfigError(
            f"{name} has no predict_proba",
            fix="give it predict_proba(maps), one column per class; or wrap it in CalibratedClassifierCV",
        )


def _accepted(function: Callable[..., Any], optional: dict[str, Any]) -> dict[str, Any]:
    """Return the optional arguments that the function accepts."""
    names = inspect.signature(function).parameters
    return {name: value for name, value in optional.items() if name in names}


def _guarded(name: str, verb: str, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Call the user's code; re-raise what it raises for bad data as an error that names the method."""
    try:
        return function(*arguments, **named)
    except (ValueError, TypeError) as error:
        lines = str(error).strip().splitlines()
        raise TrainingError(
            f"{name}: {verb} failed: {lines[0] if lines else type(error).__name__}",
            fix=f"call {verb} on some maps yourself to see the traceback",
        ) from error
