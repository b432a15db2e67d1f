"""Token pictures for print: what was merged and selected, and the same clips at several rates of integration."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from epir.evaluation.store import Run
from epir.reports.examples import Example
from epir.reports.figures import INK, PALE, SOFT, new_figure
from epir.reports.pixels import (
    centred,
    flow_picture,
    grey_picture,
    integrated_picture,
    positive_picture,
    signed_picture,
)
from epir.reports.sources import Sources
from epir.reports.sweeps import rate_tokens
from epir.reports.tokens import Tokens, borders, heat_range, heat_shares
from epir.reports.wording import STRICT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

GROUPS = ("#0072b2", "#d55e00", "#009e73", "#b0568d", "#8a6d00", "#3d4cc2", "#6b3e1d", "#4d4d4d")
HEAT = "#c2410c"


def draw_tokens(examples: Sequence[Example], sources: Sources) -> "Figure | None":
    """One row per clip: flow, u, v, strain, what was merged, and each head; nothing without maps and tokens."""
    shown = [(each, flow_map) for each in examples if (flow_map := sources.map_of(each.prediction.key)) is not None]
    heads = max((len(each.tokens.rollout) for each, _ in shown if each.tokens), default=0)
    if not heads:
        return None
    figure, grid = _picture_grid(len(shown), 5 + heads, left=0.4)
    for (example, flow_map), line in zip(shown, grid, strict=True):
        _draw_example(example, flow_map, iter(line))
        prediction = example.prediction
        title = f"{prediction.truth} → {prediction.strict}\n({STRICT})"
        line[0].text(
            -0.08, 0.5, title, transform=line[0].transAxes, rotation=90, ha="right", va="center", fontsize=7, color=INK
        )
    return figure


def draw_integration(runs: Sequence[Run], sources: Sources, *, faces: bool = True, clips: int = 2) -> "Figure | None":
    """The same clips at every rate of a sweep, on the face and on the map; nothing without maps and tokens."""
    rows = []
    for key, tokens in rate_tokens(runs, clips=clips):
        flow_map = sources.map_of(key)
        grounds = (sources.face_of(key) if faces else None, None if flow_map is None else flow_picture(flow_map))
        rows += [(ground, tokens) for ground in grounds if ground is not None]
    if not rows:
        return None
    figure, grid = _picture_grid(len(rows), len(runs), left=0.05)
    for (ground, tokens), line in zip(rows, grid, strict=True):
        for each, axes in zip(tokens, line, strict=True):
            _show(axes, integrated_picture(ground, each.groups, each.grid), f"{100 * each.rate:.0f} %", each.grid)
            for group in each.groups:
                _outline(axes, group, each.grid, "white", 0.6)
    return figure


def _picture_grid(rows: int, columns: int, *, left: float) -> "tuple[Figure, np.ndarray]":
    """Axes for square pictures of 1.25 inches with a line of words above each, and `left` inches before the first."""
    side, gap, words = 1.25, 0.08, 0.24
    width, height = left + columns * (side + gap), rows * (side + words) + 0.04
    figure = new_figure(width, height, fitted=False)
    room = {"left": left / width, "right": 1 - gap / width, "top": 1 - words / height, "bottom": 0.04 / height}
    grid = figure.subplots(
        rows, columns, squeeze=False, gridspec_kw={**room, "wspace": gap / side, "hspace": words / side}
    )
    return figure, grid


def _draw_example(example: Example, flow_map: np.ndarray, places: "Iterator[Axes]") -> None:
    u, v, strain = centred(flow_map[0]), centred(flow_map[1]), flow_map[2]
    limit = float(max(np.abs(u).max(), np.abs(v).max()))
    pictures = {
        "flow": flow_picture(flow_map),
        f"u, ±{limit:.2g}": signed_picture(u, limit),
        f"v, ±{limit:.2g}": signed_picture(v, limit),
        "strain": positive_picture(strain),
    }
    for caption, picture in pictures.items():
        _show(next(places), picture, caption, 1)
    if example.tokens is None:
        return
    tokens, ground = example.tokens, grey_picture(np.hypot(u, v))
    _draw_merged(next(places), ground, tokens)
    for head, axes in zip(range(len(tokens.rollout)), places, strict=False):
        _draw_head(axes, ground, tokens, head)


def _draw_merged(axes: "Axes", ground: np.ndarray, tokens: Tokens) -> None:
    _show(axes, ground, f"merged to {len(tokens.groups)}", tokens.grid)
    colours = [GROUPS[number % len(GROUPS)] for number in range(len(tokens.merged))]
    shares = np.zeros(tokens.patches)
    tints = np.zeros((tokens.patches, 3))
    for colour, group in zip(colours, sorted(tokens.merged), strict=True):
        shares[list(group)], tints[list(group)] = 0.45, _rgb(colour)
        _outline(axes, group, tokens.grid, colour, 1.4)
    _tint(axes, tints, shares, tokens.grid)


def _draw_head(axes: "Axes", ground: np.ndarray, tokens: Tokens, head: int) -> None:
    weights = tokens.rollout[head]
    _show(axes, ground, f"head {head + 1}, {heat_range(weights)}", tokens.grid)
    _tint(axes, np.tile(_rgb(HEAT), (tokens.patches, 1)), np.array(heat_shares(weights)), tokens.grid)
    if tokens.selected:
        _outline(axes, tokens.groups[tokens.selected[head]], tokens.grid, "black", 1.8)


def _show(axes: "Axes", picture: np.ndarray, caption: str, grid: int) -> None:
    axes.imshow(picture, interpolation="nearest", extent=(0, grid, grid, 0))
    axes.set_title(caption, fontsize=7.5, color=SOFT, pad=3)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_color(PALE)


def _tint(axes: "Axes", colours: np.ndarray, shares: np.ndarray, grid: int) -> None:
    """Lay a colour (P, 3) over each patch, as strong as its share (P,)."""
    layer = np.concatenate([colours, shares[:, None]], axis=1).reshape(grid, grid, 4)
    axes.imshow(layer, interpolation="nearest", extent=(0, grid, grid, 0))


def _rgb(colour: str) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    return to_rgb(colour)


def _outline(axes: "Axes", patches: Sequence[int], grid: int, colour: str, width: float) -> None:
    from matplotlib.collections import LineCollection

    axes.add_collection(LineCollection(borders(patches, grid), colors=colour, linewidths=width, capstyle="projecting"))
