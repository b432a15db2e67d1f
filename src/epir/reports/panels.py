"""Single panels of the picture of why, without captions: one square picture each, as large as a screen wants it.

Axes: h pixels of the face, A arrows per side
"""

from typing import TYPE_CHECKING

import numpy as np

from epir.reports.figures import INK, new_figure
from epir.reports.tokens import Tokens
from epir.reports.why import (
    GROUPS,
    HEADS,
    draw_rollout,
    fill_patches,
    lattice,
    outline_patches,
    paled,
    tinted,
    write_patch,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INCHES = 3.6
ARROWS = 14  # per side
LEAST_ARROW = 0.08  # of the longest: shorter ones are not drawn


def draw_flow(face: np.ndarray, flow: np.ndarray) -> "Figure":
    """The face in the colours of its motion, with arrows; the motion of the head is taken off."""
    from epir.flow.colour import flow_peak, flow_to_colour
    from epir.flow.head_motion import without_head_motion

    flow = without_head_motion(flow, "similarity")  # (h, h, 2)
    figure, axes = _panel(tinted(face, flow_to_colour(flow)), ARROWS)
    side = flow.shape[0] // ARROWS * ARROWS
    cells = flow[:side, :side].reshape(ARROWS, side // ARROWS, ARROWS, -1, 2).mean(axis=(1, 3))  # (A, A, 2)
    u, v = np.moveaxis(cells / max(flow_peak(flow), 1e-9), -1, 0)
    shown = np.hypot(u, v) > LEAST_ARROW
    rows, columns = np.nonzero(shown)
    axes.quiver(
        columns + 0.5,
        rows + 0.5,
        1.3 * u[shown],
        1.3 * v[shown],
        angles="xy",
        scale_units="xy",
        scale=1,
        color=INK,
        width=0.007,
        headwidth=4.2,
    )
    return figure


def draw_tokens(face: np.ndarray, tokens: Tokens) -> "Figure":
    """Patches that became one token share a colour and a letter; thick frames with numbers: the heads' choices."""
    figure, axes = _panel(paled(face), tokens.grid)
    lattice(axes, tokens.grid)
    for number, group in enumerate(sorted(tokens.merged)):
        colour = GROUPS[number % len(GROUPS)]
        fill_patches(axes, group, tokens.grid, colour, 0.42)
        for patch in group:
            write_patch(axes, patch, tokens.grid, chr(ord("A") + number % 26))
    for token in sorted(set(tokens.selected)):
        heads = [head for head, chosen in enumerate(tokens.selected) if chosen == token]
        outline_patches(axes, tokens.groups[token], tokens.grid, "white", 5.5)
        outline_patches(axes, tokens.groups[token], tokens.grid, HEADS[heads[0] % len(HEADS)], 3.2)
        words = " ".join(str(head + 1) for head in heads)
        write_patch(axes, min(tokens.groups[token]), tokens.grid, words, corner=True)
    return figure


def draw_attention(face: np.ndarray, tokens: Tokens) -> "Figure":
    """How much attention each patch got, mean of the heads."""
    figure, axes = _panel(paled(face), tokens.grid)
    draw_rollout(axes, face, tokens)
    axes.set_title("")
    return figure


def _panel(picture: np.ndarray, grid: int = 1) -> tuple["Figure", "Axes"]:
    figure = new_figure(INCHES, INCHES, fitted=False)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.imshow(picture, extent=(0, grid, grid, 0), interpolation="antialiased")
    axes.set_axis_off()
    return figure, axes
