"""What surrounds every request: who may ask, and what the browser is told about the answer."""

import ipaddress
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse

from epir.web.problems import BAD, FORBIDDEN

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
    """Refuses requests under foreign names and from foreign pages, and adds the headers to every answer."""

    def __init__(self, app: Asgi, names: Iterable[str]) -> None:
        self._app = app
        self._names = frozenset(name.lower() for name in names) | {"localhost"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        asked = Headers(scope=scope)

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                told = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    told[name] = value
                told.setdefault("Cache-Control", "no-cache" if scope["path"].startswith("/static/") else "no-store")
            await send(message)

        refused = self._refused(scope["method"], asked)
        await (refused or self._app)(scope, receive, with_headers)

    def _refused(self, method: str, asked: Headers) -> JSONResponse | None:
        host = asked.get("host", "")
        if not known_host(host, self._names):
            words = {
                "problem": f"this server is not called {host[:80]!r}",
                "fix": "open it by the address that epir serve prints; a name of its own is given with --name",
            }
            return JSONResponse(words, status_code=BAD)
        if method not in SAFE and not same_site(asked.get("origin"), asked.get("sec-fetch-site"), host):
            words = {"problem": "another site's page sent this", "fix": "use the page of this server itself"}
            return JSONResponse(words, status_code=FORBIDDEN)
        return None


def known_host(host: str, names: frozenset[str]) -> bool:
    """Whether a Host header is an address, which no foreign site can pose as, or a known name.

    A name that a foreign site has made to point here (DNS rebinding) is neither.
    """
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


def same_site(origin: str | None, fetched: str | None, host: str) -> bool:
    """Whether a request that changes something comes from this server's own page, or from no page at all."""
    if fetched is not None and fetched not in ("same-origin", "none"):
        return False
    return origin is None or origin_host(origin) == host.lower()


def origin_host(origin: str) -> str:
    """The host and port of an origin, empty for `null` and for nonsense."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""
