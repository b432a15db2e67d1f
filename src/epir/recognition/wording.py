"""Answers as lines of text."""

from collections.abc import Sequence

from epir.recognition.answer import Answer

COLUMNS = ("input", "onset", "apex", "offset", "answer", "score", "all scores")


def answer_lines(answers: Sequence[Answer]) -> list[str]:
    """A table with one line per movement, and the warnings of each input below it."""
    if not answers:
        return []
    rows = [_cells(each) for answer in answers for each in (answer.all or (answer,))]
    widths = [max(len(row[column]) for row in [COLUMNS, *rows]) for column in range(len(COLUMNS))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in [COLUMNS, *rows]
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    for answer in answers:
        said: list[str] = []
        for each in answer.all or (answer,):
            said += [word for word in each.warnings if word not in said]
        lines += [f"note: {answer.input}: {word}" for word in said]
    return lines


def _cells(answer: Answer) -> tuple[str, ...]:
    key_frames = ("-" if number is None else str(number) for number in (answer.onset, answer.apex, answer.offset))
    score = "-" if answer.confidence is None else f"{answer.confidence:.2f}"
    scores = "  ".join(f"{name} {value:.2f}" for name, value in answer.scores.items()) or "-"
    return (answer.input, *key_frames, answer.label, score, scores)
