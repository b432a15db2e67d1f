"""Many answers -> one table: lines of text, or a DataFrame."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from epir.recognition.answer import Answer, units_text
from epir.reports.why import unit_words

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("input", "track", "onset", "apex", "offset", "answer", "score", "all scores")
KEYS = ("onset", "apex", "offset")


@dataclass(frozen=True)
class FailedAnswer:
    """An input that has no answer, and why."""

    input: str
    problem: str


def answer_lines(answers: Sequence[Answer]) -> list[str]:
    """A table with one line per movement, what moved in words, and notes below; tracks where there are several."""
    if not answers:
        return []
    every = [each for answer in answers for each in (answer.all or (answer,))]
    several = len({each.track for each in every if each.track is not None}) > 1
    chosen = [place for place, name in enumerate(COLUMNS) if several or name != "track"]
    rows = [[cells[place] for place in chosen] for cells in (COLUMNS, *(_cells(each) for each in every))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(chosen))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    lines += [line for each in every if each.found for line in _moved_lines(each, named=len(every) > 1)]
    for answer in answers:
        said: list[str] = []
        for each in answer.all or (answer,):
            said += [word for word in each.warnings if word not in said]
        lines += [f"note: {answer.input}: {word}" for word in said]
    return lines


def answers_table(
    answers: Sequence[Answer | FailedAnswer], errors: Mapping[str, str] | None = None, labels: Sequence[str] = ()
) -> "pd.DataFrame":
    """One row per movement, with a score column per class; `errors`, by the names of inputs that failed, come last."""
    import pandas as pd

    failed = [FailedAnswer(name, problem) for name, problem in (errors or {}).items()]
    given = [each for each in answers if isinstance(each, Answer)]
    names = list(labels) or list(next((each.scores for each in given if each.scores), {}))
    own = ["input", "label", "text", "confidence", "track", *KEYS, *(f"{key}_s" for key in KEYS), "fps"]
    rows = [
        {"input": each.input, "error": each.problem}
        if isinstance(each, FailedAnswer)
        else {
            **{name: getattr(each, name) for name in own},
            **{name: each.scores.get(name) for name in names},
            "units": units_text(each.active_units),
            "warnings": "; ".join(each.warnings),
            "error": "",
        }
        for answer in (*answers, *failed)
        for each in ((answer,) if isinstance(answer, FailedAnswer) else answer.all or (answer,))
    ]
    table = pd.DataFrame(rows, columns=[*own, *names, "units", "warnings", "error"])
    whole: dict[Any, Any] = {name: "Int64" for name in ("track", *KEYS)}
    return table.astype(whole)


def _cells(answer: Answer) -> tuple[str, ...]:
    key_frames = (_key(getattr(answer, key), getattr(answer, f"{key}_s")) for key in KEYS)
    track = "-" if answer.track is None else str(answer.track)
    score = "-" if answer.confidence is None else f"{answer.confidence:.2f}"
    scores = "  ".join(f"{name} {value:.2f}" for name, value in answer.scores.items()) or "-"
    return (answer.input, track, *key_frames, answer.label, score, scores)


def _moved_lines(answer: Answer, *, named: bool) -> list[str]:
    where = f"{answer.input}, apex {answer.apex}: " if named else ""
    lines = [f"{where}{answer.text}"]
    return [*lines, f"{where}{unit_words(answer.active_units)}"] if answer.units else lines


def _key(number: int | None, seconds: float | None) -> str:
    if number is None:
        return "-"
    return str(number) if seconds is None else f"{number} ({seconds:.2f} s)"
