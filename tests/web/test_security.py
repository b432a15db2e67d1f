"""Host, Origin and token checks, shares of addresses, the security headers, and the time for the head of a request."""

import asyncio
import contextlib
import re
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse

from epir.web.security import HEADERS, Guard, PunctualProtocol, is_known_host, is_same_site, limited_address

DOCKERFILE = Path(__file__).parents[2] / "Dockerfile"
NAMES = frozenset({"localhost", "faces.example.org"})


@pytest.mark.parametrize("path", ["/", "/api/health", "/api/nothing", "/static/nothing.js", "/openapi.json"])
def test_every_response_has_the_headers(client, path):
    headers = client.get(path).headers
    assert {name: headers[name] for name in HEADERS} == HEADERS
    assert headers["cache-control"] == ("no-cache" if path.startswith("/static") else "no-store")
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers


def test_the_policy_lets_nothing_in_from_elsewhere():
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    for loose in ("*", "http", "unsafe", "data:"):
        assert loose not in policy


def test_addresses_and_known_names_are_served_and_others_are_not():
    known = ("localhost", "LOCALHOST:7860", "127.0.0.1:7860", "[::1]:7860", "192.168.1.4", "faces.example.org")
    others = ("", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "x:y:z", "[::1", "a b")
    assert [host for host in (*known, *others) if is_known_host(host, NAMES)] == list(known)


def test_a_foreign_host_is_refused(client):
    reply = client.get("/api/health", headers={"Host": "evil.example:7860"})
    assert reply.status_code == 400
    assert reply.json() == {
        "problem": "unknown host name 'evil.example:7860'",
        "fix": "use the address that epir serve prints, or allow this name with --name",
    }


@pytest.mark.parametrize(
    ("origin", "fetch_site", "allowed"),
    [
        (None, None, True),
        (None, "none", True),
        ("http://127.0.0.1:7860", "same-origin", True),
        ("http://127.0.0.1:7861", None, False),
        ("https://evil.example", None, False),
        ("null", None, False),
        ("http://[", None, False),
        (None, "cross-site", False),
        ("http://127.0.0.1:7860", "same-site", False),
    ],
)
def test_only_pages_of_this_server_may_send(origin, fetch_site, allowed):
    assert is_same_site(origin, fetch_site, "127.0.0.1:7860") is allowed


def test_a_cross_site_request_is_refused(client):
    for reply in (
        client.post("/api/predict", headers={"Origin": "https://evil.example"}),
        client.delete("/api/results/x", headers={"Origin": "https://evil.example"}),
    ):
        assert reply.status_code == 403
        assert reply.json() == {
            "problem": "cross-site requests are refused",
            "fix": "send it from the page of this server",
        }
    assert client.get("/api/health", headers={"Origin": "https://evil.example"}).status_code == 200


def connection(client, **headers):
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return HTTPConnection({"type": "http", "client": (client, 1), "headers": raw})


@pytest.mark.parametrize(
    ("client", "forwarded", "address"),
    [
        ("127.0.0.1", None, None),  # this machine
        ("127.0.0.1", "198.51.100.7", "198.51.100.7"),  # through a proxy on it
        ("127.0.0.1", "10.9.9.9, 198.51.100.7", "198.51.100.7"),  # the proxy appends the address it saw
        ("198.51.100.7", "10.9.9.9", "198.51.100.7"),  # anybody can invent the header
        ("::1", "127.0.0.1", None),
    ],
)
def test_limited_addresses(client, forwarded, address):
    headers = {} if forwarded is None else {"x_forwarded_for": forwarded}
    assert limited_address(connection(client, **headers)) == address


@pytest.fixture
def guarded():
    """A client of an application that asks for a token."""

    async def app(scope, receive, send):
        await JSONResponse({"path": scope["path"]})(scope, receive, send)

    transport = httpx.ASGITransport(Guard(app, (), token="open-sesame"))
    return lambda *request, **options: asyncio.run(_ask(transport, *request, **options))


async def _ask(transport, method, path, **options):
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        return await client.request(method, path, **options)


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Cookie": "epir_token=wrong"}])
def test_without_the_token_nothing_is_served(guarded, headers):
    reply = guarded("GET", "/api/health", headers=headers)
    assert reply.status_code == 401
    assert reply.json() == {"problem": "the token is missing or wrong", "fix": "send it as Authorization: Bearer TOKEN"}
    assert reply.headers["www-authenticate"] == "Bearer"
    assert guarded("GET", "/openapi.json", headers=headers).status_code == 401
    page = guarded("GET", "/", headers=headers)
    assert page.status_code == 401
    assert "This server needs a token" in page.text


def test_the_health_check_of_the_container_needs_no_token(client, guarded):
    check = next(line for line in DOCKERFILE.read_text().splitlines() if line.startswith("HEALTHCHECK"))
    (path,) = re.findall(r"'http://127\.0\.0\.1:7860(/[^']*)'", check)
    assert guarded("GET", path).status_code != 401
    assert client.get(path).status_code == 200


@pytest.mark.parametrize("headers", [{"Authorization": "Bearer open-sesame"}, {"Cookie": "epir_token=open-sesame"}])
def test_with_the_token_everything_is(guarded, headers):
    assert guarded("GET", "/api/health", headers=headers).json() == {"path": "/api/health"}


def test_the_page_takes_the_token_from_its_address_once(guarded):
    reply = guarded("GET", "/r/abc?token=open-sesame")
    assert (reply.status_code, reply.headers["location"]) == (303, "/r/abc")
    cookie = reply.headers["set-cookie"]
    assert "epir_token=open-sesame" in cookie and "HttpOnly" in cookie and "SameSite=lax" in cookie
    assert guarded("GET", "/?token=wrong").status_code == 401
    assert guarded("GET", "/api/health?token=open-sesame").status_code == 401  # addresses end up in logs
    assert guarded("GET", "/static/style.css").status_code == 200


async def hello(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"hi"})


def exchange(*parts, seconds=0.3):
    """The response of a server with this time limit to bytes sent in parts, until it closes the connection."""

    async def run():
        config = uvicorn.Config(
            hello, http=PunctualProtocol.within(seconds), lifespan="off", log_level="critical", port=0
        )
        server = uvicorn.Server(config)
        task = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0.02)
        reply = await reader.read()
        writer.close()
        server.should_exit = True
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return reply

    return asyncio.run(run())


def test_half_a_head_gets_408():
    reply = exchange(b"GET / HTTP/1.1\r\nHo")
    assert reply.startswith(b"HTTP/1.1 408 ")
    assert b'"problem": "the head of the request took too long"' in reply


def test_a_silent_connection_is_closed_without_a_response():
    assert exchange() == b""


def test_a_whole_head_is_served_and_the_next_one_has_its_own_time():
    whole = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    reply = exchange(whole, b"GET / HT")
    assert reply.startswith(b"HTTP/1.1 200 ")
    assert b"HTTP/1.1 408 " in reply
