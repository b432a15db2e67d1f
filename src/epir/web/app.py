"""The routes: the page, its files, and the REST interface."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.requests import ClientDisconnect

from epir import __version__
from epir.web.bodies import received
from epir.web.headers import Asgi, Guard
from epir.web.jobs import Job
from epir.web.problems import BAD, NOT_FOUND, Refused
from epir.web.replies import add_replies
from epir.web.requests import live_task, predict_task
from epir.web.results import told
from epir.web.schema import ANSWERS, LIVE_FORM, PREDICT_FORM, STATUS
from epir.web.service import Service

PAGE = Path(__file__).parent / "page"
PICTURE = re.compile(r"(why|timeline)\.png|(onset|apex)-\d{1,4}\.jpg|(flow|tokens|rollout)-\d{1,4}\.png")
LOOK_S = 0.5  # between two looks whether a client that waits is still there


def create_app(service: Service) -> Asgi:
    """The application around a service that has been started; the service is closed with it."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.close)

    app = FastAPI(
        title="EPIR", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan, redirect_slashes=False
    )
    add_replies(app)
    add_page(app)
    add_uploads(app, service)
    add_results(app, service)
    return Guard(app, (service.settings.host, *service.settings.names))


def add_page(app: FastAPI) -> None:
    """The page itself; a permalink is the same page, whose script reads the id."""

    @app.get("/", include_in_schema=False)
    @app.get("/r/{id}", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(PAGE / "index.html", media_type="text/html")

    app.mount("/static", StaticFiles(directory=PAGE, check_dir=False), name="static")


def add_uploads(app: FastAPI, service: Service) -> None:
    """Sending something to look at."""
    settings = service.settings

    @app.post(
        "/api/predict",
        summary="Look at a video, two pictures or an example",
        openapi_extra=PREDICT_FORM,
        responses=ANSWERS,
    )
    async def predict(request: Request, wait: bool = True) -> JSONResponse:
        fields = ("example", "onset", "apex", "fps")
        limits = {"most_files": 2, "most_bytes": settings.max_bytes}
        async with received(
            request, service, service.queue.reserve, file_field="files", fields=fields, **limits
        ) as upload:
            task = predict_task(upload, [each["name"] for each in service.examples])
            job = service.submit(task, upload.keep())
        address = f"/api/results/{job.id}"
        if not wait:
            return JSONResponse({"id": job.id, "url": address}, status_code=202, headers={"Location": address})
        await ended(job, request, service)
        return JSONResponse({"id": job.id, "url": address, **(job.result or {})})

    @app.post("/api/live", summary="Look at the last seconds of a camera", openapi_extra=LIVE_FORM, responses=ANSWERS)
    async def live(request: Request) -> JSONResponse:
        limits = {"most_files": settings.live_frames, "most_bytes": settings.live_bytes}
        async with received(
            request, service, service.queue.reserve_now, file_field="frames", fields=("times",), **limits
        ) as upload:
            job = service.submit_live(live_task(upload), upload.keep())
        await ended(job, request, service)
        return JSONResponse(job.result)


def add_results(app: FastAPI, service: Service) -> None:
    """Asking how it is, and what came out."""

    @app.get("/api/health", summary="Whether the server works, and its limits")
    async def health() -> dict[str, Any]:
        return {
            "status": "ok",
            "version": __version__,
            "model": service.model,
            "queue": service.queue.counts(),
            "limits": service.settings.limits(),
        }

    @app.get("/api/examples", summary="The invented clips that the page offers")
    async def examples() -> list[dict[str, Any]]:
        return service.examples

    @app.get("/api/examples/{name}/video", summary="The video of an example", response_class=FileResponse)
    async def example_video(name: str) -> FileResponse:
        path, job = service.example(name)
        await asyncio.shield(asyncio.wrap_future(job.outcome))
        if job.problem is not None:
            raise job.problem.refused()
        return FileResponse(path, media_type="video/webm")

    @app.get("/api/results/{id}", summary="Where a job stands", responses=STATUS)
    async def result(id: str) -> JSONResponse:
        return JSONResponse(told(service.results.get(id), service.queue, service.results))

    @app.get("/api/results/{id}/{picture}", summary="One picture of a result", response_class=Response)
    async def picture(id: str, picture: str) -> Response:
        job = service.results.get(id)
        if not PICTURE.fullmatch(picture) or picture not in job.pictures:
            raise Refused(
                "this result has no such picture", fix="use the addresses that the result names", status=NOT_FOUND
            )
        kind = "image/jpeg" if picture.endswith(".jpg") else "image/png"
        return Response(job.pictures[picture], media_type=kind)

    @app.delete("/api/results/{id}", summary="Forget a result", status_code=204)
    async def forget(id: str) -> Response:
        service.cancel(service.results.drop(id))
        return Response(status_code=204)


async def ended(job: Job, request: Request, service: Service) -> None:
    """Wait until a job has ended; raises what it failed with. A client that goes away takes its job along."""
    outcome = asyncio.wrap_future(job.outcome)
    try:
        while not outcome.done():
            await asyncio.wait({outcome}, timeout=LOOK_S)
            if not outcome.done() and await request.is_disconnected():
                raise ClientDisconnect
    except asyncio.CancelledError:  # the server is shutting down
        service.cancel(job)
        raise
    except ClientDisconnect:
        service.cancel(job)
        raise Refused("the client went away", fix="send it again", status=BAD) from None
    if job.problem is not None:
        raise job.problem.refused()
