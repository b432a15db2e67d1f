"""Answers as tables of events and frames, and as lines for the terminal.

Left and right are the person's. An event is a reported or a rejected movement.

Axes: n frames, R regions
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from epir.core.words import percent
from epir.recognition.answer import KEYS, Answer, facs_text, rejected_values
from epir.spotting.regions import OTHER_SIDE, REGIONS

if TYPE_CHECKING:
    import pandas as pd

REPORTED, REJECTED, NONE, ERROR = "reported", "rejected", "none", "error"  # status of a row
HEAD = ("status", "file", "movement", "track", *KEYS, *(f"{key}_s" for key in KEYS), "fps", "class")
TAIL = ("probability", "units", "strength", "region", "side", "head", "text", "reason", "warnings")
FRAME_HEAD = ("file", "frame", "time_s", "track", "face_x", "face_y", "face_side", "face_angle", "head")
REGION_COLUMNS = tuple(
    each.name if each.side == "middle" else f"{OTHER_SIDE[each.side]} {each.name}" for each in REGIONS
)
LINE_COLUMNS = ("input", "track", *KEYS, "probability", "answer", "score", "all scores")


def event_rows(answer: Answer, labels: Sequence[str] = (), *, every: bool = False) -> list[dict[str, Any]]:
    """One row per movement in order of time; a video without movements has one row. `labels` are the classes.

    `status` is `reported`, `rejected` or `none`. Candidates have the status `rejected`; `every` adds all other rejected
    movements.
    """
    listed = (answer, *answer.all, *answer.candidates)
    classes = list(labels) or list(next((each.scores for each in listed if each.scores), {}))
    rows = [_movement_row(each, classes) for each in answer.movements]
    if not rows:
        rows.append(_row(answer, classes, {"status": NONE, "class": answer.label, "text": answer.text}))
    rows += [_movement_row(each, classes) for each in answer.candidates]
    known = {(each.track or 0, each.onset) for each in answer.candidates}
    others = [each for each in answer.rejected if (each.track, each.onset) not in known] if every else []
    empty = {"status": REJECTED, "class": "", "warnings": ""}
    rows += [_row(answer, classes, {**empty, "head": percent(each.head), **rejected_values(each)}) for each in others]
    rows.sort(key=lambda row: (-1.0 if row["onset"] is None else row["onset"], row["track"] or 0))
    number = 0
    for row in rows:
        number += row["onset"] is not None
        row["movement"] = number if row["onset"] is not None else None
    return rows


def event_columns(labels: Sequence[str]) -> list[str]:
    """The columns of events.csv for these classes."""
    return [*HEAD, *(f"p_{name}" for name in labels), *TAIL]


def events_table(answer: Answer, labels: Sequence[str] = (), *, every: bool = False) -> "pd.DataFrame":
    """`event_rows` as a DataFrame."""
    rows = event_rows(answer, labels, every=every)
    return table_of(rows, list(rows[0]))


def table_of(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> "pd.DataFrame":
    """Rows of events as a DataFrame; integer columns may have missing values."""
    import pandas as pd

    whole: dict[Any, Any] = {name: "Int64" for name in ("movement", "track", *KEYS)}
    return pd.DataFrame(rows, columns=list(columns)).astype(whole)


def frames_table(answer: Answer, *, every: bool = False) -> "pd.DataFrame":
    """One row per person and frame that shows the face: time, crop, head motion, motion by region, movement.

    Motion is the distance from the resting position, in % of the face's width. The table is empty if the key frames
    were given.
    """
    import pandas as pd

    events = event_rows(answer, every=every)
    parts = []
    for track, timeline in answer.timelines.items():
        squares, skin = timeline.squares, timeline.skin
        of_track = [row for row in events if row["track"] == track and row["onset"] is not None]
        columns: dict[str, Any] = {
            "file": answer.input,
            "frame": timeline.numbers,
            "time_s": np.round(timeline.stamps, 4),
            "track": track,
            **{f"face_{name}": [round(getattr(each, name), 2) for each in squares] for name in ("x", "y", "side")},
            "face_angle": [round(each.angle, 3) for each in squares],
            "head": np.round(100 * timeline.head.astype(float), 3),
            **{name: np.round(100 * skin[:, place].astype(float), 3) for place, name in enumerate(REGION_COLUMNS)},
            "movement": pd.array([_at(number, of_track) for number in timeline.numbers.tolist()], dtype="Int64"),
        }
        parts.append(pd.DataFrame(columns))
    none = pd.DataFrame(columns=[*FRAME_HEAD, *REGION_COLUMNS, "movement"])
    return pd.concat(parts, ignore_index=True) if parts else none


def answer_lines(answers: Sequence[Answer]) -> list[str]:
    """A table with one line per movement, then what moved in words, then the warnings.

    The track is shown if there are several.
    """
    if not answers:
        return []
    every = [each for answer in answers for each in (answer.all or (answer,))]
    several = len({each.track for each in every if each.track is not None}) > 1
    chosen = [place for place, name in enumerate(LINE_COLUMNS) if several or name != "track"]
    rows = [[cells[place] for place in chosen] for cells in (LINE_COLUMNS, *(_cells(each) for each in every))]
    widths = [max(len(row[column]) for row in rows) for column in range(len(chosen))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    lines += [line for each in every if each.found for line in _moved_lines(each, named=len(every) > 1)]
    for answer in answers:
        if seen := answer.visible.text:
            lines.append(f"{answer.input}: {seen}" if len(answers) > 1 else seen)
        lines += _candidate_lines(answer)
    for answer in answers:
        notes = dict.fromkeys(warning for each in answer.all or (answer,) for warning in each.warnings)
        lines += [f"note: {answer.input}: {note}" for note in (*notes, answer.followed) if note]
    return lines


def _cells(answer: Answer) -> tuple[str, ...]:
    key_frames = (_key_cell(getattr(answer, key), getattr(answer, f"{key}_s")) for key in KEYS)
    track = "-" if answer.track is None else str(answer.track)
    score = "-" if answer.confidence is None else f"{answer.confidence:.2f}"
    scores = "  ".join(f"{name} {value:.2f}" for name, value in answer.scores.items()) or "-"
    probability = "-" if answer.probability is None else f"{answer.probability:.2f}"
    return (answer.input, track, *key_frames, probability, answer.label, score, scores)


def _moved_lines(answer: Answer, *, named: bool) -> list[str]:
    where = f"{answer.input}, apex {answer.apex}: " if named else ""
    return [f"{where}{each}" for each in (answer.text, *([answer.unit_text] if answer.units else []))]


def _candidate_lines(answer: Answer) -> list[str]:
    """The candidates, most probable first: apex, probability, reason for rejection, class and what moved."""
    ranked = sorted(answer.candidates, key=lambda each: -(each.probability or 0.0))
    return [
        f"candidate, apex {_key_cell(each.apex, each.apex_s)}: probability {each.probability:.2f}, "
        f"{each.rule}; {each.best} {each.confidence:.2f}; {each.text}"
        for each in ranked
    ]


def _key_cell(number: int | None, seconds: float | None) -> str:
    if number is None:
        return "-"
    return str(number) if seconds is None else f"{number} ({seconds:.2f} s)"


def _row(answer: Answer, classes: Sequence[str], values: dict[str, Any]) -> dict[str, Any]:
    """A row with every column; columns without a value are empty."""
    empty: dict[str, Any] = dict.fromkeys(event_columns(classes))
    empty |= {"file": answer.input, "fps": answer.fps, "units": "", "region": "", "side": "", "text": "", "reason": ""}
    return empty | {"warnings": "; ".join(answer.warnings)} | values


def _movement_row(answer: Answer, classes: Sequence[str]) -> dict[str, Any]:
    region, side = answer.region, answer.side
    if not region and answer.moved:
        region, side = answer.moved[0].region, answer.moved[0].side
    values = {
        "status": REJECTED if answer.rule else REPORTED,
        **{name: getattr(answer, name) for key in KEYS for name in (key, f"{key}_s")},
        **{f"p_{name}": answer.scores.get(name) for name in classes},
        "track": answer.track,
        "class": answer.best if answer.rule else answer.label,
        "probability": answer.probability,
        "units": facs_text(answer.active_units),
        "strength": answer.strength,
        "region": region,
        "side": side,
        "head": answer.head,
        "text": answer.text,
        "reason": answer.rule,
    }
    return _row(answer, classes, values)


def _at(number: int, events: Sequence[dict[str, Any]]) -> int | None:
    """The movement that a frame belongs to; a reported one takes precedence."""
    covering = [row for row in events if row["offset"] is not None and row["onset"] <= number <= row["offset"]]
    best = min(covering, key=lambda row: row["status"] == REJECTED, default=None)
    return None if best is None else int(best["movement"])
