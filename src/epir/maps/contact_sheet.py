"""Contact sheets: one picture per person that shows at a glance whether faces and motion were found.

Each row is a clip: onset, apex, flow as colours, flow as arrows, strain.
"""

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from epir.core.engines import Progress, Silent
from epir.core.errors import EpirError
from epir.core.files import atomic_write
from epir.core.records import Clip
from epir.core.words import counted
from epir.faces.align import Crop
from epir.flow.colour import colour_wheel, draw_arrows, flow_peak, flow_to_colour, strain_to_colour
from epir.flow.head_motion import without_head_motion
from epir.flow.map import cut_face, optical_strain, without_border
from epir.flow.optical import flow_between
from epir.flow.recipe import FlowRecipe
from epir.frames.reader import open_frames, upright
from epir.maps.mapset import MapSet

TILE, GAP, TITLE, HEADER = 168, 8, 22, 84  # px
PANELS = ("onset", "apex", "flow as colour", "flow as arrows", "strain")
INK, FAINT = (30, 30, 30), (110, 110, 110)


def contact_sheets(mapset: MapSet, recipe: FlowRecipe, folder: Path, *, progress: Progress | None = None) -> list[Path]:
    """Draw one sheet per person of a prepared map set into `folder`; returns the files."""
    progress = progress or Silent()
    people: dict[str, list[Clip]] = {}
    for clip in mapset.clips:
        people.setdefault(clip.person, []).append(clip)
    progress.start("contact sheets", len(people))
    written = []
    for person, clips in people.items():
        path = folder / f"{person.replace('/', '_')}.png"
        with atomic_write(path) as temporary:
            done, content = cv2.imencode(".png", cv2.cvtColor(contact_sheet(clips, recipe), cv2.COLOR_RGB2BGR))
            assert done, "OpenCV can write png"
            temporary.write_bytes(content.tobytes())
        written.append(path)
        progress.advance(note=person)
    progress.finish()
    return written


def contact_sheet(clips: Sequence[Clip], recipe: FlowRecipe) -> np.ndarray:
    """The sheet of one person's prepared clips, (H, W, 3) uint8 RGB."""
    width = len(PANELS) * (TILE + GAP) + GAP
    height = HEADER + len(clips) * (TITLE + TILE + GAP) + GAP
    sheet = np.full((height, width, 3), 255, np.uint8)
    _write(sheet, clips[0].person, (GAP, 24), scale=0.62, colour=INK)
    _write(
        sheet,
        f"{counted(len(clips), 'clip')}, flow recipe {recipe.name} ({recipe.digest[:8]})",
        (GAP, 44),
        colour=FAINT,
    )
    wheel = colour_wheel(52)
    sheet[6 : 6 + len(wheel), width - GAP - len(wheel) : width - GAP] = wheel
    _write(sheet, "direction of motion", (width - GAP - len(wheel) - 134, 36), colour=FAINT)
    for column, name in enumerate(PANELS):
        _write(sheet, name, (GAP + column * (TILE + GAP), HEADER - 10), colour=FAINT)
    for row, clip in enumerate(clips):
        _draw_row(sheet, HEADER + row * (TITLE + TILE + GAP), clip, recipe)
    return sheet


def panels(clip: Clip, recipe: FlowRecipe) -> tuple[list[np.ndarray], float]:
    """The five pictures of a prepared clip, and its peak motion as a share of the face's width."""
    assert clip.onset is not None and clip.apex is not None, "a prepared clip knows its onset and apex"
    crop = Crop.from_text(clip.extra["crop"])
    with upright(open_frames(clip.extra["frames"]), int(clip.extra.get("turned") or 0)) as frames:
        faces = [cut_face(frames.read(number), crop, recipe) for number in (clip.onset, clip.apex)]
    flow = without_border(flow_between(faces[0], faces[1], recipe), recipe)  # (h, h, 2)
    flow = without_head_motion(flow, recipe.head_motion)
    before, after = (_tile(without_border(face, recipe)) for face in faces)
    coarse = cv2.resize(flow, (TILE, TILE), interpolation=cv2.INTER_AREA)
    strain = strain_to_colour(optical_strain(flow, recipe.strain))
    pictures = [before, after, _tile(flow_to_colour(flow)), draw_arrows(before, coarse), _tile(strain)]
    return pictures, flow_peak(flow) / flow.shape[0]


def _draw_row(sheet: np.ndarray, top: int, clip: Clip, recipe: FlowRecipe) -> None:
    label = (
        f"{clip.clip}   {clip.emotion}   onset {clip.onset}, apex {clip.apex} ({clip.extra.get('apex_source', '?')})"
    )
    try:
        pictures, peak = panels(clip, recipe)
    except EpirError as error:  # the frames were moved since
        _write(sheet, f"{label}   {error.problem}", (GAP, top + 15), colour=INK)
        return
    _write(sheet, f"{label}   peak motion {100 * peak:.2f} % of the face", (GAP, top + 15), colour=INK)
    for column, picture in enumerate(pictures):
        left = GAP + column * (TILE + GAP)
        sheet[top + TITLE : top + TITLE + TILE, left : left + TILE] = picture


def _tile(picture: np.ndarray) -> np.ndarray:
    return cv2.resize(picture, (TILE, TILE), interpolation=cv2.INTER_AREA)


def _write(
    sheet: np.ndarray, text: str, place: tuple[int, int], *, colour: tuple[int, int, int], scale: float = 0.4
) -> None:
    plain = text.encode("ascii", "replace").decode()  # OpenCV draws ASCII only
    cv2.putText(sheet, plain, place, cv2.FONT_HERSHEY_SIMPLEX, scale, colour, 1, cv2.LINE_AA)
