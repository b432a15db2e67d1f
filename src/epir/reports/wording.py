"""The words that every table, figure and page of a report uses."""

from typing import Final

from epir.evaluation.scores import Column
from epir.evaluation.table import COLUMN_NAMES

COLUMNS: Final[dict[Column, str]] = COLUMN_NAMES
STRICT: Final = COLUMNS["strict"]
LEAKS: Final = COLUMNS["best_epoch"]
PRINTED: Final = "printed"

CORPORA: Final = {
    "casme2": "CASME II",
    "samm": "SAMM",
    "smic": "SMIC",
    "casme3": "CAS(ME)³",
    "synthetic": "synthetic",
}

PROTOCOLS: Final = {
    "cde": "composite of CASME II, SAMM and SMIC",
    "sde-casme2": "CASME II alone",
    "sde-samm": "SAMM alone",
    "sde-smic": "SMIC alone",
    "sde-casme3": "CAS(ME)³ alone, 3 classes",
    "sde-casme3-4": "CAS(ME)³ alone, 4 classes",
    "sde-casme3-7": "CAS(ME)³ alone, 7 classes",
    "sde": "the classes that the maps have",
}

PAPER: Final = "https://doi.org/10.1145/3731715.3733270"

GLOSSARY: Final = (
    (
        STRICT,
        "The result. Each person is predicted once, by a model that was trained on other people for a number of epochs "
        "that was fixed beforehand. Nothing about the held-out person is used before that prediction.",
    ),
    (
        LEAKS,
        "Each held-out person is predicted after every epoch and the epoch that suits that person best is kept. This "
        "is the habit of much published code. It looks at the answer, so it is too high; it is shown only because "
        "published tables are often made this way.",
    ),
    (
        PRINTED,
        "A number from the paper's tables, with how its epoch was chosen as far as that is known: last epoch, best "
        "epoch (leaks), or unknown.",
    ),
    (
        "UF1",
        "The F1 score of each class, averaged without weights. It is computed once, from the confusion matrix pooled "
        "over all folds: a rare class counts as much as a frequent one.",
    ),
    (
        "UAR",
        "The recall of each class, averaged without weights, from the same pooled matrix. Guessing gives 1 / classes.",
    ),
    (
        "accuracy",
        "The share of clips that were recognised. A model that always says the most frequent class can score well.",
    ),
    (
        "interval",
        "95 % of the scores that come out when people are drawn again with replacement. People are drawn, not clips, "
        "since the clips of one person resemble each other.",
    ),
    (
        "fold",
        "One training: some people are held out, the model learns from all others and then predicts the ones held out.",
    ),
    (
        "map",
        "What the model sees: the optical flow between onset and apex (u to the right, v downwards) and its strain.",
    ),
    (
        "token",
        "What the model computes with. It starts with one token per patch of the map, merges the most alike pairs, and "
        "at the end each head selects the one token that it looks at most.",
    ),
    (
        "rollout",
        "How much of the class token's attention reaches each patch of the map, multiplied through the blocks.",
    ),
)


def corpus_title(name: str) -> str:
    """A corpus as its authors write it; `full` is all of them together."""
    return "all clips" if name == "full" else CORPORA.get(name, name)


def count(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun.

    >>> count(1, "clip"), count(68, "person", "people")
    ('1 clip', '68 people')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def clips(number: float) -> str:
    """A number of clips; means over seeds may be broken.

    >>> clips(12.0), clips(12.333)
    ('12', '12.3')
    """
    return f"{number:.1f}".removesuffix(".0")


def score(value: float | None) -> str:
    """A score with four places, as the papers of the field print it; a dash where there is none."""
    return "–" if value is None or value != value else f"{value:.4f}"


def interval(bounds: tuple[float, float] | list[float] | None) -> str:
    """An interval as `0.66–0.76`, or nothing."""
    return f"{bounds[0]:.2f}–{bounds[1]:.2f}" if bounds else ""


def signed(value: float, places: int) -> str:
    """A difference with its sign.

    >>> signed(-0.01234, 3)
    '−0.012'
    """
    return f"{value:+.{places}f}".replace("-", "−")


def duration(seconds: float) -> str:
    """Seconds in the unit that people would use.

    >>> duration(42), duration(750), duration(9000)
    ('42 s', '12.5 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
