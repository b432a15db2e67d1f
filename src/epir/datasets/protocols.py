"""Protocols: which clips take part in an evaluation, which class each clip has, and who is held out.

A protocol is a TOML file. Those in the folder `protocols` are built in; `--protocol mine.toml` reads your own:

    classes = ["negative", "positive"]
    folds = "loso"                          # loso, loco, split (the column of the corpus) or a number of folds
    corpora = ["casme2", "mine"]            # clips of all other corpora are left out
    [words]                                 # the words of each class, for every corpus
    positive = ["happiness"]
    [words.casme2]                          # for one corpus; "*" stands for all its other words
    negative = ["disgust", "repression"]
    [leave_out]
    words = ["others"]                      # clips with these labels, and clips by their keys
    clips = ["casme2/sub04/EP12_01f"]
    [only]
    camera = ["fast"]                       # clips whose column has one of these values
    [split]                                 # people by part; without it `folds` says who is held out
    train = ["casme2/*"]
    test = ["mine/*"]

`cde` is the composite of the 2019 challenge (MEGC 2019, combined_3class_gt.csv: 442 clips, 68 people). A rule selects
the same clips from either version of the CASME II sheet; clips that the rule alone would add are left out by name.
`cd6me` takes every clip of six corpora, for the evaluation of action units (see cd6me.py).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from epir.core.config import digest, toml_values
from epir.core.errors import ConfigError, ProtocolError
from epir.core.records import Clip
from epir.core.words import did_you_mean
from epir.datasets.spelling import synonyms

THREE = ("negative", "positive", "surprise")
ACROSS = ("cde-all", "cd6me")  # protocols for many corpora at once
SDE = "sde"
NO_CLASS = ("synthetic", "none")  # corpus and word of clips without an expression: no class under any protocol
ANY_WORD = "*"
TRAIN, TEST = "train", "test"  # the parts of a split; test may have several: test-a, test-b
NEAR = 0.8  # similarity of a slip to the name that was meant
_TYPES: Mapping[str, type] = {  # of the keys in a file
    "about": str,
    "classes": list,
    "corpora": list,
    "folds": str,
    "words": dict,
    "leave_out": dict,
    "only": dict,
    "split": dict,
}


@cache
def corpus_words() -> Mapping[str, frozenset[str]]:
    """The emotion words of each corpus with a fixed vocabulary."""
    from epir.datasets import casme, casme3, casme_sq, dfme, fourdme, mmew, samm, smic

    sheets = (casme.CASME2, samm.SAMM, casme3.CASME3, casme.CASME, mmew.MMEW, dfme.DFME, fourdme.FOURDME)
    return {"smic": smic.WORDS, **{form.corpus: form.words for form in (*sheets, casme_sq.CASME_SQ)}}


@dataclass(frozen=True)
class Protocol:
    """A list of classes, and the rule that assigns a clip to one of them or leaves it out."""

    name: str
    classes: tuple[str, ...]
    maps: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False, repr=False)  # corpus: word: class
    words: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)  # word: class, for every corpus
    corpora: tuple[str, ...] = ()  # empty: those of `maps`, and every corpus unknown to epir
    left_out: tuple[str, ...] = ()  # patterns of clip keys
    left_out_words: frozenset[str] = frozenset()
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False, repr=False)  # column: values
    folds: str = "loso"  # who is held out by default
    parts: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict, hash=False, repr=False
    )  # part of a split: people
    about: str = ""
    digest: str = ""  # of the content of a user's file

    def label(self, clip: Clip) -> str | None:
        """The class of a clip, or `None` if the protocol leaves it out.

        The words of the clip's corpus and the names of the classes are always known. Any other word is an error: a
        misspelt label must not silently drop a clip.
        """
        if _has_no_class(clip) or self._leaves_out(clip):
            return None
        words = synonyms(clip.emotion)
        if words & self.left_out_words:
            return None
        table = self.maps.get(clip.corpus, {})
        for known in (table, self.words, {name.casefold(): name for name in self.classes}):
            for word in words:
                if word in known:
                    return known[word]
        for known in (table, self.words):
            if ANY_WORD in known and clip.emotion.strip():
                return known[ANY_WORD]
        if words & corpus_words().get(clip.corpus, frozenset()):
            return None  # a word of the corpus that the protocol leaves out
        raise self._unknown(clip)

    def select(self, clips: Iterable[Clip]) -> list[tuple[Clip, str]]:
        """The clips that take part, each with its class."""
        labelled = ((clip, self.label(clip)) for clip in clips)
        return [(clip, label) for clip, label in labelled if label is not None]

    def check_columns(self, clips: Sequence[Clip]) -> None:
        """Raise an error if `only` filters by a column that no clip has."""
        known = {name for clip in clips for name in clip.extra}
        for name in self.only:
            if clips and name not in known:
                raise ProtocolError(
                    f"the protocol {self.name} filters by the column {name!r}, which no clip has",
                    fix=did_you_mean(name, known) if known else "remove it from [only]",
                )

    def check_names(self, clips: Sequence[Clip]) -> None:
        """Raise an error for a corpus or a left-out word that no clip has and that looks like a slip of one they have.

        Other names without clips are legal: a protocol may name more corpora than one has maps of.
        """
        corpora, published = {clip.corpus for clip in clips}, corpus_words().keys()
        unnamed = [(name, corpora - set(self.corpora)) for name in self.corpora]
        unnamed += [(name, corpora & published - self.maps.keys()) for name in self.maps]
        for name, others in unnamed:
            if name not in corpora | published and (near := _near(name, others)):
                raise ProtocolError(
                    f"the protocol {self.name} names the corpus {name!r}, of which there is no clip, but not {near!r}",
                    fix=f"did you mean {near!r}? If not, remove {name!r} from the protocol",
                )
        words = {word for clip in clips for word in synonyms(clip.emotion)}
        known = words.union(*corpus_words().values())
        for word in sorted(self.left_out_words - known):
            if near := _near(word, words - self.left_out_words):
                raise ProtocolError(
                    f"the protocol {self.name} leaves out the word {word!r}, which no clip has",
                    fix=f"did you mean {near!r}? If not, remove {word!r} from [leave_out]",
                )

    def split_parts(self, people: Iterable[str]) -> dict[str, str]:
        """Person -> part of the split; empty without a split."""
        if not self.parts:
            return {}
        people = sorted(people)
        for part, names in self.parts.items():
            for name in names:
                if not any(fnmatchcase(person, name) for person in people):
                    raise ProtocolError(
                        f"the protocol {self.name} has {name!r} in the part {part}, but no clip shows that person",
                        fix=did_you_mean(name, people),
                    )
        part_of = {}
        for person in people:
            parts = [part for part, names in self.parts.items() if any(fnmatchcase(person, name) for name in names)]
            if len(parts) != 1:
                where = f"in {' and in '.join(parts)}" if parts else "in no part of the split"
                raise ProtocolError(
                    f"the protocol {self.name} has {person} {where}",
                    fix="name each person in one part" + ("" if parts else f", for example in {TRAIN}"),
                )
            part_of[person] = parts[0]
        return part_of

    def _leaves_out(self, clip: Clip) -> bool:
        """Whether the protocol leaves out this clip or its whole corpus."""
        if self.corpora:
            if clip.corpus not in self.corpora:
                return True
        elif self.maps and not self.words and clip.corpus in corpus_words() and clip.corpus not in self.maps:
            return True
        if any(
            not any(fnmatchcase(clip.extra.get(name, "").strip(), value) for value in values)
            for name, values in self.only.items()
        ):
            return True
        return any(fnmatchcase(clip.key.casefold(), pattern.casefold()) for pattern in self.left_out)

    def _unknown(self, clip: Clip) -> ProtocolError:
        accepted = {*self.classes, *self.maps.get(clip.corpus, {}), *self.words} - {ANY_WORD}
        left_out = (corpus_words().get(clip.corpus, frozenset()) | self.left_out_words) - accepted
        also = f" (and {', '.join(sorted(left_out))}, which it leaves out)" if left_out else ""
        other = "add it to [words] or [leave_out] of the file" if self.digest else "evaluate under sde"
        return ProtocolError(
            f"the clip {clip.key} is labelled {clip.emotion!r}, which the protocol {self.name} does not know",
            fix=f"use one of: {', '.join(sorted(accepted))}{also}; or {other}"
            + ("" if self.digest else ", which takes any label"),
        )


class AnyLabels(Protocol):
    """The protocol `sde`: the label of a clip is its class; a clip without a label is left out."""

    def label(self, clip: Clip) -> str | None:
        """The clip's label, or `None` if it has none."""
        word = clip.emotion.strip()
        if not word or _has_no_class(clip):
            return None
        if word not in self.classes:
            raise ProtocolError(
                f"the clip {clip.key} is labelled {word!r}, but the classes are {', '.join(self.classes)}",
                fix="take the classes from all the clips: get_protocol('sde', clips)",
            )
        return word


@cache
def list_protocols() -> tuple[str, ...]:
    """The names of the built-in protocols, `sde` last."""
    names = (entry.name for entry in files("epir.datasets").joinpath("protocols").iterdir())
    return (*sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")), SDE)


def protocol_text(name: str) -> str:
    """The text of a built-in protocol's file, as a template."""
    known = _known_name(name)
    if known == SDE:
        raise ProtocolError("sde has no file: its classes are the labels of the clips", fix="show another, such as cde")
    return _built_in_file(known).read_text(encoding="utf-8")


def describe_protocols() -> dict[str, str]:
    """One line about each built-in protocol: its classes and its corpora."""
    lines = {}
    for name in list_protocols()[:-1]:
        protocol = get_protocol(name)
        lines[name] = f"{len(protocol.classes)} classes ({', '.join(protocol.classes)}); {', '.join(protocol.maps)}"
    return lines | {SDE: "the labels of the clips are the classes; any corpus"}


def get_protocol(name: str, clips: Sequence[Clip] = ()) -> Protocol:
    """The built-in protocol `name`, or the one in the file `name`; `sde` takes its classes from `clips`."""
    if name.endswith(".toml"):
        return read_protocol(Path(name).expanduser())
    known = _known_name(name)
    return _any_labels(clips) if known == SDE else _built_in(known)


def read_protocol(path: Path) -> Protocol:
    """The protocol in a user's TOML file, named after the file."""
    if path.stem in list_protocols():
        raise ProtocolError(f"{path} has the name of a built-in protocol", fix=f"rename it, for example my-{path.name}")
    try:
        values = toml_values(path)
    except ConfigError as error:
        raise ProtocolError(
            error.problem.replace("settings file", "protocol"), fix=error.fix.replace("settings file", "protocol")
        ) from None
    content = {name: value for name, value in values.items() if name != "about"}
    return _protocol(path.stem, values, str(path), digest(_plain(content)))


def _known_name(name: str) -> str:
    lower = name.strip().casefold()
    if lower not in list_protocols():
        fix = did_you_mean(lower, list_protocols())
        also = "" if fix.startswith("did") else ", or a file that ends in .toml"
        raise ProtocolError(f"there is no protocol {name!r}", fix=fix + also)
    return lower


@cache
def _built_in(name: str) -> Protocol:
    path = _built_in_file(name)
    return _protocol(name, toml_values(path), path.name, "")


def _built_in_file(name: str) -> Path:
    return Path(str(files("epir.datasets").joinpath("protocols", f"{name}.toml")))


def _protocol(name: str, values: Mapping[str, Any], where: str, content: str) -> Protocol:
    """The protocol described by the values of a file; an invalid value is an error."""
    for key, value in values.items():
        _check_key(key, _TYPES, where)
        if not isinstance(value, _TYPES[key]) and not (key == "folds" and type(value) is int):
            forms: dict[type, str] = {str: "text in quotes", list: "a list in brackets", dict: f"a table: [{key}]"}
            raise ProtocolError(f"{where}: {key} is {value!r}", fix=f"write it as {forms[_TYPES[key]]}")
    classes = _texts(values.get("classes", []), "classes", where)
    if len(classes) < 2 or len(set(map(str.casefold, classes))) < len(classes):
        raise ProtocolError(
            f"{where}: the classes are {', '.join(classes) or 'not given'}",
            fix='name two classes or more, each once: classes = ["negative", "positive"]',
        )
    everywhere, maps = _word_tables(values.get("words", {}), classes, where)
    left_out = values.get("leave_out", {})
    for key in left_out:
        _check_key(key, ("clips", "words"), f"{where}, [leave_out]")
    folds = str(values.get("folds", "loso"))
    if folds not in ("loso", "loco", "split") and not (folds.isdecimal() and 2 <= int(folds) < 10**7):
        raise ProtocolError(f"{where}: folds cannot be {folds!r}", fix="use loso, loco, split or a number from 2")
    parts = {part: _texts(people, f"split.{part}", where) for part, people in values.get("split", {}).items()}
    _check_parts(parts, folds if "folds" in values else "split", where)
    return Protocol(
        name=name,
        classes=classes,
        maps=maps,
        words=everywhere,
        corpora=_texts(values.get("corpora", []), "corpora", where),
        left_out=_texts(left_out.get("clips", []), "leave_out.clips", where),
        left_out_words=frozenset(
            word for text in _texts(left_out.get("words", []), "leave_out.words", where) for word in synonyms(text)
        ),
        only={key: _texts(value, f"only.{key}", where) for key, value in values.get("only", {}).items()},
        folds="split" if parts else folds,
        parts=parts,
        about=str(values.get("about", "")),
        digest=content,
    )


def _word_tables(
    values: Mapping[str, Any], classes: Sequence[str], where: str
) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """Word -> class for every corpus, and corpus -> word -> class for single corpora."""
    everywhere = {name: words for name, words in values.items() if not isinstance(words, dict)}
    tables = {corpus: table for corpus, table in values.items() if isinstance(table, dict)}
    maps = {
        corpus: _word_table(table, classes, corpus_words().get(corpus), f"{where}, [words.{corpus}]")
        for corpus, table in tables.items()
    }
    general = _word_table(everywhere, classes, None, f"{where}, [words]")
    if values:
        reached = {*general.values(), *(name for table in maps.values() for name in table.values())}
        missing = next((name for name in classes if name not in reached), None)
        if missing is not None:
            raise ProtocolError(
                f"{where}: no word leads to the class {missing!r}",
                fix=f'add its words to [words]: {missing} = ["{missing}"]',
            )
    return general, maps


def _word_table(
    table: Mapping[str, Any], classes: Sequence[str], known: frozenset[str] | None, where: str
) -> dict[str, str]:
    """Word in lower case -> class; `known` are the words of the corpus."""
    classes_of: dict[str, str] = {}
    for name, words in table.items():
        _check_key(name, classes, where, what="class")
        for text in _texts(words, name, where, least=1):
            word = " ".join(text.split()).casefold()
            if known is not None and word != ANY_WORD and not synonyms(word) & known:
                raise ProtocolError(f"{where}: the corpus has no word {text!r}", fix=did_you_mean(word, known))
            if classes_of.setdefault(word, name) != name:
                raise ProtocolError(
                    f"{where}: {text!r} is listed under {classes_of[word]} and {name}", fix="give it one class"
                )
    if known is not None and ANY_WORD in classes_of:
        rest = classes_of.pop(ANY_WORD)
        classes_of |= {word: rest for word in known if not synonyms(word) & classes_of.keys()}
    return classes_of


def _check_parts(parts: Mapping[str, Sequence[str]], folds: str, where: str) -> None:
    if not parts:
        return
    other = next((part for part in parts if part not in (TRAIN, TEST) and not part.startswith(f"{TEST}-")), None)
    if other is not None or TRAIN not in parts or len(parts) < 2:
        problem = f"has a part {other!r}" if other is not None else "needs a part to train on and one to test"
        raise ProtocolError(f"{where}: the split {problem}", fix="call the parts train and test, or test-a, test-b")
    if folds != "split":
        raise ProtocolError(f"{where} has folds and a split", fix="remove one of the two")


def _check_key(key: str, known: Iterable[str], where: str, *, what: str = "key") -> None:
    if key not in known:
        raise ProtocolError(f"{where}: there is no {what} {key!r}", fix=did_you_mean(key, known))


def _texts(values: Any, what: str, where: str, *, least: int = 0) -> tuple[str, ...]:
    if not isinstance(values, list) or len(values) < least or not all(isinstance(v, str) and v.strip() for v in values):
        raise ProtocolError(f"{where}: {what} is {values!r}", fix=f'write words in quotes: {what} = ["a", "b"]')
    return tuple(values)


def _plain(values: Any) -> Any:
    """The values of a file with dates, which JSON lacks, as text; no key accepts a date."""
    if isinstance(values, dict):
        return {name: _plain(value) for name, value in values.items()}
    if isinstance(values, list):
        return [_plain(value) for value in values]
    return values if isinstance(values, str | int | float | bool) else str(values)


def _has_no_class(clip: Clip) -> bool:
    return (clip.corpus, clip.emotion.strip().casefold()) == NO_CLASS


def _near(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` may be a slip of; names that differ in digits alone, as lab1 and lab2, are two.

    >>> _near("Samm", ["smic", "samm"]), _near("sammm", ["smic", "samm"]), _near("lab1", ["lab2"])
    ('samm', 'samm', None)
    """
    lower = name.casefold()
    letters = re.sub(r"\d", "", lower)
    others = {each.casefold(): each for each in known}
    candidates = [each for each in others if each == lower or re.sub(r"\d", "", each) != letters]
    near = get_close_matches(lower, candidates, n=1, cutoff=NEAR)
    return others[near[0]] if near else None


def _any_labels(clips: Sequence[Clip]) -> Protocol:
    words = {clip.emotion.strip() for clip in clips if not _has_no_class(clip)}
    classes = tuple(sorted(words - {""}))
    if not classes:
        raise ProtocolError(
            "the protocol sde takes its classes from the clips, and no clip has a label",
            fix="give clips with labels (the column emotion of clips.csv)",
        )
    return AnyLabels("sde", classes)
