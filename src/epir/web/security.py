"""Security of every request: checks of Host and Origin, and the headers of every response."""

import ipaddress
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse

from epir.web.problems import Problem

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Asgi = Callable[[Scope, Receive, Send], Awaitable[None]]

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' blob:",
        "media-src 'self' blob:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(self), microphone=(), geolocation=(), display-capture=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
SAFE = ("GET", "HEAD", "OPTIONS")


class Guard:
    """Refuses unknown host names and cross-site requests, and adds the headers to every response."""

    def __init__(self, app: Asgi, names: Iterable[str]) -> None:
        self._app = app
        self._names = frozenset(name.lower() for name in names) | {"localhost"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-cache" if scope["path"].startswith("/static/") else "no-store")
            await send(message)

        problem = self._check(scope["method"], Headers(scope=scope))
        if problem is None:
            await self._app(scope, receive, with_headers)
        else:
            await JSONResponse(problem.to_dict(), status_code=problem.status)(scope, receive, with_headers)

    def _check(self, method: str, headers: Headers) -> Problem | None:
        host = headers.get("host", "")
        if not is_known_host(host, self._names):
            return Problem(
                f"unknown host name {host[:80]!r}",
                "use the address that epir serve prints, or allow this name with --name",
                HTTPStatus.BAD_REQUEST,
            )
        if method not in SAFE and not is_same_site(headers.get("origin"), headers.get("sec-fetch-site"), host):
            return Problem(
                "cross-site requests are refused", "send it from the page of this server", HTTPStatus.FORBIDDEN
            )
        return None


def is_known_host(host: str, names: frozenset[str]) -> bool:
    """Whether a Host header is an IP address or a known name, which DNS rebinding cannot forge."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        _ = urlsplit(f"//{host}").port
    except ValueError:
        return False
    if name in names:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_same_site(origin: str | None, fetch_site: str | None, host: str) -> bool:
    """Whether a request comes from this server's own page, or from no page at all."""
    if fetch_site is not None and fetch_site not in ("same-origin", "none"):
        return False
    return origin is None or origin_host(origin) == host.lower()


def origin_host(origin: str) -> str:
    """The host and port of an origin, empty if it is `null` or malformed."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""
