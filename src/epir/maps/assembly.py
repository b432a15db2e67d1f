"""Finished clips -> the map set, in the order of the corpus."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from epir.core.records import Clip
from epir.maps.clip import PreparedClip
from epir.maps.finished import FinishedClips
from epir.maps.left_out import LeftOut, write_left_out
from epir.maps.mapset import MapSet, finish_maps, load_maps


def write_set(
    out: Path,
    clips: Sequence[Clip],
    already: MapSet | None,
    finished: FinishedClips,
    left_out: Sequence[LeftOut],
    meta: Mapping[str, Any],
) -> MapSet:
    """Put the finished clips together, in the order of the corpus, and put the set in its place in one step."""
    absent = {clip.key for clip in left_out}
    keys = [clip.key for clip in clips if clip.key not in absent]
    earlier = {} if already is None else {clip.key: place for place, clip in enumerate(already.clips)}
    new = finished.folder / "new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    rows: list[Clip] = []
    maps: np.memmap | None = None
    for key in keys:
        done = finished.get(key)
        if done is None:
            assert already is not None, f"{key} is neither finished nor left out"
            done = PreparedClip(already.clips[earlier[key]], already.maps[earlier[key]])
        if maps is None:
            shape = (len(keys), *done.map.shape)
            maps = np.lib.format.open_memmap(new / "maps.npy", mode="w+", dtype=np.float32, shape=shape)
        maps[len(rows)] = done.map
        rows.append(done.clip)
    assert maps is not None, "a set without any map is refused before"
    maps.flush()
    del maps
    write_left_out(new, left_out)
    finish_maps(new, rows, recipe=meta)
    if out.exists():  # the same set with fewer clips, or one that --force gives up
        shutil.rmtree(out)
    new.replace(out)
    return load_maps(out, verify=False)
