"""Overlays on a map or a face: merged tokens, attention, selected tokens, attributions.

An `Overlay` describes what to draw and `draw_overlay` draws it, for reports and for the pictures of an answer. Patches
are numbered row by row.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from epir.models.predict import Tokens

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SOFT, PALE = "#1a2028", "#5a6673", "#dbe1e7"
SMALLEST_FACE = 60  # pixels: smaller pictures are maps, shown pixel by pixel

GROUPS = ("#0072b2", "#d55e00", "#009e73", "#b0568d", "#8a6d00", "#3d4cc2", "#6b3e1d", "#4d4d4d")
HEADS = ("#0a5c9e", "#a8480b", "#00735a", "#8a3f7d", "#5a6673", "#8a6d00")
HEAT, COLD, DARK = "#c2410c", "#0a5c9e", "#111111"
LEAST_FALL = 1e-4  # of a class probability; if all are smaller, no patch matters
NAMED_FALL = 0.5  # of the largest fall; from here on a patch is labelled
WORDS_UP_TO = 8  # patches per side; smaller patches have no room for labels


@dataclass(frozen=True)
class Mark:
    """A tint, an outline and a label for some patches."""

    patches: tuple[int, ...]
    colour: str
    tint: float = 0.0  # opacity
    line: float = 0.0  # width of the outline, in hundredths of the picture's side
    halo: bool = False  # a white line around the outline
    word: str = ""
    in_corner: bool = False  # the word is in the corner of the first patch, not in the middle of each


@dataclass(frozen=True)
class Overlay:
    """Marks over a picture of `grid` x `grid` patches; `lattice` draws thin lines between all patches."""

    grid: int
    marks: tuple[Mark, ...]
    lattice: bool = False


def merged_overlay(tokens: Tokens) -> Overlay:
    """Mark every merged token with its own colour and letter."""
    marks = []
    for number, group in enumerate(sorted(tokens.merged)):
        letter = _word(ascii_uppercase[number % 26], tokens.grid)
        marks.append(Mark(group, GROUPS[number % len(GROUPS)], tint=0.45, line=2, word=letter))
    return Overlay(tokens.grid, tuple(marks), lattice=True)


def outline_overlay(tokens: Tokens) -> Overlay:
    """Outline every token with a thin line."""
    return Overlay(tokens.grid, tuple(Mark(group, "#ffffff", line=0.6) for group in tokens.groups))


def heat_overlay(
    weights: Sequence[float], grid: int, *, scale: Literal["range", "share"] = "range", words: bool = False
) -> Overlay:
    """Show attention as heat; `words` adds per cent of the sum.

    The scale `range` runs from the least attention (pale) to the most (dark); `heat_range` gives both. On the scale
    `share` an even share is pale, and the darkest tint is the most attention, but at least four even shares.
    """
    total, most = sum(weights), max(*weights, 4 / len(weights))
    low, high = min(weights), max(weights)
    marks = []
    for patch, weight in enumerate(weights):
        if scale == "share":
            tint = 0.85 * max(weight, 0.0) / most
        else:
            tint = 0.8 * (weight - low) / (high - low) if high - low > 1e-9 else 0.0
        word = _word(f"{100 * weight / total:.0f} %", grid) if words else ""
        marks.append(Mark((patch,), HEAT, tint=tint, word=word))
    return Overlay(grid, tuple(mark for mark in marks if mark.tint >= 0.005 or mark.word))


def attribution_overlay(falls: Sequence[Sequence[float]]) -> Overlay:
    """Show how far a class probability falls without each patch, as heat; patches without which it rises are blue.

    Tints are relative to the largest fall, since all falls are small if the model is sure. The patches with the largest
    falls are labelled with their share of all falls, in per cent.
    """
    grid, flat = len(falls), [float(value) for row in falls for value in row]
    most, total = max(map(abs, flat)), sum(max(value, 0.0) for value in flat)
    if most < LEAST_FALL:
        return Overlay(grid, ())
    marks = []
    for patch, fall in enumerate(flat):
        word = f"{100 * fall / total:.0f} %" if fall >= NAMED_FALL * most else ""
        colour, tint = (HEAT if fall > 0 else COLD), 0.8 * abs(fall) / most
        marks.append(Mark((patch,), colour, tint=tint, word=_word(word, grid)))
    return Overlay(grid, tuple(mark for mark in marks if mark.tint >= 0.02))


def heat_range(weights: Sequence[float]) -> str:
    """Format the least and the most attention on a patch, in per cent.

    >>> heat_range([0.051, 0.3, 0.6])
    '5.1–60 %'
    """
    return f"{100 * min(weights):.2g}–{100 * max(weights):.2g} %"


def selected_overlay(tokens: Tokens, *, tinted: bool = True, in_corner: bool = False) -> Overlay:
    """Mark the selected tokens, each with the colour of its first head and the numbers of all its heads."""
    marks = []
    for token in sorted(set(tokens.selected)):
        heads = [head for head, chosen in enumerate(tokens.selected) if chosen == token]
        group, colour, tint = tokens.groups[token], HEADS[heads[0] % len(HEADS)], 0.28 if tinted else 0.0
        word = _word(" ".join(str(head + 1) for head in heads), tokens.grid)
        marks.append(Mark(group, colour, tint, line=3, halo=True, word=word, in_corner=in_corner))
    return Overlay(tokens.grid, tuple(marks), lattice=tinted)


def head_overlays(tokens: Tokens, head: int) -> tuple[Overlay, ...]:
    """Show the attention of one head as heat, and outline the token it selected."""
    heat = heat_overlay(tokens.rollout[head], tokens.grid)
    if not tokens.selected:
        return (heat,)
    selected = Mark(tokens.groups[tokens.selected[head]], DARK, line=3, halo=True)
    return heat, Overlay(tokens.grid, (selected,))


def borders(patches: Iterable[int], grid: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the outer sides of a group of patches as pairs of corners (x, y), in patches from the upper left."""
    held = {divmod(patch, grid) for patch in patches}
    sides = []
    for row, column in sorted(held):
        for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1)):
            if (row + down, column + right) not in held:
                start = (column + max(right, 0), row + max(down, 0))
                sides.append((start, (start[0] + abs(down), start[1] + abs(right))))
    return sides


def new_figure(width: float, height: float, *, fitted: bool = True) -> "Figure":
    """Return an empty figure of this size in inches, without pyplot; `fitted` makes room for labels."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained" if fitted else None, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def show_picture(axes: "Axes", picture: np.ndarray, caption: str, *overlays: Overlay) -> None:
    """Fill the axes with a picture and its overlays, below a caption."""
    draw_picture(axes, picture, (0, 0))
    axes.set_xlim(0, 1)
    axes.set_ylim(1, 0)
    axes.set_aspect("equal")
    for overlay in overlays:
        draw_overlay(axes, overlay, lines=0.85, words=9)
    axes.set_title(caption, fontsize=9.5, color=SOFT, pad=3)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_color(PALE)


def draw_overlay(
    axes: "Axes", overlay: Overlay, *, lines: float, words: float, at: tuple[float, float] = (0.0, 0.0)
) -> None:
    """Draw tints, lattice, outlines and words over the picture that fills the unit square at `at`."""
    from matplotlib.colors import to_rgba
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline
    from matplotlib.patheffects import withStroke

    grid = overlay.grid

    def draw(lines: Sequence[Sequence[tuple[float, float]]], **look: Any) -> None:
        path = Outline.make_compound_path(*(Outline(np.asarray(line, dtype=float) / grid + at) for line in lines))
        axes.add_artist(PathPatch(path, clip_on=False, **look))

    tints = np.zeros((grid, grid, 4))
    for mark in overlay.marks:
        for patch in mark.patches if mark.tint else ():
            tints[divmod(patch, grid)] = to_rgba(mark.colour, mark.tint)
    if tints.any():
        draw_picture(axes, (255 * tints).round().astype(np.uint8), at)
    if overlay.lattice:
        inner = [line for n in range(1, grid) for line in (((n, 0), (n, grid)), ((0, n), (grid, n)))]
        draw(inner, fill=False, edgecolor="white", linewidth=0.6, alpha=0.8)
    for mark in overlay.marks:
        layers = [("white", mark.line + 2.5)] if mark.halo else []
        for colour, width in [*layers, (mark.colour, mark.line)] if mark.line else ():
            sides = borders(mark.patches, grid)
            draw(sides, fill=False, edgecolor=colour, linewidth=lines * width, capstyle="projecting")
    rim = [withStroke(linewidth=0.25 * words, foreground=DARK)]
    for mark in overlay.marks:
        for x, y in np.array(_word_places(mark, grid)) / grid + at if mark.word else ():
            across, up = ("left", "top") if mark.in_corner else ("center", "center")
            look: dict[str, Any] = {"fontsize": words, "color": "white", "weight": "bold", "path_effects": rim}
            axes.text(x, y, mark.word, ha=across, va=up, **look)


def draw_picture(axes: "Axes", picture: np.ndarray, at: tuple[float, float]) -> None:
    """Draw a picture into the unit square at `at`."""
    x, y = at
    smooth = "antialiased" if picture.shape[0] > SMALLEST_FACE else "none"
    image = axes.imshow(picture, extent=(x, x + 1, y + 1, y), interpolation=smooth, aspect=axes.get_aspect())
    image.set_clip_on(False)


def _word_places(mark: Mark, grid: int) -> list[tuple[float, float]]:
    if mark.in_corner:
        first = min(mark.patches)
        return [(first % grid + 0.09, first // grid + 0.08)]
    return [(patch % grid + 0.5, patch // grid + 0.5) for patch in mark.patches]


def _word(word: str, grid: int) -> str:
    return word if grid <= WORDS_UP_TO else ""
