"""Where the pictures come from: the map sets of a run, and the frames beside them if they are at hand."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from epir.core.errors import EpirError, MapSetError
from epir.core.records import Clip
from epir.evaluation.store import Run
from epir.maps.mapset import MapSet, load_maps

FACE_SIZE = 168  # pixels; a multiple of every usual grid of patches


@dataclass(frozen=True)
class Sources:
    """The maps of a run's clips by the clips' names; `note` says what is missing."""

    places: dict[str, tuple[MapSet, int]]
    note: str = ""

    def map_of(self, key: str) -> np.ndarray | None:
        """The (3, S, S) map of a clip, if it is at hand."""
        if key not in self.places:
            return None
        mapset, row = self.places[key]
        return np.asarray(mapset.maps[row])

    def face_of(self, key: str) -> np.ndarray | None:
        """The face at the apex, (168, 168, 3) uint8, if the frames are at hand."""
        if key not in self.places:
            return None
        mapset, row = self.places[key]
        return apex_face(mapset.clips[row], mapset.folder)


def find_sources(run: Run, folders: Sequence[str | Path] = ()) -> Sources:
    """The run's maps: in the folders given, or else where the run found them, if they are still there and the same.

    Folders that the user gives must hold the run's maps; remembered ones that do not are left out with a note.
    """
    sets = [load_maps(folder, verify=False) for folder in folders] or _remembered(run)
    wanted = set(run.experiment.maps)
    for mapset in sets:
        if folders and mapset.digest not in wanted:
            raise MapSetError(
                f"{mapset.folder} does not hold the maps that {run.folder} was made with",
                fix="give the map sets of the run, or leave --maps out",
            )
    fitting = [mapset for mapset in sets if mapset.digest in wanted]
    places = {clip.key: (mapset, row) for mapset in fitting for row, clip in enumerate(mapset.clips)}
    missing = len(wanted) - len({mapset.digest for mapset in fitting})
    if not missing:
        return Sources(places)
    what = "The map set is" if len(wanted) == 1 else f"{missing} of {len(wanted)} map sets are"
    return Sources(places, note=f"{what} not at hand, so pictures are left out; give it with --maps.")


def apex_face(clip: Clip, folder: Path | None) -> np.ndarray | None:
    """The face of a clip at its apex, cut out as its map was; nothing where the frames are not at hand."""
    from epir.faces.align import Crop
    from epir.frames.reader import open_frames

    frames, crop = clip.extra.get("frames"), clip.extra.get("crop")
    if not frames or not crop or clip.apex is None:
        return None
    places = [Path(frames), *([folder / frames] if folder else [])]
    path = next((place for place in places if place.exists()), None)
    if path is None:
        return None
    try:
        with open_frames(path) as opened:
            return Crop.from_text(crop).apply(opened.read(clip.apex), FACE_SIZE)
    except EpirError:
        return None  # a picture less; the report is about the run, not about its frames


def _remembered(run: Run) -> list[MapSet]:
    """The map sets in the folders that the run's environment names, as far as they can still be opened."""
    found = []
    for entry in run.environment.get("maps", ()):
        place = entry.get("folder") if isinstance(entry, dict) else None
        if place and (run.folder / place / "meta.json").exists():  # told relative to the run
            found.append(load_maps(run.folder / place, verify=False))
    return found
