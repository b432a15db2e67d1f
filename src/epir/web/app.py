"""The web application: the page, the REST routes, JSON errors, and the server that runs them."""

import asyncio
import re
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Literal

import uvicorn
from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response, StreamingResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from epir import __version__
from epir.core.errors import EpirError
from epir.web.problems import CLIENT_ERROR, Problem, RequestError
from epir.web.schema import (
    FRAMES_FORM,
    FRAMES_PROBLEMS,
    PREDICT_FORM,
    UPLOAD_PROBLEMS,
    ExampleClipJson,
    HealthJson,
    LiveCountsJson,
    LiveTicketJson,
    PredictAnswerJson,
    StatusJson,
    TicketJson,
    problems,
)
from epir.web.security import Asgi, Guard, PunctualProtocol, limited_address
from epir.web.service import Service
from epir.web.settings import DISCONNECT_S, KEEP_ALIVE_S, SHUTDOWN_S, ServeSettings
from epir.web.uploads import predict_task, receive_frames, receive_upload

PAGE = Path(__file__).parent / "page"
FILE = re.compile(
    r"(why|timeline)\.png|events\.csv|(clip|onset|apex|replay|rejected)-\d{1,4}\.jpg"
    r"|(why|flow|tokens|rollout)-\d{1,4}\.png|replay-\d{1,4}\.json"
)
MEDIA_TYPES = {"jpg": "image/jpeg", "png": "image/png", "json": "application/json", "csv": "text/csv; charset=utf-8"}
BINARY = {"type": "string", "format": "binary"}
EVENTS = """Server-sent events: `status` (coverage, frame rate, whether a face is visible), `motion` (new parts of the
timeline), `movement` (as in `epir predict --json`; times are those of the frames) and `end`. A client that reconnects
sends Last-Event-ID, as browsers do, and misses nothing."""
SIGTERM_EXIT = 143  # as shells report it
HTTP_PROBLEMS = {
    404: ("there is no such page", "GET / is the page, GET /docs lists the REST calls"),
    405: ("this method is not allowed here", "GET /docs lists the methods"),
}
DELETE: dict[str, Any] = {"status_code": HTTPStatus.NO_CONTENT, "responses": problems(403, 404, 422)}


def serve(
    settings: ServeSettings | None = None,
    *,
    model: Path | None = None,
    ready: Callable[[list[str]], None] = lambda _: None,
) -> None:
    """Serve until interrupted; `ready` gets the addresses once the server listens, the local one first."""
    settings = settings or ServeSettings()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(SIGTERM_EXIT))  # removes its files, even while loading
    listening = listen(settings.host, settings.port)
    try:
        service = Service(settings, model)
        try:
            service.start()
            server = make_server(service)
            ready(addresses_of(listening))
            server.run(sockets=[listening])
        finally:
            service.close()
    except KeyboardInterrupt:
        return  # the usual way to stop it
    finally:
        listening.close()


def make_server(service: Service) -> uvicorn.Server:
    """The web server of a service."""
    return server_of(create_app(service), service.settings.header_s)


def server_of(app: Asgi, header_s: float = 15.0) -> uvicorn.Server:
    """The web server of an application, without an access log; the head of a request must arrive in `header_s`."""
    config = uvicorn.Config(
        app,
        http=PunctualProtocol.within(header_s),
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=SHUTDOWN_S,
        ws="none",
        lifespan="on",
    )
    return uvicorn.Server(config)


def listen(host: str, port: int) -> socket.socket:
    """A listening socket."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise EpirError(
            f"the server cannot listen on {host} port {port}: {error.strerror or error}",
            fix="choose another --port, or 0 for any free one; --host must be an address of this machine",
        ) from None


def address_of(listening: socket.socket) -> str:
    """The address to open in a browser on this machine."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def addresses_of(listening: socket.socket) -> list[str]:
    """The addresses to open in a browser: on this machine, then from other machines."""
    local, (host, port) = address_of(listening), listening.getsockname()[:2]
    if host not in ("0.0.0.0", "::"):
        return [local]
    return [local, *(f"http://{address}:{port}/" for address in network_addresses())]


def network_addresses() -> list[str]:
    """The IPv4 addresses of this machine other than loopback; empty if unknown."""
    addresses = []
    with suppress(OSError):
        addresses = [str(info[4][0]) for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)]
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))  # sends nothing, but selects the outgoing network
        addresses.append(probe.getsockname()[0])
    return sorted({address for address in addresses if not address.startswith("127.")})


def create_app(service: Service) -> Asgi:
    """The application of a started service; it closes the service at shutdown."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.close)

    app = FastAPI(
        title="EPIR", version=__version__, docs_url=None, redoc_url=None, lifespan=lifespan, redirect_slashes=False
    )
    add_error_handlers(app)
    add_page(app)
    add_uploads(app, service)
    add_results(app, service)
    add_live(app, service)
    return Guard(app, (service.settings.host, *service.settings.names), token=service.settings.token)


def add_error_handlers(app: FastAPI) -> None:
    """Answer every error with {"problem": ..., "fix": ...}."""

    def reply(problem: str, fix: str, status: int, headers: dict[str, str] | None = None) -> JSONResponse:
        return JSONResponse({"problem": problem, "fix": fix}, status_code=status, headers=headers)

    @app.exception_handler(EpirError)
    async def known(_: Request, error: EpirError) -> JSONResponse:
        headers = error.headers if isinstance(error, RequestError) else None
        return reply(error.problem, error.fix, Problem.of(error).status, headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        first: Any = next(iter(error.errors()), {})
        name = ".".join(map(str, first.get("loc", ())[1:])) or "the request"
        problem = f"{name} cannot be {str(first.get('input'))[:40]!r}"
        return reply(problem, str(first.get("msg", "correct it")), CLIENT_ERROR)

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> JSONResponse:
        problem, fix = HTTP_PROBLEMS.get(error.status_code, (str(error.detail), "see GET /docs"))
        return reply(problem, fix, error.status_code, dict(error.headers or {}))

    @app.exception_handler(Exception)
    async def unexpected(_: Request, error: Exception) -> JSONResponse:
        return reply("internal server error", "see the output of epir serve", HTTPStatus.INTERNAL_SERVER_ERROR)


def add_page(app: FastAPI) -> None:
    """The page and its files; a permalink (/r/ID) serves the same page, whose script reads the id."""

    @app.get("/", include_in_schema=False)
    @app.get("/r/{id}", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(PAGE / "index.html", media_type="text/html")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> FileResponse:
        return FileResponse(PAGE / "docs.html", media_type="text/html")

    app.mount("/static", StaticFiles(directory=PAGE, check_dir=False), name="static")


def add_uploads(app: FastAPI, service: Service) -> None:
    """The route that receives a clip."""

    @app.post(
        "/api/predict",
        summary="Classify the movement in a video, two pictures or an example",
        openapi_extra=PREDICT_FORM,
        responses={
            200: {"model": PredictAnswerJson, "description": "the answer"},
            202: {"model": TicketJson, "description": "with wait=false: queued"},
            **UPLOAD_PROBLEMS,
        },
        response_model=None,
    )
    async def predict(request: Request, wait: bool = True) -> JSONResponse:
        fields = ("example", "name", "onset", "apex", "fps", "threshold", "sensitivity", "faces")
        async with receive_upload(request, service, fields=fields) as upload:
            task = predict_task(upload, [example["name"] for example in service.examples])
            job = service.submit(task, upload.folder, upload.address)
            upload.kept = True
        url = f"/api/results/{job.id}"
        if not wait:
            return JSONResponse({"id": job.id, "url": url}, status_code=202, headers={"Location": url})
        await settled(job.outcome, request, on_disconnect=lambda: service.cancel(job))
        if job.problem is not None:
            raise job.problem.error()
        return JSONResponse({"id": job.id, "url": url, **(job.result or {})})


def add_results(app: FastAPI, service: Service) -> None:
    """The routes for status, results, pictures and examples."""

    @app.get("/api/health", summary="Version, model, queue and limits", responses=problems(), response_model=HealthJson)
    async def health() -> dict[str, Any]:
        return {
            "status": "ok",
            "version": __version__,
            "model": service.model,
            "queue": service.queue.counts(),
            "cameras": service.live.counts(),
            "limits": service.settings.limits(),
        }

    @app.get(
        "/api/examples",
        summary="The synthetic example clips",
        responses=problems(),
        response_model=list[ExampleClipJson],
    )
    async def examples() -> list[dict[str, Any]]:
        return service.examples

    @app.get(
        "/api/examples/{name}/video",
        summary="The video of an example",
        response_class=FileResponse,
        responses={
            200: {"content": {"video/webm": {"schema": BINARY}}, "description": "the video"},
            206: {"content": {"video/webm": {"schema": BINARY}}, "description": "the requested range"},
            416: {"description": "the range is not in the file"},
            **problems(404, 422, 500, 503),
        },
    )
    async def example_video(name: str) -> FileResponse:
        path, job = service.example(name)
        await asyncio.shield(asyncio.wrap_future(job.outcome))
        if job.problem is not None:
            raise job.problem.error()
        return FileResponse(path, media_type="video/webm")

    @app.get(
        "/api/results/{id}",
        summary="The state of a job",
        responses={200: {"model": StatusJson, "description": "its state"}, **problems(404, 422)},
        response_model=None,
    )
    async def result(id: str) -> JSONResponse:
        return JSONResponse(service.results.status(service.results.get(id), service.queue))

    @app.get(
        "/api/results/{id}/{file}",
        summary="One picture, film or table of a result",
        response_class=Response,
        responses={
            200: {
                "content": {
                    kind: {"schema": {} if kind == "application/json" else BINARY}
                    for kind in ("image/png", "image/jpeg", "application/json", "text/csv")
                },
                "description": "the file",
            },
            **problems(404, 422),
        },
    )
    async def file(id: str, file: str) -> Response:
        job = service.results.get(id)
        if not FILE.fullmatch(file) or file not in job.pictures:
            raise RequestError(
                "this result has no such file",
                fix="use the addresses in the result",
                status=HTTPStatus.NOT_FOUND,
            )
        return Response(job.pictures[file], media_type=MEDIA_TYPES[file.rsplit(".", 1)[-1]])

    @app.delete("/api/results/{id}", summary="Delete a result, or cancel its job", **DELETE)
    async def delete(id: str) -> None:
        service.cancel(service.results.pop(id))


def add_live(app: FastAPI, service: Service) -> None:
    """The routes for cameras."""
    settings = service.settings

    @app.post(
        "/api/live",
        summary="Begin a camera session",
        status_code=201,
        responses={201: {"model": LiveTicketJson, "description": "it has begun"}, **problems(403, 422, 429, 500, 503)},
        response_model=None,
    )
    async def begin(
        request: Request,
        sensitivity: Literal["low", "normal", "high"] = "normal",
        faces: Literal["largest", "all"] = "largest",
        threshold: Annotated[float | None, Query(ge=0, le=1)] = None,
    ) -> JSONResponse:
        task = {"sensitivity": sensitivity, "faces": faces, "threshold": threshold}
        session = service.live.open(task, limited_address(request))
        await settled(session.ready, request, on_disconnect=session.end)  # frames sent earlier would be dropped
        if session.job.problem is not None:
            raise session.job.problem.error()
        url = f"/api/live/{session.id}"
        body = {"id": session.id, "frames": f"{url}/frames", "events": f"{url}/events", "seconds": settings.live_s}
        return JSONResponse(body, status_code=HTTPStatus.CREATED, headers={"Location": url})

    @app.post(
        "/api/live/{id}/frames",
        summary="Send the next frames of a camera",
        openapi_extra=FRAMES_FORM,
        responses={200: {"model": LiveCountsJson, "description": "queued for analysis"}, **FRAMES_PROBLEMS},
        response_model=None,
    )
    async def frames(id: str, request: Request) -> JSONResponse:
        session = service.live.get(id)
        times, sent = await receive_frames(request, settings)
        return JSONResponse(session.push(times, sent))

    @app.get(
        "/api/live/{id}/events",
        summary="The movements in the frames of a camera, as events",
        description=EVENTS,
        response_class=StreamingResponse,
        responses={
            200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}, "description": "until the end"},
            **problems(404, 422),
        },
    )
    async def events(id: str, request: Request) -> StreamingResponse:
        latest = request.headers.get("last-event-id", "")
        after = int(latest) if latest.isascii() and latest.isdigit() and len(latest) < 10 else 0
        headers = {"X-Accel-Buffering": "no"}  # nginx must not buffer events
        messages = service.live.get(id).messages(after)
        return StreamingResponse(messages, media_type="text/event-stream", headers=headers)

    @app.delete("/api/live/{id}", summary="End a camera session; its last movements still arrive as events", **DELETE)
    async def end(id: str) -> None:
        service.live.get(id).end()


async def settled(outcome: Future[None], request: Request, on_disconnect: Callable[[], None]) -> None:
    """Wait for an outcome; call `on_disconnect` if the client disconnects or the server stops first."""
    waiting = asyncio.wrap_future(outcome)
    try:
        while not waiting.done():
            await asyncio.wait({waiting}, timeout=DISCONNECT_S)
            if not waiting.done() and await request.is_disconnected():
                raise RequestError("the client disconnected", fix="send it again", status=HTTPStatus.BAD_REQUEST)
    except BaseException:
        on_disconnect()
        raise
