"""Maps and faces of clips as small RGB pictures: find, colour and encode them.

Axes: S map size; maps are (3, S, S) float32 u, v, strain; pictures are (H, W, 3) uint8 RGB
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from epir.core.errors import EpirError, MapSetError
from epir.core.records import Clip
from epir.evaluation.store import Run
from epir.maps.mapset import MapSet, load_maps

FACE_SIZE = 168  # pixels; a multiple of all common patch grids
BLUE, ORANGE, PURPLE = (0, 114, 178), (213, 94, 0), (68, 1, 84)  # distinct for colour-blind readers


@dataclass(frozen=True)
class Sources:
    """The maps of a run's clips by clip key; `note` says what is missing."""

    places: dict[str, tuple[MapSet, int]]
    note: str = ""

    def map_of(self, key: str) -> np.ndarray | None:
        """Return the map (3, S, S) of a clip, if available."""
        if key not in self.places:
            return None
        mapset, row = self.places[key]
        return np.asarray(mapset.maps[row])

    def face_of(self, key: str) -> np.ndarray | None:
        """Return the face at the apex, (168, 168, 3) uint8, if the frames are available."""
        if key not in self.places:
            return None
        mapset, row = self.places[key]
        return apex_face(mapset.clips[row], mapset.folder)


def find_sources(run: Run, folders: Sequence[str | Path] = ()) -> Sources:
    """Find the run's maps in these folders or, by default, where the run recorded them, if unchanged.

    Folders named by the user must hold the run's maps; recorded folders that do not are skipped with a note.
    """
    sets = [load_maps(folder, verify=False) for folder in folders] or _recorded(run)
    digests = set(run.experiment.maps)
    for mapset in sets:
        if folders and mapset.digest not in digests:
            raise MapSetError(
                f"{mapset.folder} does not hold the maps of {run.folder}",
                fix="give the map sets of the run, or leave --maps out",
            )
    matching = [mapset for mapset in sets if mapset.digest in digests]
    places = {clip.key: (mapset, row) for mapset in matching for row, clip in enumerate(mapset.clips)}
    missing = len(digests) - len({mapset.digest for mapset in matching})
    if not missing:
        return Sources(places)
    what = "The map set was" if len(digests) == 1 else f"{missing} of {len(digests)} map sets were"
    return Sources(places, note=f"{what} not found, so pictures are left out; give it with --maps.")


def apex_face(clip: Clip, folder: Path | None) -> np.ndarray | None:
    """Return the face of a clip at its apex, with the crop of its map; None if the frames cannot be read."""
    from epir.faces.align import Crop
    from epir.frames.reader import open_frames, upright

    frames, crop = clip.extra.get("frames"), clip.extra.get("crop")
    if not frames or not crop or clip.apex is None:
        return None
    places = [Path(frames), *([folder / frames] if folder else [])]
    path = next((place for place in places if place.exists()), None)
    if path is None:
        return None
    try:
        with upright(open_frames(path), int(clip.extra.get("turned") or 0)) as opened:
            return Crop.from_text(crop).apply(opened.read(clip.apex), FACE_SIZE)
    except EpirError:
        return None  # a report works without this picture


def centred(channel: np.ndarray) -> np.ndarray:
    """Return a flow channel around its zero; a channel stretched to 0..1 has lost it, so its median is used."""
    return channel if channel.min() < 0 else channel - np.median(channel)


def map_pictures(flow_map: np.ndarray) -> dict[str, np.ndarray]:
    """Return the flow as colour and each channel of a map, by caption; u and v share a scale."""
    u, v = centred(flow_map[0]), centred(flow_map[1])
    limit = float(max(np.abs(u).max(), np.abs(v).max()))
    return {
        "flow": flow_picture(flow_map),
        f"u, ±{limit:.2g}": signed_picture(u, limit),
        f"v, ±{limit:.2g}": signed_picture(v, limit),
        "strain": positive_picture(flow_map[2]),
    }


def motion_picture(flow_map: np.ndarray) -> np.ndarray:
    """Return the magnitude of the motion in light greys, as a background for tokens."""
    return grey_picture(np.hypot(centred(flow_map[0]), centred(flow_map[1])))


def signed_picture(channel: np.ndarray, limit: float) -> np.ndarray:
    """Colour a channel from blue (-limit) through white (0) to orange (+limit)."""
    share = np.clip(channel / max(limit, 1e-12), -1, 1)[..., None]  # (S, S, 1)
    ends = np.where(share < 0, np.array(BLUE), np.array(ORANGE))  # (S, S, 3)
    return _blend(np.abs(share), ends)


def flow_picture(flow_map: np.ndarray) -> np.ndarray:
    """Colour the motion of a map: hue is direction, saturation is magnitude."""
    from epir.flow.colour import flow_to_colour

    return flow_to_colour(np.stack([centred(flow_map[0]), centred(flow_map[1])], axis=-1))  # (S, S, 3)


def wheel_picture() -> np.ndarray:
    """Return the legend of `flow_picture`: each point has the colour of motion in its direction."""
    from epir.flow.colour import colour_wheel

    return colour_wheel(112)  # (112, 112, 3)


def positive_picture(channel: np.ndarray) -> np.ndarray:
    """Colour a channel from white (its smallest value) to dark purple (its largest)."""
    return _blend(_stretched(channel)[..., None], np.array(PURPLE))


def grey_picture(channel: np.ndarray) -> np.ndarray:
    """Colour a channel in light greys, from white (its smallest value)."""
    return np.repeat((255 - 150 * _stretched(channel))[..., None], 3, axis=-1).round().astype(np.uint8)


def integrated_picture(picture: np.ndarray, groups: Sequence[Sequence[int]], grid: int) -> np.ndarray:
    """Show a picture as merged tokens hold it: the patches of one token share the mean of their pixels.

    A token of one patch keeps its pixels, so at rate 0 the picture is unchanged.
    """
    height, width = picture.shape[0] // grid, picture.shape[1] // grid
    cut = picture[: height * grid, : width * grid].astype(np.float64)
    patches = cut.reshape(grid, height, grid, width, 3).swapaxes(1, 2).reshape(grid * grid, height, width, 3)
    for group in groups:
        if len(group) > 1:
            patches[list(group)] = patches[list(group)].mean(axis=0)
    joined = patches.reshape(grid, grid, height, width, 3).swapaxes(1, 2).reshape(cut.shape)
    return joined.round().astype(np.uint8)


def png(picture: np.ndarray) -> bytes:
    """Encode a picture as PNG."""
    return _encoded(picture, "PNG", optimize=True)


def jpeg(picture: np.ndarray, *, quality: int = 82) -> bytes:
    """Encode a picture as JPEG, for faces."""
    return _encoded(picture, "JPEG", quality=quality)


def _encoded(picture: np.ndarray, kind: str, **options: int) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(picture).save(out, format=kind, **options)
    return out.getvalue()


def _recorded(run: Run) -> list[MapSet]:
    """Open the map sets at the folders in the run's environment that still exist."""
    mapsets = []
    for entry in run.environment.get("maps", ()):
        place = entry.get("folder") if isinstance(entry, dict) else None
        if place and (run.folder / place / "meta.json").exists():  # relative to the run
            mapsets.append(load_maps(run.folder / place, verify=False))
    return mapsets


def _stretched(channel: np.ndarray) -> np.ndarray:
    low, high = float(channel.min()), float(channel.max())
    return (channel - low) / max(high - low, 1e-12)


def _blend(share: np.ndarray, colour: np.ndarray) -> np.ndarray:
    return (255 + share * (colour - 255)).round().astype(np.uint8)
