"""Output files and folders: checked before the work starts, locked while it runs, moved into place in one step.

    with claimed(path, "map set", force=force, inputs=[corpus]):    # fails before any work
        ...                                                         # hours
        with new_folder(path, "map set", force=force) as folder:    # fill it; it becomes `path` when the block ends
            ...

epir recognises its own folders by their index file (`meta.json`, `config.json`, ...) or by the file `.epir`, which
names the kind of folder. Only these folders are ever replaced, and only by the same kind, even with `--force`.

While `path` is being written, `.NAME.lock`, `.NAME.tmp-*` (the new folder) and `.NAME.old-*` (the folder it replaces)
lie beside it. The next holder of the lock removes what a killed process left of them; an old folder whose replacement
had not arrived yet is moved back.
"""

import json
import os
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import IO

from epir.core.errors import CheckpointError, OutputError, machine_fault
from epir.core.files import apply_umask, hidden_name, save_to_disk, write_text

MARK = ".epir"
MAP_SET, MODEL, RUN, CORPUS, ANSWER, DEMO = "map set", "model folder", "run", "synthetic corpus", "answer", "demo"
SPOTTED, REPRODUCTION, STUDY = "folder of spotted videos", "reproduction", "study"
ANOTHER = "choose another name for --out"
REPLACE = "choose another name, or replace it with --force (force=True in Python)"

_held: ContextVar[frozenset[Path]] = ContextVar("locks held", default=frozenset())


# ------------------------------------------------------------------------------------------ checks before the work


@contextmanager
def claimed(
    path: str | Path, kind: str, *, force: bool = False, inputs: Iterable[str | Path] = (), needs: int = 0
) -> Iterator[Path]:
    """Check an output folder, lock it until the block ends, and remove leftovers of killed processes."""
    path = resolved(path)
    check_folder(path, kind, force=True, inputs=inputs, needs=needs)
    with locked(path):
        remove_leftovers(path)
        check_folder(path, kind, force=force)
        yield path


@contextmanager
def claimed_file(path: str | Path, *, force: bool = False, inputs: Iterable[str | Path] = ()) -> Iterator[Path]:
    """The same for an output file; `force` replaces a file, but never a folder or an input."""
    path = resolved(path)
    check_file(path, force=force, inputs=inputs)
    with locked(path):
        remove_leftovers(path)
        yield path


def check_folder(
    path: Path, kind: str, *, force: bool = False, inputs: Iterable[str | Path] = (), needs: int = 0
) -> None:
    """Raise an error if a folder cannot or must not be written; changes nothing."""
    _check_inputs(path, inputs)
    check_place(path, needs=needs)
    around = kind_of(path.parent) if kind == ANSWER and path.parent.is_dir() else None
    if around in (MAP_SET, MODEL, RUN, CORPUS, SPOTTED):
        raise OutputError(f"{path} would lie inside {path.parent}, which is {_a(around)}", fix=ANOTHER)
    if not path.exists() or _is_empty(path):
        return
    if not path.is_dir():
        raise OutputError(f"{path} is a file, not a folder", fix=ANOTHER)
    actual = kind_of(path)
    if actual is None:
        raise OutputError(
            f"{path} exists already and is not {_a(kind)} that epir made", fix=f"{ANOTHER}; nothing was changed"
        )
    if actual != kind:
        raise OutputError(f"{path} exists already and is {_a(actual)}, not {_a(kind)}", fix=ANOTHER)
    if not force:
        raise OutputError(f"{path} exists already", fix=REPLACE)


def _a(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def check_file(path: Path, *, force: bool = False, inputs: Iterable[str | Path] = ()) -> None:
    """Raise an error if a file cannot or must not be written; changes nothing."""
    for source in inputs:
        if resolved(source) == path:
            raise OutputError(f"{path} is an input of this command", fix="choose another name for the output")
    check_place(path)
    if path.is_dir():
        raise OutputError(f"{path} is a folder, not a file", fix="choose another name, or a file inside it")
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is a pipe or a device, not a file", fix="choose another name")
    if path.exists() and not force:
        raise OutputError(f"{path} exists already", fix=REPLACE)


def check_onnx(path: Path) -> None:
    """Raise an error unless a path ends in .onnx, as ONNX runtimes require."""
    if path.suffix != ".onnx":
        name = path / "model.onnx" if path.is_dir() else path.with_suffix(".onnx")
        raise CheckpointError(f"{path} does not end in .onnx", fix=f"name it {name}")


def check_place(path: Path, *, needs: int = 0) -> None:
    """Raise an error if `path` cannot be created, or if fewer than `needs` bytes are free there."""
    if path.is_symlink():  # even though `resolved` has followed links
        raise OutputError(f"{path} is a loop of links", fix=ANOTHER)
    parent = path.parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir():
        raise OutputError(f"{path} cannot be written: {parent} is a file", fix=ANOTHER)
    if not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(
            f"{path} cannot be written: no permission to write in {parent}",
            fix="choose a place that you may write to, or change its permissions",
        )
    free = shutil.disk_usage(parent).free
    if needs > free:
        raise OutputError(
            f"{path} needs {_size(needs)}, but {_size(free)} are free there", fix="free disk space, or write elsewhere"
        )


def _check_inputs(path: Path, inputs: Iterable[str | Path]) -> None:
    for source in map(resolved, inputs):
        if source == path:
            raise OutputError(f"{path} is an input of this command", fix=ANOTHER)
        if path in source.parents:
            raise OutputError(f"{path} contains an input of this command, {source}", fix=ANOTHER)
        if source in path.parents and source.is_dir():
            raise OutputError(f"{path} lies inside an input of this command, {source}", fix=ANOTHER)


def resolved(path: str | Path) -> Path:
    """The absolute path with links followed: the target of a link is written, and the link stays.

    Unlike `Path.resolve`, this does not fail for a loop of links.
    """
    return Path(os.path.realpath(path))


# ------------------------------------------------------------------------------------------------- kinds of folders


def mark(folder: Path, kind: str) -> None:
    """Mark a folder as made by epir, with its kind."""
    if _marked(folder) != kind:
        write_text(folder / MARK, json.dumps({"made by": "epir", "kind": kind}) + "\n")


def kind_of(folder: Path) -> str | None:
    """The kind of a folder that epir made; `None` for any other folder."""
    return _marked(folder) or next((kind for kind, is_kind in _KINDS.items() if is_kind(folder)), None)


def _marked(folder: Path) -> str | None:
    content = _json(folder / MARK)
    return str(content.get("kind")) if content.get("made by") == "epir" else None


def _is_map_set(folder: Path) -> bool:
    whole = all((folder / name).is_file() for name in ("maps.npy", "clips.csv", "meta.json"))
    return whole or str(_json(folder / "meta.json").get("format")).startswith("epir-maps/")


def _is_model(folder: Path) -> bool:
    return str(_json(folder / "config.json").get("format")).startswith("epir-model/")


def _is_run(folder: Path) -> bool:
    try:
        values = tomllib.loads((folder / "config.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return {"protocol", "model", "training"} <= values.keys()


def _is_answer(folder: Path) -> bool:
    names = ("answer.json", "timeline.png", "annotated.mp4", "why.png")
    others = [name for name in os.listdir(folder) if name not in names and not name.startswith("why-")]
    return "answers" in _json(folder / "answer.json") and not others


_KINDS: dict[str, Callable[[Path], bool]] = {
    MAP_SET: _is_map_set,
    MODEL: _is_model,
    RUN: _is_run,
    CORPUS: lambda folder: (folder / "corpus.toml").is_file() and (folder / "annotations.csv").is_file(),
    ANSWER: _is_answer,
}


def _json(path: Path) -> dict[str, object]:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


# --------------------------------------------------------------------------------------------------------- locks


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file beside `path`; the system releases it if the process is killed.

    Inside the block, the same thread may lock `path` again.
    """
    path = resolved(path)
    if path in _held.get():
        yield
        return
    lock = path.with_name(hidden_name(path, "lock"))
    with ExitStack() as stack:
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(_exclusive(lock, path))
        except OSError as error:
            raise machine_fault(error, path) from None
        token = _held.set(_held.get() | {path})
        try:
            yield
        finally:
            _held.reset(token)


@contextmanager
def _exclusive(lock: Path, path: Path) -> Iterator[None]:
    while True:
        with lock.open("a") as file:
            _hold(file, path)
            if _same_file(file, lock):  # otherwise its owner has just removed it: try again
                try:
                    yield
                finally:
                    lock.unlink(missing_ok=True)
                return


def _hold(file: IO[str], path: Path) -> None:
    """Lock an open file, or raise the error that another process is writing `path`."""
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OutputError(
            f"another process is writing {path}", fix="wait for it, stop it, or choose another name for --out"
        ) from None


def _same_file(file: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def remove_leftovers(path: Path) -> None:
    """Remove what killed processes left of earlier attempts at `path`; the caller holds its lock."""
    old, temporary = hidden_name(path, "old-"), hidden_name(path, "tmp-")
    for name in sorted(os.listdir(path.parent)):
        leftover = path.parent / name
        if name.startswith(old) and not path.exists():
            leftover.rename(path)  # killed between moving it aside and moving the new folder into place
        elif name.startswith((old, temporary)):
            remove_path(leftover)


def remove_path(path: Path) -> None:
    """Remove a file, or a folder with its contents."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


# ------------------------------------------------------------------------------------------------------- folders


@contextmanager
def new_folder(
    path: str | Path, kind: str, *, force: bool = False, inputs: Iterable[str | Path] = (), needs: int = 0
) -> Iterator[Path]:
    """A temporary folder to fill, which becomes `path` when the block ends without an error."""
    with claimed(path, kind, force=force, inputs=inputs, needs=needs) as target:
        temporary = Path(tempfile.mkdtemp(prefix=hidden_name(target, "tmp-"), dir=target.parent))
        try:
            yield temporary
            put_in_place(temporary, target, kind)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def put_in_place(new: Path, path: Path, kind: str) -> None:
    """Move the complete folder `new` to `path`; an existing folder is moved aside first and removed last."""
    if kind_of(new) != kind:
        mark(new, kind)
    apply_umask(new)
    save_to_disk(new)
    old = None
    if path.exists():
        old = Path(tempfile.mkdtemp(prefix=hidden_name(path, "old-"), dir=path.parent))
        path.replace(old)  # works because `old` is empty
    new.replace(path)
    save_to_disk(path.parent, inside=False)
    if old is not None:  # renamed first: a half-removed `old-` must not be moved back
        trash = old.with_name(hidden_name(path, "tmp-") + old.name.removeprefix(hidden_name(path, "old-")))
        old.rename(trash)
        shutil.rmtree(trash, ignore_errors=True)  # the next call removes the rest


def _is_empty(path: Path) -> bool:
    """Whether a folder is empty, apart from what a process killed at its start has left."""
    partial = hidden_name(path / MARK, "")
    return path.is_dir() and all(name == MARK or name.startswith(partial) for name in os.listdir(path))


def _size(count: int) -> str:
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count //= 1000
    return f"{count} TB"
