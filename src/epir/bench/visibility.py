"""Which known movements are among the most probable candidates, which size is found, and the table of visibility.

    epir bench --only spotting VIDEO ... PICTURE ... --set table=visibility.csv

Candidates are ranked by the raw probability of the false-alarm classifier, those that are reported first. With `table`
the recall of what is reported is written by size and condition, for `epir.spotting.visibility`; stills are then also
shown at 15 frames a second, and as small faces.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from epir.bench.ratio import Ratio
from epir.spotting.timeline import OVERLAP, FaceMovement, Timeline, overlap
from epir.spotting.visibility import CONDITIONS, ENOUGH, TABLE, visible_seconds
from epir.synthetic.clip import Course

A_MINUTE = (2, 5, 10, 20)  # candidates
MIXED = 0.0  # the size of movements whose sizes differ
COMMAND = "epir bench --only spotting VIDEO ... PICTURE ..."


@dataclass(frozen=True)
class KnownMovement:
    """One movement that was warped in, and what became of it."""

    video: str
    size: float  # share of the face's width, or `MIXED`
    conditions: tuple[str, ...]  # in the second of its apex
    is_reported: bool
    place: float | None  # among the most probable candidates, a minute; None: no candidate fits

    def is_among(self, a_minute: float) -> bool:
        """Whether it is among so many candidates a minute."""
        return self.place is not None and self.place <= a_minute


def known_movements(
    video: str, shown: Sequence[tuple[Course, float]], timelines: Sequence[Timeline], frames: int, fps: float
) -> list[KnownMovement]:
    """What became of each movement that was shown in one video, with its size."""
    minutes = frames / fps / 60
    candidates = [each for timeline in timelines for each in timeline.candidates]
    order = sorted(candidates, key=lambda each: (each.reason != "", -each.probability, each.onset))
    longest = max(timelines, key=lambda each: len(each.numbers), default=None)
    seconds = visible_seconds(longest) if longest is not None else ()
    known = []
    for course, size in shown:
        truth = (course.onset, course.offset)
        place = next((n for n, one in enumerate(order) if _fits(one, truth)), None)
        second = int(course.apex / fps)
        known.append(
            KnownMovement(
                video,
                size,
                seconds[second].conditions if second < len(seconds) else (),
                place is not None and not order[place].reason,
                None if place is None else place / minutes if place else 0.0,
            )
        )
    return known


def _fits(candidate: FaceMovement, truth: tuple[int, int]) -> bool:
    return overlap(truth, (candidate.onset, candidate.offset)) >= OVERLAP


def ranked_lines(name: str, known: Sequence[KnownMovement]) -> list[Ratio]:
    """The recall among the most probable candidates a minute, for each size."""
    lines = []
    for size in sorted({each.size for each in known}):
        of_size = [each for each in known if each.size == size]
        recalls = {a_minute: _share(each.is_among(a_minute) for each in of_size) for a_minute in A_MINUTE}
        detail = ", ".join(f"{recall:.2f} among {a_minute}" for a_minute, recall in recalls.items())
        reported = _share(each.is_reported for each in of_size)
        anywhere = _share(each.place is not None for each in of_size)
        detail += f"; reported {reported:.2f}, any candidate {anywhere:.2f}; {len(of_size)} movements"
        sized = name if size == MIXED else f"{name}, {100 * size:g} %"
        lines.append(Ratio(f"recall, 5 most probable a minute: {sized}", recalls[5], None, detail))
    return lines


def size_lines(known: Sequence[KnownMovement]) -> list[Ratio]:
    """The smallest size, in % of the face's width, of which half is reported, for each video; 0 where none is."""
    lines = []
    for video in dict.fromkeys(each.video for each in known):
        counts = {}
        for size in sorted({each.size for each in known if each.video == video}):
            of_size = [each.is_reported for each in known if (each.video, each.size) == (video, size)]
            counts[size] = (sum(of_size), len(of_size))
        visible = [size for size, (found, shown) in counts.items() if found >= ENOUGH * shown]
        detail = ", ".join(f"{100 * size:g} %: {found} of {shown}" for size, (found, shown) in counts.items())
        lines.append(Ratio(f"size that is found, %: {video}", 100 * min(visible, default=0.0), None, detail))
    return lines


def visibility_table(known: Sequence[KnownMovement], changes: Sequence[str] = ()) -> str:
    """The CSV of `epir.spotting.visibility`: movements in seconds with one condition only.

    Its header says how it was measured: the command with the changes of its settings.
    """
    settings = [f"table={TABLE}", *(each for each in changes if not each.startswith("table="))]
    rows = [" --set ".join([f"# {COMMAND}", *settings]), "condition,size,movements,reported,recall"]
    for condition in CONDITIONS:
        alone = [each for each in known if each.conditions == (condition,)]
        for size in sorted({each.size for each in alone}):
            reported = [each.is_reported for each in alone if each.size == size]
            rows.append(f"{condition},{size:g},{len(reported)},{sum(reported)},{_share(reported):.3f}")
    return "\n".join(rows) + "\n"


def _share(values: Iterable[bool]) -> float:
    counted = list(values)
    return sum(counted) / max(len(counted), 1)
