"""Overview pictures of a corpus: everyone's face, and one expression of each emotion with its true flow."""

from collections.abc import Sequence

import cv2
import numpy as np

from epir.flow.colour import draw_arrows, flow_to_colour
from epir.synthetic.clip import ClipPlan
from epir.synthetic.drawing.canvas import Canvas
from epir.synthetic.drawing.portrait import draw_portrait
from epir.synthetic.identity import draw_identity
from epir.synthetic.moving import MovingFace, State

GAP, TITLE = 4, 20  # px
MOST_FACES = 48
FACE, CROP = 136, 144  # px of a tile
FINE = 2  # tiles are drawn this many times larger, then averaged
EXAGGERATED = 3.0  # times the real motion
PANELS = ("onset", "apex", "exaggerated", "true flow", "as colours")


def people_sheet(seed: int, names: Sequence[str]) -> np.ndarray:
    """The neutral faces of the first `MOST_FACES` people."""
    canvas = Canvas.frame(FINE * FACE)
    return tile([shrink(draw_portrait(draw_identity(seed, name), canvas).flat()) for name in names[:MOST_FACES]])


def motion_sheet(seed: int, plans: Sequence[ClipPlan]) -> np.ndarray:
    """One row per emotion: its clearest clip, from onset to apex."""
    shown = [plan for plan in plans if plan.expression]
    clearest = {plan.emotion: plan for plan in sorted(shown, key=_clearness)}
    rows = [motion_row(seed, clearest[emotion]) for emotion in sorted(clearest)]
    return np.vstack(rows) if rows else np.full((GAP, GAP, 3), 255, np.uint8)


def _clearness(plan: ClipPlan) -> tuple[bool, float]:
    """A sort key: two-sided expressions above one-sided ones, then by intensity."""
    assert plan.expression
    return not set("LR") & set(plan.expression.units), plan.intensity


def motion_row(seed: int, plan: ClipPlan) -> np.ndarray:
    """The pictures of one expression side by side, without head motion and noise, under a title."""
    assert plan.expression and plan.movement
    identity = draw_identity(seed, plan.subject)
    face = MovingFace(draw_portrait(identity, Canvas.crop(FINE * CROP)), identity.geometry, plan.movement)
    apex = State(intensity=plan.intensity)
    most = min(EXAGGERATED * plan.intensity, 0.95 / plan.movement.steepness())
    onset, shown, exaggerated = (shrink(face.render(s)) for s in (State(), apex, State(intensity=most)))
    flow = cv2.resize(face.true_flow(State(), apex), (CROP, CROP), interpolation=cv2.INTER_AREA)
    row = tile([onset, shown, exaggerated, draw_arrows(onset, flow), flow_to_colour(flow)], columns=len(PANELS))
    titled = np.full((TITLE + row.shape[0] + GAP, row.shape[1], 3), 255, np.uint8)
    titled[TITLE:-GAP] = row
    words = [f"{plan.emotion} ({plan.expression.units})", *PANELS[1:]]
    for number, word in enumerate(words):
        place = (number * (CROP + GAP) + 2, TITLE - 6)
        cv2.putText(titled, word, place, cv2.FONT_HERSHEY_SIMPLEX, 0.4, (60, 60, 60), 1, cv2.LINE_AA)
    return titled


def tile(pictures: Sequence[np.ndarray], columns: int | None = None) -> np.ndarray:
    """Arrange pictures of one size in rows on white."""
    columns = columns or min(len(pictures), 6 if len(pictures) <= 24 else 8)
    height, width = pictures[0].shape[:2]
    rows = -(-len(pictures) // columns)
    sheet = np.full((rows * (height + GAP) - GAP, columns * (width + GAP) - GAP, 3), 255, np.uint8)
    for number, picture in enumerate(pictures):
        top, left = number // columns * (height + GAP), number % columns * (width + GAP)
        sheet[top : top + height, left : left + width] = picture
    return sheet


def shrink(values: np.ndarray) -> np.ndarray:
    """Scale a picture of displayed values 0..1 down to its tile, uint8."""
    size = values.shape[0] // FINE
    return (
        (np.clip(cv2.resize(values, (size, size), interpolation=cv2.INTER_AREA), 0, 1) * 255).round().astype(np.uint8)
    )
