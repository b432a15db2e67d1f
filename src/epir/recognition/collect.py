"""Answer many videos in parallel and collect the movements in one events.csv; a second run resumes it.

Rows are written every few seconds, in the order of the inputs. Each row carries a digest of the model and settings, the
identity of its input and a digest of all rows of that input. So a table never mixes two models, and an input is
answered again if it has changed or its rows were edited. Inputs that failed have a row with their error, and a second
run retries them.
"""

import csv
import io
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from epir.core.config import digest
from epir.core.engines import Engine, Progress, Silent
from epir.core.errors import EpirError, EpirWarning
from epir.core.files import VIDEO_ENDINGS, csv_text, file_digest, read_text, write_text
from epir.core.output import claimed_file
from epir.core.store import NAMED, file_identity
from epir.models.folder import find_folder
from epir.models.packed import PackedModel, pack_model
from epir.recognition.batch import error_values, gather_inputs
from epir.recognition.events import ERROR, REPORTED, event_columns, event_rows
from epir.recognition.recognizer import Recognizer
from epir.recognition.source import source_name, source_paths

EVERY = 2.0  # seconds after which the table is written again
VERSION = 3  # of the rows; increase it when the code changes the answers
INPUT, DIGEST = "input", "digest"  # columns: the identity of the input, and the digest of its rows

Source = str | tuple[str, str]
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class CollectOptions:
    """The options that an answer depends on, as on the command line."""

    model: str | None = None
    backend: str | None = None
    threshold: float | None = None
    detector: str | None = None
    sensitivity: str = "normal"
    fps: float | None = None
    start: float | None = None
    end: float | None = None
    faces: str = "largest"
    every: bool = False  # include rejected movements
    candidates: float = 0.0  # per minute


@dataclass(frozen=True)
class Collected:
    """The table and what this call added to it."""

    table: Path
    answered: int  # inputs, in this call
    known: int  # inputs that the table already held
    movements: int  # micro-expressions in the whole table
    errors: tuple[tuple[str, EpirError], ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        counts = {"answered": self.answered, "known": self.known, "movements": self.movements}
        return {"table": str(self.table), **counts, "errors": error_values(self.errors)}


def collect_events(
    inputs: Sequence[str],
    table: str | Path,
    options: CollectOptions | None = None,
    *,
    workers: int | None = 1,
    engine: Engine | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Collected:
    """Answer every input that `table` does not hold yet; `workers=None` takes one process per core.

    `engine` can run the work elsewhere: `Engine("ray", address="10.0.0.1:6379")`, with the inputs on a disk that all
    nodes see.
    """
    table, options, progress = Path(table), options or CollectOptions(), progress or Silent()
    engine = engine or Engine(workers=workers)
    engine.check_address()
    labels, state = _model(options).labels, _state(options)
    columns = [*event_columns(labels), "error", "settings", INPUT, DIGEST]
    sources = videos_of(inputs)
    errors: list[tuple[str, EpirError]] = []
    with claimed_file(table, force=True, inputs=sources):  # continue a table that this command wrote
        rows = _read(table, columns, None if force else state) if table.exists() else {}
        by_name = {source_name(source): source for source in gather_inputs(sources)}
        identities = {name: _identity(source) for name, source in by_name.items()}  # before the work, not after it
        known = _up_to_date(rows, identities, columns)
        missing = {name: source for name, source in by_name.items() if name not in known}
        written, done = time.monotonic(), 0
        progress.start("videos", len(missing))
        try:
            jobs = [(name, _absolute(source)) for name, source in missing.items()]  # workers may start elsewhere
            shared = (options, pack_model(options.model)) if engine.is_cluster else (options,)
            for name, answered, error in engine.run(_answer, jobs, *shared, files=_files):
                if error is not None:
                    errors.append((name, error))
                    answered = [{"status": ERROR, "file": name, "error": error.problem}]
                rows[name] = _signed([{**row, "settings": state, INPUT: identities[name]} for row in answered], columns)
                done += 1
                progress.advance(note=f"{Path(name).name}, {done} of {len(missing)}")
                if time.monotonic() - written > EVERY:
                    _write(table, columns, rows, list(by_name))
                    written = time.monotonic()
        finally:  # keep what is done, also after Ctrl-C
            _write(table, columns, rows, list(by_name))
            progress.finish()
    movements = sum(row["status"] == REPORTED for of_input in rows.values() for row in of_input)
    return Collected(table, len(missing) - len(errors), len(known), movements, tuple(errors))


def videos_of(inputs: Iterable[str]) -> list[str]:
    """The inputs, with each folder replaced by the videos in it and its subfolders, if it has any."""
    videos: list[str] = []
    for name in inputs:
        inside = Path(name).rglob("*") if Path(name).is_dir() else ()
        videos += sorted(str(path) for path in inside if path.suffix.lower() in VIDEO_ENDINGS) or [name]
    return videos


def _absolute(source: Source) -> Source:
    onset, *apex = (str(Path(path).absolute()) for path in source_paths(source))
    return (onset, apex[0]) if apex else onset


def _files(job: tuple[str, Source]) -> list[Path]:
    """The files that a cluster node must be able to read."""
    return [Path(path) for path in source_paths(job[1])]


def _answer(
    job: tuple[str, Source], options: CollectOptions, packed: PackedModel | None = None
) -> tuple[str, Rows, EpirError | None]:
    """The rows of one input, or its error."""
    name, source = job
    recognizer = _model(options, packed)
    try:
        answer = recognizer.predict(
            source,
            fps=options.fps,
            start=options.start,
            end=options.end,
            faces=options.faces,  # type: ignore[arg-type]
            candidates=options.candidates,
            name=name,
            explain=False,  # a table has no pictures
        )
    except EpirError as error:
        return name, [], error
    return name, event_rows(answer, recognizer.labels, every=options.every), None


@cache
def _model(options: CollectOptions, packed: PackedModel | None = None) -> Recognizer:
    """The recognizer, loaded once per process."""
    return Recognizer.from_pretrained(
        options.model if packed is None else packed.unpack(),
        backend=options.backend,  # type: ignore[arg-type]
        threshold=options.threshold,
        detector=options.detector,  # type: ignore[arg-type]
        sensitivity=options.sensitivity,  # type: ignore[arg-type]
    )


def _state(options: CollectOptions) -> str:
    """A digest of the model's files and the options."""
    place = find_folder(options.model)
    files = [place] if place.is_file() else sorted(p for p in place.iterdir() if p.suffix in (".json", ".safetensors"))
    weights = {path.name: file_digest(path) for path in files}
    return digest([VERSION, weights, {**asdict(options), "model": None}])[:12]


def _identity(source: Source) -> str:
    """A digest that changes with the input's files."""
    return digest([file_identity(Path(path)) for path in source_paths(source)])


def _signed(rows: Rows, columns: Sequence[str]) -> Rows:
    """The rows of one input as text, each with the digest of all of them."""
    texts = [{name: _text(row.get(name)) for name in columns if name != DIGEST} for row in rows]
    return [{**row, DIGEST: digest(texts)} for row in texts]


def _up_to_date(rows: dict[str, Rows], identities: Mapping[str, str], columns: Sequence[str]) -> list[str]:
    """The inputs whose rows in the table can be used; warns about rows that changed."""
    edited = {name for name, each in rows.items() if each != _signed(each, columns)}
    changed = {name for name in rows.keys() & identities.keys() if rows[name][0][INPUT] != identities[name]}
    failed = {name for name, each in rows.items() if any(row["error"] for row in each)}
    for reason, names in (("has changed since", changed - edited - failed), ("was edited in the table", edited)):
        again, kept = sorted(names & identities.keys()), sorted(names - identities.keys())
        if again:
            warnings.warn(f"{_listed(again)} {reason}: answered again", EpirWarning, stacklevel=3)
        if kept:
            warnings.warn(f"{_listed(kept)} {reason} but is not an input: kept", EpirWarning, stacklevel=3)
    return [name for name in identities if name in rows and name not in changed | edited | failed]


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more, each of which" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _read(table: Path, columns: Sequence[str], state: str | None) -> dict[str, Rows]:
    """The rows of a table by input; without `state`, only check that this command wrote it."""
    fix = "choose another name; the file stays unchanged"
    reader = csv.DictReader(io.StringIO(read_text(table, error=EpirError, fix=fix), newline=""))
    try:
        written = list(reader)
    except csv.Error as error:
        raise EpirError(f"{table} is not a table: {error}", fix=fix) from None
    if list(reader.fieldnames or ()) != list(columns):
        raise EpirError(f"{table} is not a table that this command wrote", fix=fix)
    if state is None:
        return {}
    if any(row["settings"] != state for row in written):
        raise EpirError(
            f"{table} was written with another model or other settings",
            fix="use the same ones, choose another name, or add --force to replace it",
        )
    rows: dict[str, Rows] = {}
    for row in written:
        rows.setdefault(row["file"], []).append(row)
    return rows


def _write(table: Path, columns: Sequence[str], rows: dict[str, Rows], order: Sequence[str]) -> None:
    """Write all rows atomically: first those of earlier calls, then in the order of the inputs."""
    names = [name for name in rows if name not in order] + [name for name in order if name in rows]
    write_text(table, csv_text(columns, ([row[each] for each in columns] for name in names for row in rows[name])))


def _text(value: Any) -> str:
    return "" if value is None else str(value)
