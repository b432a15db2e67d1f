"""The exceptions and the warning of epir; every exception says what is wrong and how to fix it."""

import errno
from pathlib import Path


class EpirError(Exception):
    """Something the user can correct; `fix` says how.

    >>> print(EpirError("the clip has no apex", fix="use --apex middle"))
    the clip has no apex
      fix: use --apex middle
    """

    def __init__(self, problem: str, *, fix: str) -> None:
        super().__init__(f"{problem}\n  fix: {fix}")
        self.problem = problem
        self.fix = fix

    def __reduce__(self) -> tuple[object, ...]:
        """Support pickling, for worker processes: by default, keyword arguments are lost."""
        return _rebuild, (type(self), self.problem, self.fix)


def _rebuild(kind: type[EpirError], problem: str, fix: str) -> EpirError:
    return kind(problem, fix=fix)


class EpirWarning(UserWarning):
    """Something the user should know before the work starts; the command line prints it as `note: ...`."""


class ConfigError(EpirError):
    """A setting that does not exist, or a combination that cannot work."""


class DatasetError(EpirError):
    """A problem with a corpus or an annotation sheet."""


class FrameError(EpirError):
    """A picture or a video that cannot be read."""


class FaceNotFound(EpirError):
    """A frame without the face that is needed."""


class MapSetError(EpirError):
    """A map set that is missing, damaged or incompatible with others."""


class ShapeError(EpirError):
    """An array of the wrong shape, type or content."""


class CheckpointError(EpirError):
    """Weights or a model folder that cannot be used."""


class TrainingError(EpirError):
    """Training that cannot start or had to stop."""


class ProtocolError(EpirError):
    """Clips that do not fit the protocol they are evaluated under."""


class LeakError(EpirError):
    """People or clips on both sides of an evaluation: scores would not be strict."""


class RunError(EpirError):
    """A run folder that cannot be used or continued."""


class OutputError(EpirError):
    """A place that cannot or must not be written to."""


class MachineError(EpirError):
    """A fault of the machine, not of the input: a full disk, no permission, too many open files."""


class MissingExtra(EpirError):
    """An optional dependency that is not installed."""

    @classmethod
    def named(cls, part: str, extra: str) -> "MissingExtra":
        """The error for `part`, which an extra of the package installs."""
        return cls(f"{part} is not installed", fix=f'pip install -c constraints.txt ".[{extra}]" in the folder of epir')


_SPACE = "free disk space, then run the same command again"
_PERMISSION = "choose a place that you may read and write, or change its permissions"
_FILES = "raise the limit, for example with ulimit -n 4096, or use fewer --workers"
FAULTS = {  # of the machine, not of the input
    errno.ENOSPC: ("the disk is full", _SPACE),
    errno.EDQUOT: ("the disk quota is used up", _SPACE),
    errno.EFBIG: ("the file is too large for this disk", "write to another disk"),
    errno.EACCES: ("no permission", _PERMISSION),
    errno.EPERM: ("no permission", _PERMISSION),
    errno.EROFS: ("the disk is read-only", "write to another place"),
    errno.EMFILE: ("too many open files", _FILES),
    errno.ENFILE: ("too many open files on this machine", _FILES),
    errno.ENOMEM: ("memory ran out", "use fewer --workers, or close other programs"),
    errno.EIO: ("the disk reports an error", "check the disk, then run the same command again"),
    errno.ESTALE: ("the network disk has gone", "connect it again, then run the same command again"),
}


NO_MEMORY = (  # messages of torch, CUDA and OpenCV, which do not raise MemoryError
    "can't allocate memory",
    "not enough memory",
    "out of memory",
    "Insufficient memory",
)


def is_machine_fault(error: BaseException) -> bool:
    """Whether an error comes from the machine, and would occur with any other input too."""
    return (
        isinstance(error, MachineError)
        or is_out_of_memory(error)
        or (isinstance(error, OSError) and error.errno in FAULTS)
    )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether memory ran out, in whichever library."""
    by_words = not isinstance(error, EpirError) and any(words in str(error) for words in NO_MEMORY)
    return isinstance(error, MemoryError) or by_words


def out_of_memory() -> MachineError:
    """The error for memory that ran out."""
    return MachineError("memory ran out", fix="use fewer --workers or smaller inputs, or close other programs")


def machine_fault(error: OSError, path: str | Path | None = None) -> MachineError:
    """An error of the operating system in words, with `path` if the error names none."""
    named = error.filename if error.filename is not None else path
    words, fix = FAULTS.get(error.errno or 0, (error.strerror or str(error), "check the path and the disk"))
    return MachineError(words if named is None else f"{_text(named)}: {words}", fix=fix)


def _text(path: object) -> str:
    return path.decode(errors="backslashreplace") if isinstance(path, bytes) else str(path)
