"""study.toml: the emotions and coders of a study, and who is in which recording."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from epir.core.config import check_known, setting_names, toml_values
from epir.core.errors import ConfigError
from epir.core.files import write_text

FILE = "study.toml"
AGREED = "agreed"  # the coder name of adjudication
EMOTIONS = ("happiness", "surprise", "disgust", "fear", "sadness", "anger", "contempt", "repression", "others")
CODER = re.compile(r"[\w.-]{1,40}")
TEMPLATE = """# The settings of this study. Edit them, then restart `epir annotate`; existing decisions do not change.

# The emotions that coders can choose. The keys 1 to 9 select the first nine.
emotions = [{emotions}]

# Who may code; an empty list admits everybody. "agreed" is the coder name of adjudication.
coders = []

# Which faces to track: "largest", or "all" if several people are to be coded.
faces = "{faces}"

# Who is in a recording, by its path from this folder. A recording without a line here shows another person, named
# after the file. For several faces give a list, in the order of their numbers. The same name means the same person.
[people]
# "../recordings/day1/anna.mp4" = "anna"
# "../recordings/day2/talk.mp4" = ["anna", "ben"]
"""


@dataclass(frozen=True)
class Vocabulary:
    """The content of study.toml."""

    emotions: tuple[str, ...] = EMOTIONS
    coders: tuple[str, ...] = ()
    faces: str = "largest"
    people: dict[str, Any] = field(default_factory=dict)

    def person(self, path: str, name: str, face: int = 0) -> str:
        """The person behind a face of the recording `path`; without a line in [people], called by its `name`.

        >>> words = Vocabulary(people={"a.mp4": ["anna", "ben"]})
        >>> words.person("a.mp4", "a", 1), words.person("x/b.mp4", "b", 1)
        ('ben', 'b-2')
        """
        known = self.people.get(path, [])
        names = [known] if isinstance(known, str) else known
        if face < len(names):
            return str(names[face])
        first = names[0] if isinstance(known, str) else name
        return str(first) if face == 0 else f"{first}-{face + 1}"

    def check_people(self, paths: Collection[str]) -> None:
        """Raise if a line of [people] is about none of these recordings: it would be ignored."""
        for key in self.people:
            if paths and key not in paths:
                same = [path for path in paths if PurePosixPath(path).name == PurePosixPath(key).name]
                near = get_close_matches(key, same or paths, n=3, cutoff=0.0)
                raise ConfigError(
                    f"[people] in {FILE} names {key!r}, which is not a recording of this study",
                    fix=f"write the path of the recording from the study: {' or '.join(map(repr, near))}",
                )

    def check_coder(self, coder: str) -> None:
        """Raise if a name is malformed or not among the coders of this study."""
        if not CODER.fullmatch(coder):
            raise ConfigError(f"{coder!r} cannot be a coder", fix="use letters and digits, such as --coder anna")
        if self.coders and coder not in (*self.coders, AGREED):
            check_known(coder, [*self.coders, AGREED], what="coder in study.toml")


@lru_cache
def distinct_names(paths: tuple[str, ...]) -> Mapping[str, str]:
    """The names of recordings by path: the file's, after as many of its folders as make it distinct.

    >>> distinct_names(("../sub01/EP01.mp4", "../sub02/EP01.mp4", "../sub02/EP02.mp4"))
    {'../sub01/EP01.mp4': 'sub01-EP01', '../sub02/EP01.mp4': 'sub02-EP01', '../sub02/EP02.mp4': 'EP02'}
    """
    places = {path: PurePosixPath(path) for path in paths}
    endings = Counter(place.with_suffix("") for place in places.values())  # above 1: a.mp4 and a.mkv
    parts = {
        path: [*place.parent.parts, place.name if endings[place.with_suffix("")] > 1 else place.stem]
        for path, place in places.items()
    }
    parts = {path: [part for part in each if part not in ("..", "/")] for path, each in parts.items()}
    counts = dict.fromkeys(paths, 1)  # parts in the name
    while True:
        names = {path: "-".join(parts[path][-counts[path] :]) for path in paths}
        used = Counter(names.values())
        longer = [path for path in paths if used[names[path]] > 1 and counts[path] < len(parts[path])]
        if not longer:
            return {path: name if used[name] == 1 else path for path, name in names.items()}
        for path in longer:
            counts[path] += 1


def read_vocabulary(folder: Path) -> Vocabulary:
    """The content of study.toml; the defaults if it was removed."""
    path = folder / FILE
    if not path.exists():
        return Vocabulary()
    values = toml_values(path)
    for name in values:
        check_known(name, setting_names(Vocabulary), section=FILE)
    for name in ("emotions", "coders"):
        words = values.get(name, [])
        if not isinstance(words, list) or not all(isinstance(word, str) and word.strip() for word in words):
            raise ConfigError(f"{name} in {path} is not a list of words", fix=f'write {name} = ["first", "second"]')
    check_known(values.get("faces", "largest"), ("largest", "all"), section=FILE, what="choice of faces")
    people = values.get("people", {})
    for key, names in people.items() if isinstance(people, dict) else [("people", people)]:
        is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
        if not isinstance(names, str) and not is_list:
            raise ConfigError(f"{key} in {path} names no person", fix=f'write "{key}" = "anna", or ["anna", "ben"]')
    return Vocabulary(
        tuple(values.get("emotions", EMOTIONS)), tuple(values.get("coders", ())), values.get("faces", "largest"), people
    )


def write_vocabulary(folder: Path, faces: str) -> None:
    """Write a commented study.toml."""
    words = ", ".join(f'"{word}"' for word in EMOTIONS)
    write_text(folder / FILE, TEMPLATE.format(emotions=words, faces=faces))
