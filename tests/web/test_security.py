"""Host and Origin checks, and the security headers."""

import pytest

from epir.web.security import HEADERS, is_known_host, is_same_site

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


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:7860", "127.0.0.1:7860", "[::1]:7860", "192.168.1.4", "faces.example.org"]
)
def test_addresses_and_known_names_are_served(host):
    assert is_known_host(host, NAMES)


@pytest.mark.parametrize(
    "host", ["", "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "x:y:z", "[::1", "a b"]
)
def test_other_names_are_not(host):
    assert not is_known_host(host, NAMES)


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
def test_only_the_own_page_may_send(origin, fetch_site, allowed):
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
