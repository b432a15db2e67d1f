"""Move the maps of another laboratory up or down so that faces lie where the weights expect them, without labels.

Laboratories crop faces differently, but all maps of one set alike. The weights are most confident when eyes and mouth
lie as in their training maps. So each person's maps are moved by the step that gives the other people of the set the
highest mean best score; neither labels nor the person's own maps influence the choice.

Axes: n clips, S map size, K steps
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from epir.core.engines import Progress, Silent, one_thread
from epir.core.output import MAP_SET, claimed
from epir.maps.mapset import MapSet, load_maps, save_maps
from epir.models.folder import check_fits, find_folder, load_network, read_config
from epir.models.network import Network
from epir.models.predict import predict_maps
from epir.training.data import shifted

SIDE = 14  # steps per side of a map
STEPS = (0, -1, 1, -2, 2, -3, 3)  # downwards
MARGIN = 0.02  # maps are moved only if the mean best score rises by more than this


@dataclass(frozen=True)
class Aligned:
    """The written map set, and how far its maps were moved."""

    maps: MapSet
    moves: Mapping[int, int]  # steps: number of people, most frequent first
    before: float  # mean best score
    after: float


def align(
    maps: str | Path,
    out: str | Path,
    *,
    weights: str | Path | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Aligned:
    """Write the map set `maps` to `out` with its faces moved to where the weights (default: shipped) expect them."""
    folder = find_folder(weights)
    with claimed(out, MAP_SET, force=force, inputs=[maps, folder]), one_thread():
        mapset = load_maps(maps)
        check_fits(folder, classes=read_config(folder).classes, map_size=mapset.size)
        clips = torch.from_numpy(np.array(mapset.maps))  # (n, 3, S, S)
        certainty = certainties(load_network(folder), clips, progress=progress)  # (K, n)
        people = [clip.person for clip in mapset.clips]
        chosen = choose_steps(certainty, people)  # (n,) indices into STEPS
        steps = np.array(STEPS)[chosen]
        of_person = dict(zip(people, steps.tolist(), strict=True))
        moves = dict(Counter(of_person.values()).most_common())
        moved = move(clips, torch.from_numpy(steps)).numpy()
        recipe = {**mapset.meta["recipe"], "moved_down": moves}
        written = save_maps(out, moved, mapset.clips, recipe=recipe, force=force)
    after = certainty[chosen, np.arange(len(chosen))]
    return Aligned(written, moves, float(certainty[0].mean()), float(after.mean()))


def certainties(network: Network, maps: Tensor, *, progress: Progress | None = None) -> np.ndarray:
    """Return the best score (K, n) of each map (n, 3, S, S) after each step."""
    progress = progress or Silent()
    progress.start("trying steps", len(STEPS))
    scores = []
    for step in STEPS:
        moved = move(maps, torch.full((len(maps),), step))
        scores.append(predict_maps(network, moved, units=False).scores.max(1))
        progress.advance()
    progress.finish()
    return np.stack(scores)


def choose_steps(certainty: np.ndarray, people: Sequence[str]) -> np.ndarray:
    """Return the index into STEPS (n,) for each clip, by the best scores (K, n) of the other people.

    If the map set has a single person, their own scores decide.
    """
    who = np.array(people)
    chosen = np.zeros(len(who), dtype=np.int64)
    for person in np.unique(who):
        is_person = who == person
        means = certainty[:, is_person if is_person.all() else ~is_person].mean(1)  # (K,)
        best = int(means.argmax())
        chosen[is_person] = best if means[best] > means[0] + MARGIN else 0
    return chosen


def move(maps: Tensor, steps: Tensor) -> Tensor:
    """Move maps (n, 3, S, S) down by steps (n,), each a fourteenth of the side, with replicated edges."""
    pixels = (steps * maps.shape[-1] / SIDE).round().long()
    return shifted(maps, pixels, torch.zeros_like(pixels))


def step_words(step: int) -> str:
    """Describe a step in words: `moved up by 2/14 of the side`."""
    return f"moved {'down' if step > 0 else 'up'} by {abs(step)}/{SIDE} of the side" if step else "as they are"
