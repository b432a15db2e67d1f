"""An answer as tables and tiers that annotators open: events, frames, ELAN, Praat, MEGC.

Left and right are those of the person. An event is a movement, or what was taken for none and why.

Axes: n frames, R regions
"""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from epir.core.errors import MissingExtra
from epir.datasets.annotations import APEX, EMOTION, UNITS
from epir.datasets.tiers import Interval, Tier, without_overlap, write_eaf, write_textgrid
from epir.recognition.answer import Answer, units_text
from epir.spotting.regions import OTHER_SIDE, REGIONS
from epir.spotting.submission import SPOTTING_HEADERS, TYPES
from epir.spotting.timeline import Movement, Timeline

if TYPE_CHECKING:
    import pandas as pd

KEYS = ("onset", "apex", "offset")
HEAD = ("file", "movement", "track", *KEYS, *(f"{key}_s" for key in KEYS), "fps", "class")
TAIL = ("probability", "units", "strength", "region", "side", "text", "rejected", "reason", "warnings")
FRAME_HEAD = ("file", "frame", "time_s", "track", "face_x", "face_y", "face_side", "face_angle", "head")
REGION_COLUMNS = tuple(
    each.name if each.side == "middle" else f"{OTHER_SIDE[each.side]} {each.name}" for each in REGIONS
)
WHAT_MOVED, REJECTED = "what moved", "rejected"  # tiers
CHALLENGE = "2024"


def event_rows(answer: Answer, labels: Sequence[str] = ()) -> list[dict[str, Any]]:
    """One row per movement and per rejected one, in the order of time; a video without a movement has a row too.

    `labels` are the classes, where the answer has no scores to tell them.
    """
    classes = list(labels) or list(next((each.scores for each in (answer, *answer.all) if each.scores), {}))
    rows = [_movement_row(each, classes) for each in _movements(answer)]
    if not rows:
        rows.append(_row(answer, classes, {"class": answer.label, "text": answer.text, "rejected": False}))
    for timeline in _timelines(answer).values():
        rows += [_rejected_row(answer, each, timeline, classes) for each in timeline.others]
    rows.sort(key=lambda row: (-1.0 if row["onset"] is None else row["onset"], row["track"] or 0))
    number = 0
    for row in rows:
        number += row["onset"] is not None
        row["movement"] = number if row["onset"] is not None else None
    return rows


def event_columns(labels: Sequence[str]) -> list[str]:
    """The columns of events.csv for these classes."""
    return [*HEAD, *(f"p_{name}" for name in labels), *TAIL]


def events_table(answer: Answer, labels: Sequence[str] = ()) -> "pd.DataFrame":
    """`event_rows` as a DataFrame."""
    import pandas as pd

    rows = event_rows(answer, labels)
    whole: dict[Any, Any] = {name: "Int64" for name in ("movement", "track", *KEYS)}
    return pd.DataFrame(rows, columns=list(rows[0])).astype(whole)


def frames_table(answer: Answer) -> "pd.DataFrame":
    """One row per frame that shows the face, for each person: time, face, head, motion by region, movement.

    Motion is how far a part is from its rest, as a share of the face's width; empty where nothing was spotted.
    """
    import pandas as pd

    events = event_rows(answer)
    parts = []
    for track, timeline in _timelines(answer).items():
        count = len(timeline.numbers)
        squares = timeline.squares[:count]
        stamps = timeline.numbers / timeline.fps if timeline.stamps is None else timeline.stamps
        skin = np.zeros((count, len(REGIONS))) if timeline.skin is None else timeline.skin
        own = [row for row in events if row["track"] == track and row["onset"] is not None]
        columns: dict[str, Any] = {
            "file": answer.input,
            "frame": timeline.numbers,
            "time_s": np.round(stamps, 4),
            "track": track,
            "face_x": [round(each.x, 2) for each in squares],
            "face_y": [round(each.y, 2) for each in squares],
            "face_side": [round(each.side, 2) for each in squares],
            "face_angle": [round(each.angle, 3) for each in squares],
            "head": np.round(timeline.head.astype(float), 5),
            **{name: np.round(skin[:, place].astype(float), 5) for place, name in enumerate(REGION_COLUMNS)},
            "movement": pd.array([_at(number, own) for number in timeline.numbers.tolist()], dtype="Int64"),
        }
        parts.append(pd.DataFrame(columns))
    columns_of_none = [*FRAME_HEAD, *REGION_COLUMNS, "movement"]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns_of_none)


def answer_tiers(answer: Answer) -> list[Tier]:
    """The movements as tiers: emotion, apex, action units, what moved, and what was rejected; per person if several."""
    rows = [row for row in event_rows(answer) if row["onset_s"] is not None]
    tracks = sorted({row["track"] or 0 for row in rows})
    tiers: list[Tier] = []
    for track in tracks:
        person = f" of {track}" if len(tracks) > 1 else ""
        own = [row for row in rows if (row["track"] or 0) == track]
        found = [row for row in own if not row["rejected"]]
        frame = 1 / (answer.fps or 1000.0)
        tiers += without_overlap(EMOTION + person, (_interval(row, row["class"]) for row in found))
        apexes = (Interval(row["apex_s"], row["apex_s"] + frame, "apex") for row in found)
        tiers += without_overlap(APEX + person, apexes, points=True)
        tiers += without_overlap(UNITS + person, (_interval(row, row["units"]) for row in found if row["units"]))
        tiers += without_overlap(WHAT_MOVED + person, (_interval(row, row["text"]) for row in found))
        rejected = (_interval(row, row["reason"]) for row in own if row["rejected"])
        tiers += without_overlap(REJECTED + person, rejected)
    return tiers


def write_tables(given: Any, answer: Answer, folder: Path, labels: Sequence[str] = ()) -> tuple[list[Path], list[str]]:
    """Write events.csv, frames.csv, the MEGC submission and both tier files; also gives notes on what was left out."""
    stem = Path(given).stem if isinstance(given, str | Path) else "answer"
    written = [folder / "events.csv"]
    events_table(answer, labels).to_csv(written[0], index=False)
    notes: list[str] = []
    if answer.timeline is None:
        return written, notes
    written.append(folder / "frames.csv")
    frames_table(answer).to_csv(written[-1], index=False)
    written.append(folder / "megc.csv")
    first = 0 if isinstance(given, str | Path) and Path(given).is_dir() else 1  # pictures bear their numbers
    written[-1].write_text(megc_text(answer, stem, first), encoding="utf-8")
    tiers, media = answer_tiers(answer), Path(given) if isinstance(given, str | Path) else None
    try:
        written.append(write_eaf(folder / f"{stem}.eaf", tiers, media))
        written.append(write_textgrid(folder / f"{stem}.TextGrid", tiers, answer.timeline.seconds))
    except MissingExtra as error:
        notes.append(f"{error.problem}: no .eaf and .TextGrid were written; {error.fix}")
    return written, notes


def megc_text(answer: Answer, name: str, first: int) -> str:
    """The micro-expressions of a video in the format of the spotting challenges; `first` makes frames count from 1."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(SPOTTING_HEADERS[CHALLENGE])
    for each in _movements(answer):
        if each.onset is not None and each.offset is not None:
            writer.writerow((name, each.onset + first, each.offset + first, TYPES["micro"]))
    return text.getvalue()


def _movements(answer: Answer) -> tuple[Answer, ...]:
    return answer.all or ((answer,) if answer.found else ())


def _timelines(answer: Answer) -> dict[int, Timeline]:
    """The motion of each person; of people without any movement only where nobody has one."""
    found = {each.track or 0: each.timeline for each in (answer, *answer.all) if each.timeline is not None}
    return dict(sorted(found.items()))


def _row(answer: Answer, classes: Sequence[str], values: dict[str, Any]) -> dict[str, Any]:
    """A row with every column; what is not said is empty."""
    empty: dict[str, Any] = dict.fromkeys(event_columns(classes))
    empty |= {"file": answer.input, "fps": answer.fps, "units": "", "region": "", "side": "", "text": "", "reason": ""}
    return empty | {"warnings": "; ".join(answer.warnings)} | values


def _movement_row(answer: Answer, classes: Sequence[str]) -> dict[str, Any]:
    region, side = (answer.moved[0].region, answer.moved[0].side) if answer.moved else ("", "")
    spotted = _spotted(answer)
    if spotted is not None:
        region, side = spotted.region, OTHER_SIDE[spotted.side]
    times = {f"{key}_s": getattr(answer, f"{key}_s") for key in KEYS}
    values = {
        **{key: getattr(answer, key) for key in KEYS},
        **times,
        **{f"p_{name}": answer.scores.get(name) for name in classes},
        "track": answer.track,
        "class": answer.label,
        "probability": answer.probability,
        "units": units_text(answer.active_units),
        "strength": answer.strength,
        "region": region,
        "side": side,
        "text": answer.text,
        "rejected": False,
    }
    return _row(answer, classes, values)


def _spotted(answer: Answer) -> Movement | None:
    found = answer.timeline.movements if answer.timeline is not None else ()
    return next((each for each in found if each.onset == answer.onset), None)


def _rejected_row(answer: Answer, movement: Movement, timeline: Timeline, classes: Sequence[str]) -> dict[str, Any]:
    values = {
        **{key: getattr(movement, key) for key in KEYS},
        **{f"{key}_s": round(seconds, 4) for key, seconds in zip(KEYS, movement.seconds, strict=True)},
        "track": movement.track,
        "class": "",
        "probability": round(movement.probability, 4),
        "strength": round(movement.strength, 5),
        "region": movement.region,
        "side": OTHER_SIDE[movement.side],
        "rejected": True,
        "reason": movement.kind,
        "warnings": "",
    }
    return _row(answer, classes, values)


def _at(number: int, events: Sequence[dict[str, Any]]) -> int | None:
    """The movement that a frame belongs to; one that was not rejected where there are two."""
    found: Iterator[dict[str, Any]] = (
        row for row in events if row["offset"] is not None and row["onset"] <= number <= row["offset"]
    )
    best = min(found, key=lambda row: row["rejected"], default=None)
    return None if best is None else int(best["movement"])


def _interval(row: dict[str, Any], label: str) -> Interval:
    end = row["apex_s"] if row["offset_s"] is None else row["offset_s"]
    return Interval(float(row["onset_s"]), float(end), label)
