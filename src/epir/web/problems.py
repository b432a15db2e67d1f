"""What goes wrong, as a status and words: every error of the REST interface is {"problem": ..., "fix": ...}."""

from collections.abc import Mapping
from dataclasses import dataclass

from epir.core.errors import EpirError

BAD, FORBIDDEN, NOT_FOUND, TIMEOUT, TOO_LARGE, WRONG_KIND, UNUSABLE = 400, 403, 404, 408, 413, 415, 422
BROKEN, BUSY, OVERTIME = 500, 503, 504


class Refused(EpirError):
    """A request that is not served; `status` is that of HTTP."""

    def __init__(
        self, problem: str, *, fix: str, status: int = UNUSABLE, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(problem, fix=fix)
        self.status = status
        self.headers = dict(headers or {})


@dataclass(frozen=True)
class Problem:
    """Why a job failed."""

    problem: str
    fix: str
    status: int = UNUSABLE

    def to_dict(self) -> dict[str, str]:
        """The words."""
        return {"problem": self.problem, "fix": self.fix}

    def refused(self) -> Refused:
        """The same as an error."""
        return Refused(self.problem, fix=self.fix, status=self.status)


OVERTIME_FIX = "send a shorter or smaller video: cut it around the movement"
STOPPED = Problem(
    "the decoder stopped while it read this input: the file is damaged, or too much for it",
    "convert it to mp4 (H.264) with a video editor, and try again",
    BROKEN,
)
ENDED = Problem("the server is being shut down", "send it again when the server is back", BUSY)
CANCELLED = Problem("this was cancelled", "send it again", 410)


def overtime(seconds: float) -> Problem:
    """The words for work that took longer than it may."""
    return Problem(f"this took more than {seconds:g} seconds and was stopped", OVERTIME_FIX, OVERTIME)


def busy(seconds: int) -> Refused:
    """The refusal while there is no place in the queue."""
    return Refused(
        "the server is busy: every place in its queue is taken",
        fix=f"try again in {seconds} second{'' if seconds == 1 else 's'}",
        status=BUSY,
        headers={"Retry-After": str(seconds)},
    )
