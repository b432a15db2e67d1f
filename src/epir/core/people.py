"""Who is probably the same person: names that differ in capitals, spaces, signs or leading zeros only."""

import re
import unicodedata
from collections.abc import Iterable

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


def _plain(part: str) -> str:
    text = unicodedata.normalize("NFKC", part).casefold().strip()
    words = [word.lstrip("0") or "0" if word.isdecimal() else word for word in WORDS.findall(text)]
    return "-".join(words) or text  # a name of signs alone stays as it is
