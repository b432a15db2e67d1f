"""Synthetic replay: synthetic clips in every batch, so that what the first weights knew is not unlearnt.

They are drawn as displacement fields (`epir.synthetic.direct`), within seconds; every process makes the same ones,
once. There is no real person in them, so nothing can leak.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from epir.core.errors import ConfigError
from epir.training.data import LabelledMaps

SEED = 700_000  # other people than in any corpus made with a usual seed
SCALELESS = ("map", "squash")  # normalisations under which synthetic and real maps are of one scale


def synthetic_replay(count: int, classes: Sequence[str], model: Any) -> LabelledMaps | None:
    """So many synthetic clips for a model of these settings; none where 0 are asked for or the classes are others."""
    number = _list_of(tuple(classes))
    if not count or number is None:
        return None
    if model.normalise not in SCALELESS:
        raise ConfigError(
            f"synthetic clips are of another scale, which model.normalise={model.normalise} does not take away",
            fix="set training.replay=0, or model.normalise=map",
        )
    if getattr(model, "views", 1) > 1:
        raise ConfigError(
            "synthetic replay makes one map per clip, and this model takes several",
            fix="set training.replay=0, or train on synthetic clips too: epir synth --maps --views makes them",
        )
    return _make(count, number, tuple(classes), model.map_size)


def replayed_people(count: int, classes: Sequence[str]) -> frozenset[str]:
    """The names of the synthetic people in so many clips of a replay, for the record of whom weights have seen."""
    from epir.synthetic.maps import PER_PERSON, subject_name

    if not count or _list_of(tuple(classes)) is None:
        return frozenset()
    return frozenset(f"synthetic/{subject_name(SEED, number)}" for number in range(-(-count // PER_PERSON)))


@lru_cache(maxsize=1)
def _make(count: int, number: int, classes: tuple[str, ...], size: int) -> LabelledMaps:
    from epir.synthetic.maps import DIRECT, synthetic_maps

    made = synthetic_maps(count, DIRECT, seed=SEED, classes=number, size=size)
    units = [clip.extra["action_units"] for clip in made.clips]
    return LabelledMaps.of(made.maps, [clip.emotion for clip in made.clips], classes, units)


def _list_of(classes: tuple[str, ...]) -> int | None:
    """The list of emotions that has just these words."""
    from epir.synthetic.expressions import expression_table

    fitting = [number for number, words in expression_table().items() if set(words) == set(classes)]
    return fitting[0] if fitting else None
