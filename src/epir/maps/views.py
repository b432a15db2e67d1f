"""Views of a clip: which pairs of frames its maps are made from, and by which flow method.

`apex` is the paper's one map, from onset to apex. `rise2+return2` cuts the movement into two pieces of its rise and two
of its return. Every pair goes from the face that shows less to the one that shows more, a return backwards in time, so
that one unit has one sign in all views, and weights that were trained on one map can read each of them.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

from epir.core.config import refuse_unknown
from epir.core.errors import ConfigError
from epir.flow.recipe import METHODS, FlowRecipe

APEX = "apex"  # the usual one view
NEIGHBOURS = {"before-apex": -1, APEX: 0, "after-apex": 1}  # the views of `neighbours`: frames from the apex
MOST_VIEWS = 32
MOST_PIECES = 16
FIX = "give apex, neighbours, rise2+return2 or the like; a flow method follows a colon: apex+apex:dis"


@dataclass(frozen=True)
class View:
    """One map of a clip: from onset to apex or its neighbour, or one piece of the rise or of the return."""

    name: str
    phase: str  # apex, rise or return
    number: int = 0  # of the piece, from 1 in the order of time; for the apex: how many frames after it
    pieces: int = 1
    method: str | None = None  # of the flow; the recipe's own where there is none

    def recipe(self, recipe: FlowRecipe) -> FlowRecipe:
        """The flow recipe of this view."""
        if self.method is None:
            return recipe
        return replace(recipe, flow=replace(recipe.flow, method=self.method))  # type: ignore[arg-type]


def read_views(text: str) -> tuple[View, ...]:
    """The views that a user writes, in that order.

    >>> [view.name for view in read_views("rise2+return2")]
    ['rise1', 'rise2', 'return1', 'return2']
    """
    views = [view for part in text.split("+") for view in _read_part(part.strip().lower(), text)]
    names = [view.name for view in views]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ConfigError(f"--views {text} has {twice} twice", fix="name each view once")
    if len(views) > MOST_VIEWS:
        raise ConfigError(f"--views {text} are {len(views)} maps per clip", fix=f"give {MOST_VIEWS} or fewer")
    return tuple(views)


def _read_part(part: str, text: str) -> list[View]:
    what, colon, method = part.partition(":")
    if colon:
        refuse_unknown(method, METHODS, section="--views", what="flow method")
    ending = f":{method}" if colon else ""
    flow = method if colon else None
    if what == "neighbours":
        return [View(name + ending, APEX, step, method=flow) for name, step in NEIGHBOURS.items()]
    if what == APEX:
        return [View(APEX + ending, APEX, method=flow)]
    found = re.fullmatch(r"(rise|return)(\d{0,3})", what)
    if found is None:
        raise ConfigError(f"cannot read --views {text!r}", fix=FIX)
    phase, pieces = found[1], int(found[2] or 1)
    if not 1 <= pieces <= MOST_PIECES:
        raise ConfigError(f"a {phase} cannot be cut into {pieces} pieces", fix=f"give 1 to {MOST_PIECES}")
    return [View(f"{phase}{n}{ending}", phase, n, pieces, flow) for n in range(1, pieces + 1)]


def frame_pairs(
    views: Sequence[View], numbers: Sequence[int], onset: int, apex: int, offset: int | None
) -> tuple[tuple[int, int], ...]:
    """The frames that each view is made from, the one that shows less first, by the `numbers` that are there.

    Pieces are of equal time; each ends at the frames nearest to that. Without an offset the return is taken to be as
    long as the rise, as far as there are frames. Where there is none after the apex, the rise stands in, piece by
    piece. A piece without any motion in it, in clips of few frames, is the whole of its phase instead.
    """
    last = numbers[-1]
    end = min(last, 2 * apex - onset) if offset is None else min(last, offset)
    return tuple(_pair(view, numbers, onset, apex, end) for view in views)


def _pair(view: View, numbers: Sequence[int], onset: int, apex: int, end: int) -> tuple[int, int]:
    if view.phase == APEX:
        place = bisect_left(numbers, apex) + view.number
        near = numbers[min(max(place, 0), len(numbers) - 1)] if view.number else apex
        return onset, near if near > onset else apex
    if view.phase == "return" and end > apex:  # backwards in time
        low, high = end, apex
        start, stop = (view.pieces - view.number) / view.pieces, (view.pieces - view.number + 1) / view.pieces
    else:
        low, high = onset, apex
        place = view.number if view.phase == "rise" else view.pieces - view.number + 1  # a return ends at rest
        start, stop = (place - 1) / view.pieces, place / view.pieces
    first, second = (_nearest(numbers, low + share * (high - low)) for share in (start, stop))
    return (first, second) if first != second else (_nearest(numbers, low), _nearest(numbers, high))


def _nearest(numbers: Sequence[int], wanted: float) -> int:
    """The number that is there and nearest to the wanted one; of two the earlier."""
    place = bisect_left(numbers, wanted)
    around = numbers[max(0, place - 1) : place + 1]
    return min(around, key=lambda number: (abs(number - wanted), number))


def pairs_text(pairs: Sequence[tuple[int, int] | None]) -> str:
    """Frame pairs as `clips.csv` has them: `12-20;31-20`, nothing between the semicolons where one is not known."""
    return ";".join("" if pair is None else f"{pair[0]}-{pair[1]}" for pair in pairs)
