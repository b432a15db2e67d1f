"""Security: checks of Host, Origin and token, response headers, and a time limit for request heads."""

import asyncio
import hmac
import ipaddress
import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import h11
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from uvicorn.protocols.http.h11_impl import H11Protocol

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
API = ("/api/", "/openapi.json")
OPEN = "/static/"  # the files of the page, which are public
COOKIE = "epir_token"
SIGN_IN = Path(__file__).parent / "page" / "sign-in.html"


class Guard:
    """Rejects unknown host names, cross-site requests and missing tokens; adds the headers to every response."""

    def __init__(self, app: Asgi, names: Iterable[str], token: str = "", cookie: str = COOKIE) -> None:
        self._app, self._token, self._cookie = app, token, cookie
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

        request = HTTPConnection(scope)
        problem = self._check(scope["method"], request.headers)
        app: Asgi = self._app
        if problem is not None:
            app = JSONResponse(problem.to_dict(), status_code=problem.status)
        elif self._token and not scope["path"].startswith(OPEN):
            app = self._check_token(request) or self._app
        await app(scope, receive, with_headers)

    def _check_token(self, request: HTTPConnection) -> Response | None:
        """The response to a request without the token; None if the token is correct.

        The page gets the token once, in its address, and keeps it as a cookie.
        """
        kind, _, bearer = request.headers.get("authorization", "").partition(" ")
        if self._is_token(bearer if kind.lower() == "bearer" else request.cookies.get(self._cookie, "")):
            return None
        if request.url.path.startswith(API):
            body = Problem("the token is missing or wrong", "send it as Authorization: Bearer TOKEN").to_dict()
            return JSONResponse(body, status_code=HTTPStatus.UNAUTHORIZED, headers={"WWW-Authenticate": "Bearer"})
        if self._is_token(request.query_params.get("token", "")):
            response: Response = RedirectResponse(request.url.path, status_code=HTTPStatus.SEE_OTHER)
            secure = request.headers.get("x-forwarded-proto") == "https"
            response.set_cookie(self._cookie, self._token, httponly=True, samesite="lax", secure=secure)
            return response
        return FileResponse(SIGN_IN, status_code=HTTPStatus.UNAUTHORIZED, media_type="text/html")

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self._token.encode())

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


def limited_address(request: HTTPConnection) -> str | None:
    """The address of a client whose share is limited; None for this machine.

    A reverse proxy on this machine names its client last in X-Forwarded-For. From other machines it is ignored.
    """
    peer = request.client.host if request.client is not None else ""
    if not _is_loopback(peer):
        return peer
    forwarded = request.headers.get("x-forwarded-for", "").rsplit(",", 1)[-1].strip()
    return None if not forwarded or _is_loopback(forwarded) else forwarded[:80]


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def is_known_host(host: str, names: frozenset[str]) -> bool:
    """Whether a Host header is an IP address or a known name: DNS rebinding can forge neither."""
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
    """Whether a request comes from a page of this server, or from no page at all."""
    if fetch_site is not None and fetch_site not in ("same-origin", "none"):
        return False
    return origin is None or origin_host(origin) == host.lower()


def origin_host(origin: str) -> str:
    """The host and port of an origin; empty if it is `null` or malformed."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


class PunctualProtocol(H11Protocol):
    """uvicorn's HTTP with a time limit for the head of a request: 408 if only a part of it arrives.

    uvicorn itself waits forever: a client that sends one byte and then nothing would hold its connection.
    """

    head_s = 15.0

    @classmethod
    def within(cls, seconds: float) -> type["PunctualProtocol"]:
        """The protocol with this time limit."""
        return type("PunctualProtocol", (cls,), {"head_s": seconds})

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._head_timer: asyncio.TimerHandle | None = None
        self._begun = False  # a part of a head has arrived

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start waiting for the first head."""
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Receive bytes; the timer runs from the first byte of a head to its last."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self._begun = True
            if self._head_timer is None:
                self._await_head()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self.head_s, self._too_late)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
        self._head_timer, self._begun = None, False

    def _too_late(self) -> None:
        self._head_timer = None
        if self.transport.is_closing():
            return
        if self._begun and self.conn.our_state is h11.IDLE:
            body = json.dumps({"problem": "the head of the request took too long", "fix": "send it again"}).encode()
            headers = [
                ("content-type", "application/json"),
                ("content-length", str(len(body))),
                ("connection", "close"),
            ]
            for event in (h11.Response(status_code=408, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
