"""Protocols: which clips take part in an evaluation, and which class each of them has.

`cde` is the composite of the 2019 challenge (MEGC 2019, combined_3class_gt.csv: 442 clips, 68 people). Its list is
reached by rule from either version of the CASME II sheet; the clips that the rule alone would add are named here.
`cde-all` are the same three classes in every corpus that has them. `cd6me` takes every clip of six corpora, for the
evaluation of action units (see cd6me.py); its classes are only what training learns besides.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase

from epir.core.errors import ProtocolError
from epir.core.records import Clip
from epir.datasets import casme, casme2, casme3, casme_sq, cd6me, dfme, fourdme, manifest, mmew, samm, smic
from epir.datasets.spelling import synonyms

OWN_WORDS: Mapping[str, frozenset[str]] = {
    "casme2": casme2.WORDS,
    "samm": samm.WORDS,
    "smic": smic.WORDS,
    "casme3": casme3.WORDS,
    "casme": casme.WORDS,
    "mmew": mmew.WORDS,
    "dfme": dfme.WORDS,
    "4dme": fourdme.WORDS,
    "casme-sq": casme_sq.WORDS,
}
COMPOSITE: Mapping[str, Mapping[str, str]] = {
    "casme2": casme2.COMPOSITE,
    "samm": samm.COMPOSITE,
    "smic": smic.COMPOSITE,
    "casme3": casme3.THREE,
    "casme": casme.COMPOSITE,
    "mmew": mmew.THREE,
    "dfme": dfme.THREE,
    "4dme": fourdme.COMPOSITE,
    "casme-sq": casme_sq.COMPOSITE,
}
NO_CLASS = {("synthetic", manifest.NO_EXPRESSION)}  # words that are no class under any protocol
THREE = ("negative", "positive", "surprise")
ACROSS = ("cde-all", "cd6me")  # protocols for many corpora at once


@dataclass(frozen=True)
class Protocol:
    """A list of classes, and the rule that gives a clip one of them or leaves it out."""

    name: str
    classes: tuple[str, ...]
    maps: Mapping[str, Mapping[str, str]] = field(default_factory=dict, hash=False, repr=False)  # corpus: word: class
    left_out: tuple[str, ...] = ()  # patterns of clip keys
    folds: str = "loso"  # who is held out unless the user says otherwise

    def label(self, clip: Clip) -> str | None:
        """The class of a clip, or `None` if it is not part of this protocol.

        A corpus's own words are known in any case, and so are names that already are classes. Any other word is an
        error: a misspelt label must not drop a clip in silence.
        """
        if _has_no_class(clip) or self._leaves_out(clip):
            return None
        words = synonyms(clip.emotion)
        for word in words:
            if word in self.maps.get(clip.corpus, {}):
                return self.maps[clip.corpus][word]
        for word in words:
            for name in self.classes:
                if word == name.casefold():
                    return name
        if words & OWN_WORDS.get(clip.corpus, frozenset()):
            return None  # the corpus has this word, the protocol leaves it out
        raise self._unknown(clip)

    def select(self, clips: Iterable[Clip]) -> list[tuple[Clip, str]]:
        """The clips that take part, each with its class."""
        labelled = ((clip, self.label(clip)) for clip in clips)
        return [(clip, label) for clip, label in labelled if label is not None]

    def _leaves_out(self, clip: Clip) -> bool:
        """Whether the clip itself is left out, or is of another corpus than those this protocol is about."""
        if clip.corpus in OWN_WORDS and clip.corpus not in self.maps:
            return True
        return any(fnmatchcase(clip.key.casefold(), pattern.casefold()) for pattern in self.left_out)

    def _unknown(self, clip: Clip) -> ProtocolError:
        accepted = {*self.classes, *self.maps.get(clip.corpus, {})}
        left_out = OWN_WORDS.get(clip.corpus, frozenset()) - accepted
        also = f" (and {', '.join(sorted(left_out))}, which it leaves out)" if left_out else ""
        return ProtocolError(
            f"the clip {clip.key} is labelled {clip.emotion!r}, which the protocol {self.name} does not know",
            fix=f"use one of: {', '.join(sorted(accepted))}{also}; or evaluate under sde, which takes any label",
        )


class AnyLabels(Protocol):
    """The protocol `sde`: each clip's own label is its class; a clip without a label is left out."""

    def label(self, clip: Clip) -> str | None:
        """The clip's label as it stands."""
        word = clip.emotion.strip()
        if not word or _has_no_class(clip):
            return None
        if word not in self.classes:
            raise ProtocolError(
                f"the clip {clip.key} is labelled {word!r}, but the classes are {', '.join(self.classes)}",
                fix="take the classes from all the clips: get_protocol('sde', clips)",
            )
        return word


_PROTOCOLS = (
    Protocol(
        "cde",
        THREE,
        {name: COMPOSITE[name] for name in ("casme2", "samm", "smic")},
        left_out=(*casme2.NOT_COMPOSITE, *smic.NOT_COMPOSITE),
    ),
    Protocol("sde-casme2", casme2.FIVE, {"casme2": {word: word for word in casme2.FIVE}}),
    Protocol("sde-samm", samm.FIVE, {"samm": {word: word for word in samm.FIVE}}),
    Protocol("sde-smic", THREE, {"smic": smic.COMPOSITE}),
    Protocol("sde-casme3", THREE, {"casme3": casme3.THREE}),
    Protocol("sde-casme3-4", (*THREE, "others"), {"casme3": casme3.THREE | {"others": "others"}}),
    Protocol("sde-casme3-7", casme3.SEVEN, {"casme3": {word: word for word in casme3.SEVEN}}),
    Protocol("sde-mmew", THREE, {"mmew": mmew.THREE}),
    Protocol("sde-mmew-4", mmew.FOUR, {"mmew": {word: word for word in mmew.FOUR}}),
    Protocol("sde-mmew-6", mmew.SIX, {"mmew": {word: word for word in mmew.SIX}}),
    Protocol("sde-dfme", dfme.SEVEN, {"dfme": {word: word for word in dfme.SEVEN}}, folds="split"),
    Protocol("sde-4dme", fourdme.FIVE, {"4dme": {word: word for word in fourdme.FIVE}}),
    Protocol("sde-casme", casme.FOUR, {"casme": {word: word for word in casme.FOUR}}),
    Protocol("cde-all", THREE, COMPOSITE, left_out=(*casme2.NOT_COMPOSITE, *smic.NOT_COMPOSITE)),
    Protocol(
        "cd6me",
        (*THREE, "others"),
        {name: {word: COMPOSITE[name].get(word, "others") for word in OWN_WORDS[name]} for name in cd6me.corpora()},
        folds="loco",
    ),
)


def list_protocols() -> tuple[str, ...]:
    """Every protocol's name; `sde` takes its classes from the clips."""
    return (*(protocol.name for protocol in _PROTOCOLS), "sde")


def describe_protocols() -> dict[str, str]:
    """One line about each protocol: its classes and the corpora it is about."""
    lines = {
        protocol.name: f"{len(protocol.classes)} classes ({', '.join(protocol.classes)}); {', '.join(protocol.maps)}"
        for protocol in _PROTOCOLS
    }
    return lines | {"sde": "the labels of the clips are the classes; any corpus"}


def get_protocol(name: str, clips: Sequence[Clip] = ()) -> Protocol:
    """The protocol called `name`; `sde` needs the clips, to know their classes."""
    wanted = name.strip().casefold()
    if wanted == "sde":
        return _own_labels(clips)
    for protocol in _PROTOCOLS:
        if protocol.name == wanted:
            return protocol
    near = get_close_matches(wanted, list_protocols(), n=1)
    raise ProtocolError(
        f"there is no protocol {name!r}",
        fix=f"did you mean {near[0]!r}?" if near else f"use one of: {', '.join(list_protocols())}",
    )


def _has_no_class(clip: Clip) -> bool:
    return (clip.corpus, clip.emotion.strip().casefold()) in NO_CLASS


def _own_labels(clips: Sequence[Clip]) -> Protocol:
    words = {clip.emotion.strip() for clip in clips if not _has_no_class(clip)}
    classes = tuple(sorted(words - {""}))
    if not classes:
        raise ProtocolError(
            "the protocol sde takes its classes from the clips, and no clip has a label",
            fix="give clips with labels (the column emotion of clips.csv)",
        )
    return AnyLabels("sde", classes)
