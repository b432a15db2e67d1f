"""Running the server until it is interrupted."""

import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import uvicorn

from epir.core.errors import EpirError
from epir.web.app import create_app
from epir.web.service import Service
from epir.web.settings import ServeSettings

TERMINATED = 143  # what shells make of SIGTERM


def serve(
    settings: ServeSettings | None = None, *, model: Path | None = None, ready: Callable[[str], None] = lambda _: None
) -> None:
    """Serve the page until interrupted; `ready` is told its address once it answers."""
    settings = settings or ServeSettings()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # so that it tidies up, also while it loads
    listening = listen(settings.host, settings.port)
    try:
        service = Service(settings, model)
        try:
            service.start()
            server = make_server(service)
            ready(address_of(listening))
            server.run(sockets=[listening])
        finally:
            service.close()
    except KeyboardInterrupt:
        return  # the usual way to end it
    finally:
        listening.close()


def make_server(service: Service) -> uvicorn.Server:
    """The web server around a service; it keeps no log of who asked for what."""
    config = uvicorn.Config(
        create_app(service),
        access_log=False,
        log_level="warning",
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=3,
        ws="none",
        lifespan="on",
    )
    return uvicorn.Server(config)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens, or an error in words."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=512)
    except OSError as error:
        raise EpirError(
            f"the server cannot listen at {host} port {port}: {error.strerror or error}",
            fix="choose another --port, or 0 for any free one; --host takes an address of this machine",
        ) from None


def address_of(listening: socket.socket) -> str:
    """The address to open in a browser."""
    host, port = listening.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
