"""The SQLite file of a study: its tables, and migrations from older versions.

    recording  a video: its path relative to the study, its digest, and how far it has been spotted
    movement   a candidate of the spotter, or a movement marked by hand; fixed once somebody has decided on it
    action     everything coders did, in order: decide, undo, redo. Rows are only ever added
    standing   (a view) the `decide` rows that are not undone; the last one of a coder and a movement is in force
    curve      the motion of one face over a recording, one compressed array per name
    setting    anything else as JSON, by name, such as the ranking learnt from this study

Frames of a video are counted from 0, as everywhere in epir; onset and offset are part of the movement.
Times of actions are UTC. `decision` is JSON: state, onset, apex, offset, kind, emotion, units, note.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from epir.core.errors import EpirError, MachineError

FILE = "study.db"
PATIENCE = 30.0  # seconds to wait for another writer

TABLES = """
CREATE TABLE recording (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    digest TEXT NOT NULL UNIQUE,
    bytes INTEGER NOT NULL,
    modified INTEGER NOT NULL,               -- nanoseconds: what is unchanged is not read again
    frames INTEGER NOT NULL,                 -- an estimate until it is spotted
    fps REAL NOT NULL,
    seconds REAL NOT NULL,
    turns INTEGER NOT NULL DEFAULT 0,        -- quarters by which its pictures are turned
    state TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'spotting', 'done', 'failed')),
    spotted INTEGER NOT NULL DEFAULT 0,      -- frames so far
    message TEXT NOT NULL DEFAULT ''         -- notes about it, or why it failed
) STRICT;
CREATE TABLE movement (
    id INTEGER PRIMARY KEY,
    recording INTEGER NOT NULL REFERENCES recording (id),
    face INTEGER NOT NULL DEFAULT 0,         -- the track of the person in this recording
    onset INTEGER NOT NULL,
    apex INTEGER NOT NULL,
    offset INTEGER NOT NULL,
    source TEXT NOT NULL CHECK (source IN ('spotter', 'hand', 'agreed')),
    by TEXT NOT NULL DEFAULT '',             -- the coder who marked it by hand
    probability REAL NOT NULL DEFAULT 0,
    rule TEXT NOT NULL DEFAULT '',           -- why the spotter rejected it
    region TEXT NOT NULL DEFAULT '',
    side TEXT NOT NULL DEFAULT '',           -- of the person
    strength REAL NOT NULL DEFAULT 0,
    measures TEXT NOT NULL DEFAULT '{}',
    proposal TEXT NOT NULL DEFAULT '{}',     -- of the model: class, scores, units, words
    CHECK (0 <= onset AND onset <= apex AND apex <= offset)
) STRICT;
CREATE UNIQUE INDEX spotted_once ON movement (recording, face, onset, apex, offset) WHERE source = 'spotter';
CREATE INDEX movement_recording ON movement (recording);
CREATE TABLE action (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    coder TEXT NOT NULL CHECK (coder <> ''),
    kind TEXT NOT NULL CHECK (kind IN ('decide', 'undo', 'redo')),
    movement INTEGER NOT NULL REFERENCES movement (id),
    target INTEGER REFERENCES action (id),   -- the `decide` row that is undone or redone
    blind INTEGER NOT NULL DEFAULT 0,        -- whether the proposal was hidden
    decision TEXT NOT NULL DEFAULT '{}',
    CHECK ((kind = 'decide') = (target IS NULL))
) STRICT;
CREATE INDEX action_target ON action (target);
CREATE INDEX action_coder ON action (coder, movement);
CREATE TRIGGER actions_stay BEFORE UPDATE ON action BEGIN SELECT RAISE(ABORT, 'actions are never changed'); END;
CREATE TRIGGER actions_remain BEFORE DELETE ON action BEGIN SELECT RAISE(ABORT, 'actions are never removed'); END;
CREATE VIEW standing AS
    SELECT * FROM action AS done WHERE kind = 'decide' AND COALESCE(
        (SELECT kind FROM action AS later WHERE later.target = done.id ORDER BY later.id DESC LIMIT 1), 'redo'
    ) = 'redo';
CREATE TABLE curve (
    recording INTEGER NOT NULL REFERENCES recording (id),
    face INTEGER NOT NULL,
    name TEXT NOT NULL,
    type TEXT NOT NULL,                      -- of numpy: float32, int32
    width INTEGER NOT NULL,                  -- columns
    content BLOB NOT NULL,                   -- zlib
    PRIMARY KEY (recording, face, name)
) STRICT;
CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
"""
MIGRATIONS = (TABLES,)  # the n-th turns version n into n + 1, when an old study is opened


class StudyError(EpirError):
    """A study that cannot be used, or an operation that is not possible in it."""


READ_ONLY = " cannot be written", "change its permissions, or copy the study to a folder you can write to"
DAMAGED = " is damaged", "restore it from a backup"
FAULTS: tuple[tuple[str, type[EpirError], str, str], ...] = (  # part of SQLite's message -> error
    ("full", MachineError, ": the disk is full; nothing was saved", "free disk space, then decide again"),
    ("readonly", MachineError, *READ_ONLY),
    ("unable to open", MachineError, *READ_ONLY),
    ("locked", MachineError, " is busy: another program is writing to it", "wait, then try again"),
    ("disk I/O", MachineError, ": the disk reports an error", "check the disk, then try again"),
    ("malformed", StudyError, *DAMAGED),
    ("not a database", StudyError, *DAMAGED),
)


def connect(folder: Path, *, create: bool = False) -> sqlite3.Connection:
    """Open the file of a study and migrate it to this version; read-only if the folder cannot be written."""
    path = folder / FILE
    if not create and not path.is_file():
        raise StudyError(f"{folder} is not a study: it has no {FILE}", fix="epir annotate RECORDINGS --out STUDY")
    with translated(path):
        connection = _open(path)
        try:
            _migrate(connection, path)
        except sqlite3.OperationalError as error:
            connection.close()
            if "readonly" not in str(error) and "unable to open" not in str(error):
                raise
            connection = _open(path, "?mode=ro" if path.with_name(f"{FILE}-wal").exists() else "?mode=ro&immutable=1")
            if _version(connection) != len(MIGRATIONS):
                raise StudyError(
                    f"{path} is from an older epir and cannot be migrated: it is read-only",
                    fix="copy the study to a folder you can write to",
                ) from None
    return connection


def _open(path: Path, options: str = "") -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}{options}",
        uri=True,
        timeout=PATIENCE,
        check_same_thread=False,
        isolation_level=None,
    )
    connection.row_factory = sqlite3.Row
    return connection


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")  # an acknowledged action survives a power cut
    connection.execute("PRAGMA wal_autocheckpoint = 1")  # study.db holds everything, so that a copy is a backup
    connection.execute("PRAGMA foreign_keys = ON")
    version = _version(connection)
    if version > len(MIGRATIONS):
        raise StudyError(
            f"{path} was written by a newer epir (version {version} of its tables)", fix="install that version of epir"
        )
    if version == len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for number in range(_version(connection), len(MIGRATIONS)):  # another process may have migrated it meanwhile
            for statement in _statements(MIGRATIONS[number]):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _statements(script: str) -> Iterator[str]:
    """The statements of a script, to run them in one transaction (`executescript` would commit)."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite errors into errors with a fix."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        for words, kind, problem, fix in FAULTS:
            if words in str(error):
                raise kind(f"{path}{problem}", fix=fix) from None
        raise
