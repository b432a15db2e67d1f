"""Tokens of a map, and what is drawn over it: merged tokens, attention, selected tokens.

An `Overlay` says what to draw once; `gallery.py` draws it as SVG on the page, `figures.py` with matplotlib.
Patches are numbered row by row.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any, Literal

from epir.core.errors import RunError

GROUPS = ("#0072b2", "#d55e00", "#009e73", "#b0568d", "#8a6d00", "#3d4cc2", "#6b3e1d", "#4d4d4d")
HEADS = ("#0a5c9e", "#a8480b", "#00735a", "#8a3f7d", "#5a6673", "#8a6d00")
HEAT, COLD, DARK = "#c2410c", "#0a5c9e", "#111111"
LEAST_FALL = 1e-4  # of a class probability: below, no part decides
NAMED_FALL = 0.5  # of the largest: such patches get their number
WORDS_UP_TO = 8  # patches per side; smaller patches have no room for words


@dataclass(frozen=True)
class Tokens:
    """What a model did with the tokens of one map."""

    groups: tuple[tuple[int, ...], ...]  # the patches that each token holds
    selected: tuple[int, ...]  # per head: an index into `groups`
    rollout: tuple[tuple[float, ...], ...]  # per head: attention on each patch

    @property
    def patches(self) -> int:
        """The number of patches of the map."""
        return sum(map(len, self.groups))

    @property
    def grid(self) -> int:
        """Patches per side."""
        return round(self.patches**0.5)

    @property
    def merged(self) -> tuple[tuple[int, ...], ...]:
        """The tokens that hold more than one patch."""
        return tuple(group for group in self.groups if len(group) > 1)

    @property
    def rate(self) -> float:
        """The share of the patch tokens that integration removed."""
        return 1 - len(self.groups) / self.patches

    @property
    def attention(self) -> tuple[float, ...]:
        """Attention on each patch, mean of the heads."""
        return tuple(sum(weights) / len(weights) for weights in zip(*self.rollout, strict=True))


@dataclass(frozen=True)
class Mark:
    """A tint and an outline of some patches, and a word in them."""

    patches: tuple[int, ...]
    colour: str
    tint: float = 0.0  # opacity
    line: float = 0.0  # width of the outline, in hundredths of the picture's side
    halo: bool = False  # a white line around the outline
    word: str = ""
    in_corner: bool = False  # the word: in the corner of the first patch, not in the middle of each
    title: str = ""  # shown when the pointer rests on it


@dataclass(frozen=True)
class Overlay:
    """Marks over a picture of `grid` x `grid` patches; `lattice` draws thin lines between all patches."""

    grid: int
    marks: tuple[Mark, ...]
    lattice: bool = False


def read_tokens(record: Any, where: str) -> Tokens:
    """The tokens of one clip from a fold's file."""
    try:
        tokens = Tokens(
            groups=tuple(tuple(map(int, group)) for group in record["groups"]),
            selected=tuple(map(int, record["selected"])),
            rollout=tuple(tuple(map(float, head)) for head in record["rollout"]),
        )
        whole = sorted(patch for group in tokens.groups for patch in group) == list(range(tokens.grid**2))
        if whole and all(0 <= token < len(tokens.groups) for token in tokens.selected):
            return tokens
    except (KeyError, TypeError, ValueError):
        pass  # reported below, with the place
    raise RunError(f"{where} has damaged token records", fix="remove that file and run the same epir evaluate again")


def merged_overlay(tokens: Tokens) -> Overlay:
    """Every merged token in a colour of its own, the same for all its patches, with a letter."""
    marks = [
        Mark(
            group,
            GROUPS[number % len(GROUPS)],
            tint=0.45,
            line=2,
            word=_word(ascii_uppercase[number % 26], tokens.grid),
        )
        for number, group in enumerate(sorted(tokens.merged))
    ]
    return Overlay(tokens.grid, tuple(marks), lattice=True)


def outline_overlay(tokens: Tokens) -> Overlay:
    """A thin line around every token, whatever number of patches it holds."""
    return Overlay(tokens.grid, tuple(Mark(group, "#ffffff", line=0.6) for group in tokens.groups))


def heat_overlay(
    weights: Sequence[float], grid: int, *, scale: Literal["range", "share"] = "range", words: bool = False
) -> Overlay:
    """Attention as heat, with `words` in per cent of the sum.

    On the scale `range` the palest patch has the least attention and the darkest the most; `heat_range` gives both.
    On the scale `share` an even share is pale, and the darkest is the most, but at least four even shares.
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
        marks.append(Mark((patch,), HEAT, tint=tint, word=word, title=f"{100 * weight:.3g} %"))
    return Overlay(grid, tuple(mark for mark in marks if mark.tint >= 0.005 or mark.word))


def attribution_overlay(falls: Sequence[Sequence[float]]) -> Overlay:
    """How far a class probability falls without each patch, as heat; patches without which it rises are blue.

    Tints are relative to the largest fall, since all of them are small where the model is sure. The patches that cost
    most bear their share of all falls, in per cent.
    """
    grid, flat = len(falls), [float(value) for row in falls for value in row]
    most, total = max(map(abs, flat)), sum(max(value, 0.0) for value in flat)
    if most < LEAST_FALL:
        return Overlay(grid, ())
    marks = []
    for patch, fall in enumerate(flat):
        word = f"{100 * fall / total:.0f} %" if fall >= NAMED_FALL * most else ""
        colour, tint = (HEAT if fall > 0 else COLD), 0.8 * abs(fall) / most
        marks.append(Mark((patch,), colour, tint=tint, word=_word(word, grid), title=f"{-fall:+.2g}"))
    return Overlay(grid, tuple(mark for mark in marks if mark.tint >= 0.02))


def heat_range(weights: Sequence[float]) -> str:
    """The least and the most attention on a patch, in per cent.

    >>> heat_range([0.051, 0.3, 0.6])
    '5.1–60 %'
    """
    return f"{100 * min(weights):.2g}–{100 * max(weights):.2g} %"


def selected_overlay(tokens: Tokens, *, tinted: bool = True, in_corner: bool = False) -> Overlay:
    """The selected tokens, each in the colour of the first head that selected it, with the numbers of its heads."""
    marks = []
    for token in sorted(set(tokens.selected)):
        heads = [head for head, chosen in enumerate(tokens.selected) if chosen == token]
        marks.append(
            Mark(
                tokens.groups[token],
                HEADS[heads[0] % len(HEADS)],
                tint=0.28 if tinted else 0.0,
                line=3,
                halo=True,
                word=_word(" ".join(str(head + 1) for head in heads), tokens.grid),
                in_corner=in_corner,
            )
        )
    return Overlay(tokens.grid, tuple(marks), lattice=tinted)


def head_overlays(tokens: Tokens, head: int) -> tuple[Overlay, ...]:
    """The attention of one head as heat, and the token that it selected as an outline."""
    heat = heat_overlay(tokens.rollout[head], tokens.grid)
    if not tokens.selected:
        return (heat,)
    selected = Mark(tokens.groups[tokens.selected[head]], DARK, line=3, halo=True)
    return heat, Overlay(tokens.grid, (selected,))


def borders(patches: Iterable[int], grid: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The sides of some patches that no two of them share, from corner to corner, in patches from the upper left."""
    held = set(patches)
    sides = []
    for patch in sorted(held):
        row, column = divmod(patch, grid)
        if row == 0 or patch - grid not in held:
            sides.append(((column, row), (column + 1, row)))
        if row == grid - 1 or patch + grid not in held:
            sides.append(((column, row + 1), (column + 1, row + 1)))
        if column == 0 or patch - 1 not in held:
            sides.append(((column, row), (column, row + 1)))
        if column == grid - 1 or patch + 1 not in held:
            sides.append(((column + 1, row), (column + 1, row + 1)))
    return sides


def _word(word: str, grid: int) -> str:
    return word if grid <= WORDS_UP_TO else ""
