"""A study: recordings, movements and decisions in one SQLite file (`epir.annotation.schema`).

    with Study.open("study") as study:
        for decision in study.decisions("anna"):
            ...

Every call goes to the disk, so several processes and windows can use one study at once.
"""

import json
import threading
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np

from epir.annotation.records import (
    DRAFT,
    INTENSITIES,
    KINDS,
    LONGEST_NOTE,
    SIDES,
    STATES,
    Decision,
    Recording,
    StudyAction,
    StudyMovement,
    UnitCode,
)
from epir.annotation.schema import FILE, StudyError, connect, translated
from epir.annotation.vocabulary import Vocabulary, distinct_names, read_vocabulary, write_vocabulary
from epir.core.config import check_known
from epir.core.output import STUDY, claimed, mark, resolved


class ChangedMeanwhile(StudyError):
    """Another window has decided on the same movement."""


class Study:
    """An open study; use `Study.create` or `Study.open`."""

    def __init__(self, folder: Path, *, create: bool = False) -> None:
        self.folder = folder
        self.words: Vocabulary = read_vocabulary(folder)
        self._lock = threading.RLock()
        self._connection = connect(folder, create=create)

    @classmethod
    def create(cls, folder: str | Path, *, faces: Literal["largest", "all"] = "largest") -> "Study":
        """Create a study in an empty folder; `epir.annotation.recordings.add_recordings` fills it."""
        with claimed(folder, STUDY) as path:
            path.mkdir(parents=True, exist_ok=True)
            write_vocabulary(path, faces)
            study = cls(path, create=True)
            mark(path, STUDY)
        return study

    @classmethod
    def open(cls, folder: str | Path) -> "Study":
        """Open the study in a folder."""
        return cls(resolved(folder))

    def close(self) -> None:
        """Close the file; nothing is lost without it."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> "Study":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    # ------------------------------------------------------------------------------------------------------ reading

    def recordings(self) -> list[Recording]:
        """All recordings, sorted by path."""
        rows = [dict(row) for row in self._rows("SELECT * FROM recording ORDER BY path")]
        names = distinct_names(tuple(row["path"] for row in rows))
        return [
            Recording(**row, name=names[row["path"]], person=self.words.person(row["path"], names[row["path"]]))
            for row in rows
        ]

    def recording(self, id: int) -> Recording:
        """One recording."""
        for recording in self.recordings():
            if recording.id == id:
                return recording
        raise StudyError(f"there is no recording {id}", fix="reload the page")

    def person(self, recording: Recording, face: int = 0) -> str:
        """The name of the person behind a face of a recording."""
        return self.words.person(recording.path, recording.name, face)

    def check_people(self) -> None:
        """Raise if study.toml names people in something that is not a recording of this study."""
        self.words.check_people([recording.path for recording in self.recordings()])

    def path(self, recording: Recording) -> Path:
        """The path of the video."""
        return resolved(self.folder / recording.path)

    def movements(self, recording: int | None = None) -> list[StudyMovement]:
        """Candidates and marks, in order of time; without marks whose decision was undone."""
        where, values = ("", ()) if recording is None else ("AND m.recording = ?", (recording,))
        query = (
            "SELECT * FROM movement AS m WHERE (source <> 'hand' OR EXISTS "
            f"(SELECT 1 FROM standing AS s WHERE s.movement = m.id)) {where} ORDER BY recording, apex, id"
        )
        return [_movement(row) for row in self._rows(query, *values)]

    def movement(self, id: int) -> StudyMovement:
        """One movement."""
        rows = self._rows("SELECT * FROM movement WHERE id = ?", id)
        if not rows:
            raise StudyError(f"there is no movement {id}", fix="reload the page")
        return _movement(rows[0])

    def decisions(
        self, coder: str | None = None, recording: int | None = None, *, drafts: bool = False
    ) -> list[Decision]:
        """The decisions in force, in order of recording and time; with `drafts`, also edits without a decision."""
        query = (
            "SELECT s.* FROM standing AS s JOIN movement AS m ON m.id = s.movement WHERE s.id = "
            "(SELECT MAX(id) FROM standing AS t WHERE t.movement = s.movement AND t.coder = s.coder)"
            f"{'' if coder is None else ' AND s.coder = ?'}{'' if recording is None else ' AND m.recording = ?'} "
            "ORDER BY m.recording, m.apex, m.id, s.coder"
        )
        values = [value for value in (coder, recording) if value is not None]
        standing = [_decision(row) for row in self._rows(query, *values)]
        return [decision for decision in standing if drafts or decision.state in STATES]

    def coders(self) -> list[str]:
        """The names of everybody who has decided something, sorted."""
        return [row[0] for row in self._rows("SELECT DISTINCT coder FROM standing ORDER BY coder")]

    def latest(self) -> int:
        """The id of the latest action of anybody; 0 if there is none."""
        return int(self._rows("SELECT COALESCE(MAX(id), 0) FROM action")[0][0])

    def history(self, coder: str | None = None, movement: int | None = None) -> list[StudyAction]:
        """The actions of a coder, on a movement, or all, in order."""
        parts = [part for part, value in (("coder = ?", coder), ("movement = ?", movement)) if value is not None]
        where = f"WHERE {' AND '.join(parts)}" if parts else ""
        values = [value for value in (coder, movement) if value is not None]
        actions = []
        done: dict[tuple[str, int], list[Any]] = {}  # rows not undone, by coder and movement
        for row in self._rows(f"SELECT * FROM action {where} ORDER BY id", *values):
            held = done.setdefault((row["coder"], row["movement"]), [])
            if row["kind"] == "undo":
                held[:] = [other for other in held if other["id"] != row["target"]]
            elif row["kind"] == "redo":
                held += self._rows("SELECT * FROM action WHERE id = ?", row["target"])
            else:
                held.append(row)
            now = _decision(held[-1]) if held else None
            actions.append(StudyAction(row["id"], row["at"], row["coder"], row["kind"], row["movement"], now))
        return actions

    # ------------------------------------------------------------------------------------------------------- coding

    def decide(
        self, coder: str, movement: int, *, after: int | None = None, blind: bool = False, **fields: Any
    ) -> Decision:
        """Add a decision; fields that are not given keep the coder's value, or the proposed one.

        `after` is the id of the action that the coder saw (0 for none): if another one is in force by now, nothing is
        written and `ChangedMeanwhile` is raised.
        """
        self.words.check_coder(coder)
        known = self.movement(movement)
        with self._writing():
            held = self._held(coder, movement)
            if after is not None and after != (held.action if held else 0):
                raise ChangedMeanwhile(
                    "this movement was decided in another window meanwhile",
                    fix="check the new decision, then decide again",
                )
            before = held or Decision(movement, coder, DRAFT, known.onset, known.apex, known.offset)
            decision = self._checked(replace(before, **_fields(fields)), known)
            if held is not None and decision == held:
                return held
            action = self._act(coder, "decide", movement, blind=blind, decision=decision)
        return replace(decision, action=action, blind=blind)

    def mark(
        self,
        coder: str,
        recording: int,
        onset: int,
        apex: int,
        offset: int,
        *,
        face: int = 0,
        blind: bool = False,
        **fields: Any,
    ) -> StudyMovement:
        """Mark a movement that the spotter did not propose, and accept it."""
        self.words.check_coder(coder)
        with self._writing():
            faces = self.faces(self.recording(recording).id) or [0]
            if face not in faces:
                raise StudyError(
                    f"recording {recording} has no face {face + 1}",
                    fix=f"mark on one of its faces: {', '.join(str(number + 1) for number in faces)}",
                )
            new = StudyMovement(0, recording, face, onset, apex, offset, "hand", coder)
            decision = Decision(0, coder, "accept", onset, apex, offset)
            decision = self._checked(replace(decision, **_fields(fields)), new)
            id = self._insert_movement(new)
            self._act(coder, "decide", id, blind=blind, decision=decision)
        return replace(new, id=id)

    def undo(self, coder: str) -> StudyAction | None:
        """Undo the last decision of a coder; None if there is none."""
        return self._step(coder, "undo")

    def redo(self, coder: str) -> StudyAction | None:
        """Redo the decision undone last, unless the coder has decided something since; None if there is none."""
        return self._step(coder, "redo")

    def _step(self, coder: str, kind: Literal["undo", "redo"]) -> StudyAction | None:
        with self._writing():
            done: list[Any] = []
            undone: list[Any] = []
            for row in self._rows("SELECT id, kind, movement FROM action WHERE coder = ? ORDER BY id", coder):
                if row["kind"] == "undo":
                    undone.append(done.pop())
                elif row["kind"] == "redo":
                    done.append(undone.pop())
                else:
                    done.append(row)
                    undone.clear()
            stack = done if kind == "undo" else undone
            if not stack:
                return None
            target = stack[-1]
            self._act(coder, kind, target["movement"], target=target["id"])
        return self.history(coder, target["movement"])[-1]

    def _held(self, coder: str, movement: int) -> Decision | None:
        query = "SELECT * FROM standing WHERE coder = ? AND movement = ? ORDER BY id DESC LIMIT 1"
        rows = self._rows(query, coder, movement)
        return _decision(rows[0]) if rows else None

    def _checked(self, decision: Decision, movement: StudyMovement) -> Decision:
        check_known(decision.state, (*STATES, DRAFT), what="state of a decision")
        check_known(decision.kind, KINDS, what="kind of movement")
        if decision.emotion:
            check_known(decision.emotion, self.words.emotions, section="study.toml", what="emotion")
        last = self.recording(movement.recording).frames - 1
        if not 0 <= decision.onset <= decision.apex <= decision.offset <= last:
            raise StudyError(
                f"onset {decision.onset}, apex {decision.apex} and offset {decision.offset} are not in order",
                fix=f"give frames from 0 to {last}, the onset first and the offset last",
            )
        if len(decision.note) > LONGEST_NOTE:
            raise StudyError(f"the note has more than {LONGEST_NOTE} characters", fix="shorten it")
        if len({(unit.number, unit.side) for unit in decision.units}) < len(decision.units):
            raise StudyError("an action unit is given twice", fix="give each unit once")
        for unit in decision.units:
            if not 0 < unit.number < 100 or unit.side not in SIDES or unit.intensity not in INTENSITIES:
                raise StudyError(
                    f"{unit} is not an action unit", fix="give a number, left or right, and A to E, such as L12B"
                )
        return decision

    def _act(
        self,
        coder: str,
        kind: str,
        movement: int,
        *,
        target: int | None = None,
        blind: bool = False,
        decision: Decision | None = None,
    ) -> int:
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        values = (now, coder, kind, movement, target, int(blind), _decision_json(decision))
        query = "INSERT INTO action (at, coder, kind, movement, target, blind, decision) VALUES (?, ?, ?, ?, ?, ?, ?)"
        return int(self._execute(query, *values).lastrowid)

    # ----------------------------------------------------------------------------------------------------- spotting

    def add_recording(
        self, path: str | Path, digest: str, *, frames: int, fps: float, size: int = 0, modified: int = 0
    ) -> Recording:
        """Add a video, or update the path of a known one; the digest identifies it."""
        relative = Path(path).as_posix()
        with self._writing():
            known = self._rows("SELECT id FROM recording WHERE digest = ?", digest)
            if known:
                id = known[0]["id"]
                self.update_recording(id, path=relative, bytes=size, modified=modified)
            else:
                names = "path, digest, bytes, modified, frames, fps, seconds"
                values = (relative, digest, size, modified, frames, fps, frames / fps)
                id = self._execute(f"INSERT INTO recording ({names}) VALUES (?, ?, ?, ?, ?, ?, ?)", *values).lastrowid
            return self.recording(int(id))

    def update_recording(self, id: int, **values: Any) -> None:
        """Change columns of a recording."""
        names = ", ".join(f"{name} = ?" for name in values)
        with self._writing():
            self._execute(f"UPDATE recording SET {names} WHERE id = ?", *values.values(), id)

    def add_movements(self, movements: Iterable[StudyMovement]) -> list[int]:
        """Add candidates and return their ids; a known one keeps its id and decisions, and gets the new measures."""
        with self._writing():
            return [self._insert_movement(movement) for movement in movements]

    def keep_movements(self, recording: int, kept: Sequence[int]) -> None:
        """Remove the candidates of a recording that are not in `kept`, unless somebody has decided on them."""
        with self._writing():
            known = self._rows(
                "SELECT id FROM movement AS m WHERE recording = ? AND source = 'spotter' AND NOT EXISTS "
                "(SELECT 1 FROM action WHERE movement = m.id)", recording,
            )  # fmt: skip
            for id in {row["id"] for row in known} - set(kept):
                self._execute("DELETE FROM movement WHERE id = ?", id)

    def _insert_movement(self, movement: StudyMovement) -> int:
        values = asdict(movement)
        del values["id"]
        values["measures"], values["proposal"] = (json.dumps(values[name]) for name in ("measures", "proposal"))
        names = ", ".join(values)
        later = ("probability", "rule", "region", "side", "strength", "measures", "proposal")
        query = (
            f"INSERT INTO movement ({names}) VALUES ({', '.join('?' * len(values))}) "
            "ON CONFLICT (recording, face, onset, apex, offset) WHERE source = 'spotter' DO UPDATE SET "
            f"{', '.join(f'{name} = excluded.{name}' for name in later)} RETURNING id"
        )
        return int(self._rows(query, *values.values())[0]["id"])

    def set_curves(self, recording: int, face: int, curves: Mapping[str, np.ndarray]) -> None:
        """Store arrays (n,) or (n, columns) of a face by name; replaces existing ones."""
        query = (
            "INSERT INTO curve VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (recording, face, name) "
            "DO UPDATE SET type = excluded.type, width = excluded.width, content = excluded.content"
        )
        with self._writing():
            for name, values in curves.items():
                width = 0 if values.ndim == 1 else values.shape[1]
                content = zlib.compress(np.ascontiguousarray(values).tobytes(), 1)
                self._execute(query, recording, face, name, values.dtype.name, width, content)

    def curves(self, recording: int, face: int) -> dict[str, np.ndarray]:
        """The arrays of a face by name; empty until it has been spotted."""
        curves = {}
        for row in self._rows("SELECT * FROM curve WHERE recording = ? AND face = ?", recording, face):
            values = np.frombuffer(zlib.decompress(row["content"]), row["type"])
            curves[row["name"]] = values.reshape(-1, row["width"]) if row["width"] else values
        return curves

    def faces(self, recording: int) -> list[int]:
        """The tracked faces of a recording."""
        rows = self._rows("SELECT DISTINCT face FROM curve WHERE recording = ? ORDER BY face", recording)
        return [row["face"] for row in rows]

    def setting(self, name: str) -> Any:
        """The value stored under a name, or None."""
        rows = self._rows("SELECT value FROM setting WHERE name = ?", name)
        return json.loads(rows[0]["value"]) if rows else None

    def set_setting(self, name: str, value: Any) -> None:
        """Store a JSON value under a name."""
        with self._writing():
            query = "INSERT INTO setting VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
            self._execute(query, name, json.dumps(value))

    # --------------------------------------------------------------------------------------------------------- SQL

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with self._lock, translated(self.folder / FILE):
            return self._connection.execute(query, values).fetchall()

    def _execute(self, query: str, *values: Any) -> Any:
        with self._lock, translated(self.folder / FILE):
            return self._connection.execute(query, values)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction: when the block ends, all of it is on the disk, or nothing."""
        with self._lock:
            if self._connection.in_transaction:
                yield
                return
            self._execute("BEGIN IMMEDIATE")
            try:
                yield
                self._execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.rollback()
                raise


def _fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    known = ("state", "onset", "apex", "offset", "kind", "emotion", "units", "note")
    for name in fields:
        check_known(name, known, what="part of a decision")
    if "units" not in fields:
        return dict(fields)
    units = tuple(unit if isinstance(unit, UnitCode) else UnitCode(**unit) for unit in fields["units"])
    return {**fields, "units": units}


def _decision(row: Any) -> Decision:
    values = json.loads(row["decision"])
    units = tuple(UnitCode(**unit) for unit in values.pop("units"))
    return Decision(row["movement"], row["coder"], **values, units=units, action=row["id"], blind=bool(row["blind"]))


def _decision_json(decision: Decision | None) -> str:
    if decision is None:
        return "{}"
    values = asdict(decision)
    return json.dumps({name: values[name] for name in values if name not in ("movement", "coder", "action", "blind")})


def _movement(row: Any) -> StudyMovement:
    values = dict(row)
    for name in ("measures", "proposal"):
        values[name] = json.loads(values[name])
    return StudyMovement(**cast(Any, values))
