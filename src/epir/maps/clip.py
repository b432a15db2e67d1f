"""One clip -> its map, and the clip with what was found on the way."""

from dataclasses import dataclass, replace

import numpy as np

from epir.core.errors import FrameError
from epir.core.records import Clip
from epir.faces.align import Crop
from epir.faces.finder import find_crop
from epir.flow.apex import middle_apex, spot_apex
from epir.flow.map import cut_face, face_map
from epir.flow.recipe import Recipe
from epir.frames.reader import Frames, open_frames


@dataclass(frozen=True)
class PreparedClip:
    """A map and its clip, whose `extra` tells `frames`, `crop` and `apex_source`."""

    clip: Clip
    map: np.ndarray  # (3, S, S) float32


def prepare_clip(clip: Clip, recipe: Recipe, size: int = 28) -> PreparedClip:
    """The map of one clip: two frames are read, the face is looked for once."""
    if clip.frames is None:
        raise FrameError(
            f"the annotation of {clip.key} leads to no frames", fix="run epir check to see what is missing"
        )
    with open_frames(clip.frames) as frames:
        onset, offset = span(clip, frames)
        before = frames.read(onset)
        crop = find_crop(before, recipe.face)
        apex, source = apex_of(clip, frames, onset, offset, crop, recipe)
        after = frames.read(apex)
        fps = frames.fps if clip.fps is None else clip.fps
    found = {"frames": str(clip.frames.absolute()), "crop": crop.to_text(), "apex_source": source}
    done = replace(clip, onset=onset, apex=apex, offset=offset, fps=fps, extra={**clip.extra, **found})
    return PreparedClip(done, face_map(cut_face(before, crop, recipe), cut_face(after, crop, recipe), recipe, size))


def span(clip: Clip, frames: Frames) -> tuple[int, int]:
    """Onset and offset; the first and last frame where the annotation does not say."""
    onset = frames.numbers[0] if clip.onset is None else clip.onset
    offset = frames.numbers[-1] if clip.offset is None else clip.offset
    return onset, offset


def apex_of(clip: Clip, frames: Frames, onset: int, offset: int, crop: Crop, recipe: Recipe) -> tuple[int, str]:
    """The apex and where it comes from: `annotated`, else as the recipe says: `spotted` or `middle`.

    An apex at the onset itself shows no motion; it counts as not annotated.
    """
    if clip.apex is not None and clip.apex != onset:
        if clip.apex < onset:
            raise FrameError(
                f"the apex {clip.apex} is before the onset {onset}", fix="correct onset and apex in the annotation"
            )
        return clip.apex, "annotated"
    if recipe.apex == "middle":
        return middle_apex(frames, onset, offset), "middle"
    return spot_apex(frames, onset, offset, crop), "spotted"
