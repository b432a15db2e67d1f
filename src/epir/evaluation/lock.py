"""One process at a time in a run folder; the lock goes with the process, also when it is killed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from epir.core.errors import RunError

NAME = ".lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Make `folder` if need be and hold it for this process alone."""
    import fcntl

    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / NAME).open("a")
    except OSError as error:
        raise RunError(
            f"cannot write to the run folder {folder}: {error.strerror}",
            fix="give another folder with --out, or the right to write there",
        ) from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RunError(
                f"another process is working in the run folder {folder}",
                fix="wait until it has finished, stop it, or give another folder with --out",
            ) from None
        yield
