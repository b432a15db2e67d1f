"""Who is one person: names that differ in spelling only, and subjects whose column `person` is not filled in."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from epir.core.errors import EpirError
from epir.core.records import Clip

WORDS = re.compile(r"\d+|[^\W\d_]+")


def plain_name(person: str) -> str:
    """One spelling for `Anna` and `anna `, for `01` and `1`; the parts before and after a slash stay apart.

    >>> plain_name("casme2/Sub_01"), plain_name("casme2/sub1")
    ('casme-2/sub-1', 'casme-2/sub-1')
    """
    return "/".join(_plain(part) for part in person.split("/"))


def probably_one(people: Iterable[str]) -> list[tuple[str, ...]]:
    """Groups of different names that are probably one person, sorted."""
    groups: dict[str, set[str]] = {}
    for person in people:
        groups.setdefault(plain_name(person), set()).add(person)
    return sorted(tuple(sorted(names)) for names in groups.values() if len(names) > 1)


def fill_people(clips: Sequence[Clip], *, error: type[EpirError], first_row: int | None = None) -> tuple[Clip, ...]:
    """The clips, empty cells of the column `person` filled from other clips of the same subject.

    Otherwise one human would stand on both sides of a fold. One subject with two people is refused with the clips, or
    with their rows where the first clip is in `first_row`.
    """
    for places, sentence in conflicting_people(clips):
        rows = [f"row {first_row + place}" if first_row is not None else clips[place].key for place in places]
        raise error(f"{sentence} ({', '.join(rows)})", fix="correct the column person, or give them two subjects")
    names = {(clip.corpus, clip.subject): name for clip in clips if (name := _named(clip))}

    def filled(clip: Clip) -> Clip:
        name = names.get((clip.corpus, clip.subject))
        return clip if name is None or _named(clip) else replace(clip, extra={**clip.extra, "person": name})

    return tuple(map(filled, clips))


def conflicting_people(clips: Sequence[Clip]) -> Iterator[tuple[list[int], str]]:
    """Subjects whose clips name two people or more: a clip of each by its place, and a sentence."""
    subjects: dict[tuple[str, str], dict[str, int]] = {}
    for place, clip in enumerate(clips):
        if name := _named(clip):
            subjects.setdefault((clip.corpus, clip.subject), {}).setdefault(name, place)
    for (corpus, subject), names in subjects.items():
        if len(names) > 1:
            people = " and ".join(map(repr, names))
            yield list(names.values()), f"the subject {corpus}/{subject} is {people} in the column person"


def _named(clip: Clip) -> str:
    return clip.extra.get("person", "").strip()


def _plain(part: str) -> str:
    text = unicodedata.normalize("NFKC", part).casefold().strip()
    words = [word.lstrip("0") or "0" if word.isdecimal() else word for word in WORDS.findall(text)]
    return "-".join(words) or text  # a name of signs alone stays as it is
