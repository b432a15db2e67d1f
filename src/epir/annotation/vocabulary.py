"""study.toml: the emotions and coders of a study, and who is in which recording."""

import re
from dataclasses import dataclass, field
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

# Who is in a recording, by its path as shown on the page. A recording without a line here shows another person, named
# after the file. For several faces give a list, in the order of their numbers. The same name means the same person.
[people]
# "day1/anna.mp4" = "anna"
# "day2/talk.mp4" = ["anna", "ben"]
"""


@dataclass(frozen=True)
class Vocabulary:
    """The content of study.toml."""

    emotions: tuple[str, ...] = EMOTIONS
    coders: tuple[str, ...] = ()
    faces: str = "largest"
    people: dict[str, Any] = field(default_factory=dict)

    def person(self, path: str, face: int = 0) -> str:
        """The name of the person behind a face of a recording.

        >>> Vocabulary(people={"a.mp4": ["anna", "ben"]}).person("a.mp4", 1), Vocabulary().person("x/b.mp4", 1)
        ('ben', 'b-2')
        """
        known = self.people.get(path, [])
        names = [known] if isinstance(known, str) else known
        if face < len(names):
            return str(names[face])
        first = names[0] if isinstance(known, str) else PurePosixPath(path).stem
        return str(first) if face == 0 else f"{first}-{face + 1}"

    def check_coder(self, coder: str) -> None:
        """Raise if a name is malformed or not among the coders of this study."""
        if not CODER.fullmatch(coder):
            raise ConfigError(f"{coder!r} cannot be a coder", fix="use letters and digits, such as --coder anna")
        if self.coders and coder not in (*self.coders, AGREED):
            check_known(coder, [*self.coders, AGREED], what="coder in study.toml")


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
