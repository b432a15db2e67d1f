"""Token pictures: what was merged, what each head selected and where it looked, over a map or a face.

Every tile is a square of 100 x 100 units; a grid of patches lies over the picture, row by row.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from epir.core.errors import RunError
from epir.reports.markup import Markup, element, join

SIDE = 100
LETTERED_UP_TO = 8  # patches per side; smaller patches have no room for a letter


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
        """The share of the patch tokens that integration has taken away."""
        return 1 - len(self.groups) / self.patches


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
        pass  # told below, with the place
    raise RunError(f"{where} has damaged token records", fix="remove that file and run the same epir evaluate again")


def tile(picture: Markup, *overlays: str, caption: str, title: str = "") -> Markup:
    """A picture with overlays and a caption."""
    drawing = element("svg", picture, *overlays, viewbox=f"0 0 {SIDE} {SIDE}", role="img", aria_label=title or caption)
    return element("figure", drawing, element("figcaption", caption), class_="tile")


def merged_overlay(tokens: Tokens) -> Markup:
    """Every merged token in a colour of its own, the same for all its patches, with a letter where there is room."""
    size = SIDE / tokens.grid
    parts: list[str] = [_lattice(tokens.grid)]
    for number, group in enumerate(sorted(tokens.merged)):
        parts.append(element("path", d=area(group, tokens.grid), class_=f"tint g{number % 8}"))
        parts.append(element("path", d=outline(group, tokens.grid), class_=f"group g{number % 8}"))
        if tokens.grid <= LETTERED_UP_TO:
            for patch in group:
                row, column = divmod(patch, tokens.grid)
                x, y = (column + 0.5) * size, (row + 0.5) * size + 4
                parts.append(element("text", ascii_uppercase[number % 26], x=f"{x:g}", y=f"{y:g}", class_="letter"))
    return join(*parts)


def merged_outlines(tokens: Tokens) -> Markup:
    """A thin line around every token, whatever number of patches it holds."""
    return join(*(element("path", d=outline(group, tokens.grid), class_="lattice") for group in tokens.groups))


def head_overlay(tokens: Tokens, head: int) -> Markup:
    """Where one head looked, as heat, and the token it selected, as an outline."""
    chosen = selected_overlay(tokens, (head,)) if tokens.selected else Markup()
    return join(heat_overlay(tokens.rollout[head], tokens.grid), chosen)


def heat_overlay(weights: Sequence[float], grid: int) -> Markup:
    """Attention as heat: the palest patch got the least, the darkest the most; `heat_range` says how much that is."""
    size = SIDE / grid
    parts: list[str] = []
    for patch, (weight, share) in enumerate(zip(weights, heat_shares(weights), strict=True)):
        if share >= 0.005:
            label = element("title", f"{100 * weight:.3g} %")
            place = {"x": f"{patch % grid * size:g}", "y": f"{patch // grid * size:g}"}
            extent = {"width": f"{size:g}", "height": f"{size:g}"}
            parts.append(element("rect", label, **place, **extent, class_="heat", fill_opacity=f"{share:.2f}"))
    return join(*parts)


def heat_shares(weights: Sequence[float]) -> list[float]:
    """How strongly each patch is coloured, from 0 for the least attention to 0.8 for the most; 0 if all are even.

    Attention multiplied through many blocks is nearly even: coloured from nothing to the most, all would look alike.
    """
    low, high = min(weights), max(weights)
    return [0.8 * (weight - low) / (high - low) if high - low > 1e-9 else 0.0 for weight in weights]


def heat_range(weights: Sequence[float]) -> str:
    """The least and the most attention that a patch gets, in per cent.

    >>> heat_range([0.051, 0.3, 0.6])
    '5.1–60 %'
    """
    return f"{100 * min(weights):.2g}–{100 * max(weights):.2g} %"


def heat_limit(weights: Sequence[float]) -> float:
    """The attention that gets the darkest colour: the largest, but at least four times an even share."""
    return max(*weights, 4 / len(weights))


def selected_overlay(tokens: Tokens, heads: Iterable[int]) -> Markup:
    """The outlines of the tokens that the heads selected."""
    paths = [outline(tokens.groups[token], tokens.grid) for token in sorted({tokens.selected[head] for head in heads})]
    halos = [element("path", d=path, class_="chosen halo") for path in paths]
    return join(*halos, *(element("path", d=path, class_="chosen") for path in paths))


def numbered_overlay(tokens: Tokens) -> Markup:
    """The outlines of all selected tokens, each patch with the numbers of the heads that chose it."""
    size = SIDE / tokens.grid
    parts: list[str] = [selected_overlay(tokens, range(len(tokens.selected)))]
    for token in sorted(set(tokens.selected)) if tokens.grid <= LETTERED_UP_TO else ():
        heads = " ".join(str(head) for head, chosen in enumerate(tokens.selected, start=1) if chosen == token)
        for patch in tokens.groups[token]:
            row, column = divmod(patch, tokens.grid)
            x, y = (column + 0.5) * size, (row + 0.5) * size + 4
            parts.append(
                element("text", heads, x=f"{x:g}", y=f"{y:g}", class_="letter" if len(heads) < 4 else "letter many")
            )
    return join(*parts)


def outline(patches: Sequence[int], grid: int) -> str:
    """The border around some patches as an SVG path."""
    size = SIDE / grid
    return "".join(f"M{a * size:g} {b * size:g}L{c * size:g} {d * size:g}" for (a, b), (c, d) in borders(patches, grid))


def borders(patches: Sequence[int], grid: int) -> list[tuple[tuple[int, int], tuple[int, int]]]:
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


def area(patches: Sequence[int], grid: int) -> str:
    """Some patches as closed squares of an SVG path."""
    size = SIDE / grid
    corners = ((patch % grid * size, patch // grid * size) for patch in patches)
    return "".join(f"M{x:g} {y:g}h{size:g}v{size:g}h-{size:g}z" for x, y in corners)


def _lattice(grid: int) -> Markup:
    """Thin lines between the patches."""
    places = [f"{SIDE * n / grid:g}" for n in range(1, grid)]
    return element("path", d="".join(f"M{at} 0V{SIDE}M0 {at}H{SIDE}" for at in places), class_="lattice")
