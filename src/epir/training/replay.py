"""Synthetic clips that accompany the clips of a fold in its batches, so that what the start knew is not unlearnt.

They are drawn as displacement fields (`epir.synthetic.direct`), which takes seconds; every process makes the same ones,
once. Nobody real is in them, so nothing can leak.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from epir.core.errors import ConfigError

if TYPE_CHECKING:
    from epir.training.data import LabelledMaps

SEED = 700_000  # other people than in any corpus made with a usual seed
SCALELESS = ("map", "squash")  # normalisations under which synthetic and real maps are of one scale


def find_company(count: int, classes: Sequence[str], model: Any) -> "LabelledMaps | None":
    """So many synthetic clips for a model of these settings; none where 0 are asked for or the classes are others."""
    number = _list_of(tuple(classes))
    if not count or number is None:
        return None
    if model.normalise not in SCALELESS:
        raise ConfigError(
            f"synthetic clips are of another scale, which model.normalise={model.normalise} does not take away",
            fix="set training.company=0, or model.normalise=map",
        )
    return _make(count, number, tuple(classes), model.map_size)


@lru_cache(maxsize=1)
def _make(count: int, number: int, classes: tuple[str, ...], size: int) -> "LabelledMaps":
    from epir.synthetic.maps import DIRECT, synthetic_maps
    from epir.training.data import LabelledMaps

    made = synthetic_maps(count, DIRECT, seed=SEED, classes=number, size=size)
    return LabelledMaps.of(made.maps, [clip.emotion for clip in made.clips], classes)


def _list_of(classes: tuple[str, ...]) -> int | None:
    """The list of emotions that has just these words."""
    from epir.synthetic.expressions import expression_table

    fitting = [number for number, words in expression_table().items() if set(words) == set(classes)]
    return fitting[0] if fitting else None
