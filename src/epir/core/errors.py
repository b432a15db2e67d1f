"""The one exception family, which says what is wrong and what to do about it, and the warning."""


class EpirError(Exception):
    """Something the user can correct; `fix` says how."""

    def __init__(self, problem: str, *, fix: str) -> None:
        super().__init__(f"{problem}\n  fix: {fix}")
        self.problem = problem
        self.fix = fix

    def __reduce__(self) -> tuple[object, ...]:
        """Pickling for worker processes: keyword arguments are lost by default."""
        return _rebuild, (type(self), self.problem, self.fix)


def _rebuild(kind: type[EpirError], problem: str, fix: str) -> EpirError:
    return kind(problem, fix=fix)


class EpirWarning(UserWarning):
    """Something that the user should know before the work begins; the command line prints it as `note: ...`."""


class ConfigError(EpirError):
    """A setting that does not exist, or a combination that cannot work."""


class DatasetError(EpirError):
    """A corpus or an annotation sheet that is not as expected."""


class FrameError(EpirError):
    """A picture or a video that cannot be read."""


class FaceNotFound(EpirError):
    """No face where one was needed."""


class MapSetError(EpirError):
    """A map set that is missing, damaged or does not fit the others."""


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


class MissingExtra(EpirError):
    """A part of the toolkit that is installed separately."""

    def __init__(self, problem: str, *, fix: str) -> None:
        super().__init__(problem, fix=fix)

    @classmethod
    def named(cls, part: str, extra: str) -> "MissingExtra":
        """The error for `part`, which comes with `pip install "epir[extra]"`."""
        return cls(f"{part} is not installed", fix=f'pip install "epir[{extra}]"')
