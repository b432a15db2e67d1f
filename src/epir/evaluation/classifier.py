"""Any model of epir as a scikit-learn classifier, for `cross_val_predict` and pipelines.

    maps = epir.load_maps("maps/casme2")
    people = [clip.person for clip in maps.clips]
    classes = [clip.emotion for clip in maps.clips]
    cross_val_predict(EpirClassifier(), maps.maps, classes, groups=people, cv=LeaveOneGroupOut())

Pass `groups`: without them, clips of one person end up in both training and test, and the score leaks. `epir.evaluate`
takes care of that, can be resumed, and writes a run; this class is for existing scikit-learn pipelines. It raises the
errors that scikit-learn expects.

Axes: n clips, S map size, C classes
"""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_array, check_X_y
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from epir.evaluation.experiment import resolve_settings
from epir.models.estimator import Estimator
from epir.models.registry import build


class EpirClassifier(ClassifierMixin, BaseEstimator):
    """A model by name, class or `FILE.py:Name`; X are maps (n, 3, S, S) of u, v and strain, y any labels.

    `recipe` is a training recipe (the default depends on the model); `changes` are settings as for `--set`:
    `EpirClassifier("epir", changes=["training.epochs=3"])`. Equal seeds give equal predictions.

    >>> from epir import synthetic_maps
    >>> maps = synthetic_maps(24, "direct")
    >>> classifier = EpirClassifier("bi-woof").fit(maps.maps, [clip.emotion for clip in maps.clips])
    >>> classifier.predict_proba(maps.maps[:2]).shape
    (2, 3)
    """

    def __init__(
        self, model: Any = "epir", recipe: str | None = None, changes: Iterable[str] = (), random_state: int = 0
    ) -> None:
        self.model = model
        self.recipe = recipe
        self.changes = changes
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Train a new model on these maps and labels."""
        from epir.training.data import LabelledMaps
        from epir.training.train import fit, new_network

        maps, labels = check_X_y(X, y, dtype=np.float32, allow_nd=True, ensure_2d=False, estimator=self)
        maps = _checked(maps)
        check_classification_targets(labels)
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError("all maps are of one class: give maps of two or more classes")
        names = [str(name) for name in self.classes_]
        resolved = resolve_settings(
            self.model, training=self.recipe, changes=self.changes, classes=len(names), map_size=maps.shape[-1]
        )
        self.training_ = resolved.training
        self.model_: Any
        if resolved.method.kind == "estimator":
            self.model_ = build(resolved.model, resolved.method)
            self.model_.fit(maps, numbers, seed=self.random_state)
        else:
            clips = LabelledMaps.of(maps, [names[number] for number in numbers], names)
            self.model_ = new_network(resolved.model, resolved.method, seed=self.random_state)
            fit(self.model_, clips, resolved.training, start=resolved.start, seed=self.random_state)
        self.size_ = maps.shape[-1]
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return probabilities (n, C) in the order of `classes_`."""
        from epir.models.predict import predict_maps

        check_is_fitted(self)
        maps = _checked(X)
        if maps.shape[-1] != self.size_:
            raise ValueError(
                f"the maps are {maps.shape[-1]} px wide, but those of fit were {self.size_} px: prepare both alike"
            )
        if isinstance(self.model_, Estimator):
            return self.model_.predict(maps)[1]
        return predict_maps(self.model_, maps, units=False, **self.training_.views).scores

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable label of each map."""
        numbers = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[numbers])

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False  # maps have four axes
        return tags


def _checked(maps: Any) -> np.ndarray:
    """Return the maps as finite float32 (n, 3, S, S), or raise `ValueError`."""
    array = check_array(maps, dtype=np.float32, allow_nd=True, ensure_2d=False)
    if array.ndim != 4 or array.shape[1] != 3 or array.shape[2] != array.shape[3]:
        raise ValueError(
            f"X has the shape {array.shape}: give maps of the shape (n, 3, S, S), which are u, v and strain"
        )
    return np.asarray(array)
