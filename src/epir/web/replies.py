"""Errors as JSON: whatever goes wrong is told as a problem and a fix."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from epir.core.errors import EpirError
from epir.web.problems import BROKEN, UNUSABLE, Refused

WORDS = {
    404: ("there is nothing at this address", "GET / is the page, GET /openapi.json lists the REST calls"),
    405: ("this address does not take this method", "GET /openapi.json lists what it takes"),
}


def add_replies(app: FastAPI) -> None:
    """Teach the application to tell its errors."""

    @app.exception_handler(EpirError)
    async def refused(_: Request, error: EpirError) -> JSONResponse:
        status = error.status if isinstance(error, Refused) else UNUSABLE
        headers = error.headers if isinstance(error, Refused) else {}
        return reply(error.problem, error.fix, status, headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first: Any = next(iter(error.errors()), {})
        name = ".".join(str(each) for each in first.get("loc", ())[1:]) or "the request"
        return reply(
            f"{name} cannot be {str(first.get('input'))[:40]!r}", str(first.get("msg", "correct it")), UNUSABLE
        )

    @app.exception_handler(HTTPException)
    async def plain(_: Request, error: HTTPException) -> JSONResponse:
        problem, fix = WORDS.get(error.status_code, (str(error.detail), "look at GET /openapi.json"))
        return reply(problem, fix, error.status_code, dict(error.headers or {}))

    @app.exception_handler(Exception)
    async def defect(_: Request, error: Exception) -> JSONResponse:
        return reply("something went wrong inside the server", "look at what epir serve printed", BROKEN)


def reply(problem: str, fix: str, status: int, headers: dict[str, str] | None = None) -> JSONResponse:
    """One error."""
    return JSONResponse({"problem": problem, "fix": fix}, status_code=status, headers=headers)
