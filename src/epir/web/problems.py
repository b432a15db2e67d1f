"""Errors of the REST API: an HTTP status with {"problem": ..., "fix": ...}."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from epir.core.errors import EpirError
from epir.core.words import counted

CLIENT_ERROR = HTTPStatus.UNPROCESSABLE_ENTITY  # the default status of a user error


class RequestError(EpirError):
    """An error with an HTTP status and headers."""

    def __init__(
        self, problem: str, *, fix: str, status: int = CLIENT_ERROR, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(problem, fix=fix)
        self.status = int(status)
        self.headers = dict(headers or {})


@dataclass(frozen=True)
class Problem:
    """Why a job failed."""

    problem: str
    fix: str
    status: int = CLIENT_ERROR

    @classmethod
    def of(cls, error: EpirError) -> "Problem":
        """The problem of an error."""
        return cls(error.problem, error.fix, error.status if isinstance(error, RequestError) else CLIENT_ERROR)

    def to_dict(self) -> dict[str, str]:
        """The JSON body of the response."""
        return {"problem": self.problem, "fix": self.fix}

    def error(self) -> RequestError:
        """The problem as an exception."""
        return RequestError(self.problem, fix=self.fix, status=self.status)


CRASHED = Problem(
    "the worker process died while it analysed this input",
    "send it again; if it fails again, save it as mp4 (H.264) or cut it around the movement",
    HTTPStatus.INTERNAL_SERVER_ERROR,
)
INTERNAL = Problem("internal error while processing this input", "try another file", HTTPStatus.INTERNAL_SERVER_ERROR)
OUT_OF_MEMORY = Problem(
    "this input needs more memory than the server allows",
    "send a shorter or smaller video",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
)
SHUTTING_DOWN = Problem(
    "the server is shutting down", "send it again when the server is back", HTTPStatus.SERVICE_UNAVAILABLE
)
CANCELLED = Problem("this job was cancelled", "send it again", HTTPStatus.GONE)


def timed_out(seconds: float) -> Problem:
    """The problem of a job that exceeded its time limit."""
    return Problem(
        f"this took more than {seconds:g} seconds and was stopped",
        "cut the video around the movement, use `epir predict`, or start "
        f"`epir serve --set timeout_s={2 * seconds:.0f}`",
        HTTPStatus.GATEWAY_TIMEOUT,
    )


def busy(seconds: int, problem: str) -> RequestError:
    """The error when no place is free; try again in `seconds`."""
    return _later(problem, seconds, HTTPStatus.SERVICE_UNAVAILABLE)


def too_many(count: int, what: str, seconds: int) -> RequestError:
    """The error for an address that exceeds its share; try again in `seconds`."""
    return _later(f"your address already has {counted(count, what)} in progress", seconds, HTTPStatus.TOO_MANY_REQUESTS)


def _later(problem: str, seconds: int, status: int) -> RequestError:
    return RequestError(
        problem,
        fix=f"try again in {counted(seconds, 'second')}",
        status=status,
        headers={"Retry-After": str(seconds)},
    )
