"""Map sets of the same clips, made in different ways, side by side: one map set of several views.

Axes: n clips, V views, S map size
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from epir.core.config import digest
from epir.core.errors import MapSetError
from epir.core.output import MAP_SET, new_folder
from epir.core.records import Clip
from epir.maps.mapset import FRAME_PAIRS, MapSet, finish_maps, load_maps, new_maps
from epir.maps.views import MOST_VIEWS, pairs_text


def join_maps(
    folders: Sequence[str | Path], out: str | Path, *, reverse: Sequence[str | Path] = (), force: bool = False
) -> MapSet:
    """Write the maps of the same clips as one map set, a view for each of the given sets, in their order.

    Clips are matched by name; those of the first set say their classes and everything else. The sets named in `reverse`
    show the movement backwards, as flow of its return does: the signs of their u and v are turned.
    """
    given, turned = [Path(each) for each in folders], {Path(each) for each in reverse}
    sets = [load_maps(each) for each in given]
    for each in turned - set(given):
        raise MapSetError(f"{each} is not one of the map sets to join", fix="name it among them, too")
    rows = [_rows(sets[0], each) for each in sets]
    names = _names(sets)
    if not 2 <= len(names) <= MOST_VIEWS:
        raise MapSetError(
            f"{len(names)} views cannot be joined", fix=f"give map sets of 2 to {MOST_VIEWS} views in all"
        )
    shape = (len(sets[0]), len(names), *sets[0].maps.shape[-3:])
    with new_folder(out, MAP_SET, force=force, inputs=given, needs=4 * int(np.prod(shape))) as folder:
        maps = new_maps(folder / "maps.npy", shape)
        for number, clip_rows in enumerate(zip(*rows, strict=True)):
            parts = (each.maps[row] for each, row in zip(sets, clip_rows, strict=True))
            maps[number] = np.concatenate(
                [_turned(_as_views(part), place in turned) for part, place in zip(parts, given, strict=True)]
            )
        maps.flush()
        del maps
        finish_maps(folder, list(_clips(sets, rows)), recipe=_recipe(sets, given, turned), views=names)
    return load_maps(out, verify=False)


def _as_views(maps: np.ndarray) -> np.ndarray:
    return maps if maps.ndim == 4 else maps[None]  # (V, 3, S, S)


def _turned(maps: np.ndarray, reverse: bool) -> np.ndarray:
    """The maps (V, 3, S, S) of the movement backwards; a channel that was stretched to 0..1 is reflected in its middle.

    That is exact where the zero level was in the middle; a network that standardises its maps sees the same either way.
    """
    if not reverse:
        return maps
    motion = maps[:, :2]
    low, high = motion.min(axis=(2, 3), keepdims=True), motion.max(axis=(2, 3), keepdims=True)
    return np.concatenate([np.where(low < 0, 0, low + high) - motion, maps[:, 2:]], axis=1)


def _rows(first: MapSet, other: MapSet) -> list[int]:
    """Where each clip of the first set is in another one, which must have the same clips, classes and size."""
    places = {clip.key: row for row, clip in enumerate(other.clips)}
    absent = [clip.key for clip in first.clips if clip.key not in places]
    if absent or len(places) != len(first):
        missing = absent or sorted(places.keys() - {clip.key for clip in first.clips})
        where = (first.folder, other.folder) if absent else (other.folder, first.folder)
        raise MapSetError(
            f"the clip {missing[0]} is in {where[0]} but not in {where[1]} ({len(missing)} such clips)",
            fix="join map sets of the same clips; leave out the others first",
        )
    if first.size != other.size:
        raise MapSetError(
            f"{first.folder} has {first.size} px maps, {other.folder} has {other.size} px",
            fix=f"prepare both with the same --size, for example --size {first.size}",
        )
    rows = [places[clip.key] for clip in first.clips]
    for clip, row in zip(first.clips, rows, strict=True):
        if other.clips[row].emotion != clip.emotion:
            raise MapSetError(
                f"{clip.key} is {clip.emotion!r} in {first.folder} and {other.clips[row].emotion!r} in {other.folder}",
                fix="correct the emotion in one of them",
            )
    return rows


def _names(sets: Sequence[MapSet]) -> list[str]:
    """The folder of each view, and the view's own name where a set has several."""
    names = []
    for each in sets:
        home = each.folder.name if each.folder is not None else "maps"
        names += [home] if each.views == 1 else [f"{home}/{view}" for view in each.view_names]
    if len(set(names)) == len(names):
        return names
    return [f"{number}:{name}" for number, name in enumerate(names, start=1)]


def _clips(sets: Sequence[MapSet], rows: Sequence[Sequence[int]]) -> Iterator[Clip]:
    """The clips of the first set, with the frame pairs of all views where any is known."""
    for number, clip in enumerate(sets[0].clips):
        pairs = ";".join(_pairs(each.clips[row[number]], each.views) for each, row in zip(sets, rows, strict=True))
        extra = {name: value for name, value in clip.extra.items() if name != FRAME_PAIRS}
        yield replace(clip, extra={**extra, FRAME_PAIRS: pairs} if pairs.strip(";") else extra)


def _pairs(clip: Clip, views: int) -> str:
    if views > 1:
        return clip.extra.get(FRAME_PAIRS, ";" * (views - 1))
    known = clip.onset is not None and clip.apex is not None
    return pairs_text([(clip.onset, clip.apex) if known else None])  # type: ignore[list-item]


def _recipe(sets: Sequence[MapSet], given: Sequence[Path], turned: set[Path]) -> Mapping[str, Any]:
    """How each part was made, for meta.json."""
    parts = [
        {**each.meta["recipe"], "maps": each.digest, "reversed": place in turned}
        for each, place in zip(sets, given, strict=True)
    ]
    return {"name": "joined", "recipes": parts, "digest": digest(parts)}
