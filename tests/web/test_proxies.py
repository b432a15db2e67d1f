"""The examples of docs/web.md for nginx and Caddy, unchanged except for names, ports and files."""

import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parents[2]
USER = ("you", "open-sesame")

pytestmark = pytest.mark.slow  # starts two proxies and a server


@pytest.fixture(scope="module")
def behind(start_serve):
    """A server that knows itself by the name of the examples."""
    limits = ("--set=examples_ahead=false", f"--set=max_bytes={64 << 20}")
    with start_serve("--name", "faces.example.org", *limits) as (address, _, _):
        yield address


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl on this machine")
    folder = tmp_path_factory.mktemp("certificate")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=faces.example.org", "-keyout", folder / "key", "-out", folder / "pem"]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def example(start):
    """The indented block of docs/web.md that begins with this line."""
    text = (ROOT / "docs" / "web.md").read_text(encoding="utf-8")
    match = re.search(rf"^    {re.escape(start)}\n(?:(?:    .*)?\n)+", text, re.MULTILINE)
    assert match, f"docs/web.md has no block that begins with {start!r}"
    return re.sub(r"^    ", "", match[0], flags=re.MULTILINE)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


@contextmanager
def running(command, port, wait_until, **options):
    process = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, **options)

    def listens():
        assert process.poll() is None, "the proxy ended"
        with socket.socket() as asking:
            return asking.connect_ex(("127.0.0.1", port)) == 0

    try:
        wait_until(listens)
        yield f"https://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def replaced(text, changes):
    for old, new in changes.items():
        assert old in text, f"docs/web.md no longer says {old!r}"
        text = text.replace(old, str(new))
    return text


@pytest.fixture(scope="module")
def nginx(behind, certificate, tmp_path_factory, wait_until):
    binary = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
    if binary is None:
        pytest.skip("there is no nginx on this machine")
    folder, port = tmp_path_factory.mktemp("nginx"), free_port()
    hashed = subprocess.run(["openssl", "passwd", "-apr1", USER[1]], check=True, capture_output=True, text=True).stdout
    (folder / "users").write_text(f"{USER[0]}:{hashed}")
    changes = {
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        "/etc/ssl/faces.example.org.pem": certificate / "pem",
        "/etc/ssl/faces.example.org.key": certificate / "key",
        "/etc/nginx/faces.users": folder / "users",
        "http://127.0.0.1:7860": behind,
    }
    server = replaced(example("server {"), changes)
    paths = "".join(
        f"{name}_temp_path {folder}/{name};\n" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;" if os.getuid() == 0 else ""  # the folders of a test are its owner's alone
    (folder / "nginx.conf").write_text(
        f"daemon off; {user} pid {folder}/pid; error_log {folder}/log;\nevents {{}}\n"
        f"http {{ access_log off;\n{paths}{server} }}\n"
    )
    command = [binary, "-p", folder, "-c", folder / "nginx.conf", "-e", folder / "log"]
    with running(command, port, wait_until, stderr=subprocess.DEVNULL) as address:
        yield address


@pytest.fixture(scope="module")
def caddy(behind, tmp_path_factory, wait_until):
    binary = shutil.which("caddy")
    if binary is None:
        pytest.skip("there is no caddy on this machine")
    folder, port = tmp_path_factory.mktemp("caddy"), free_port()
    hashed = subprocess.run(
        [binary, "hash-password", "--plaintext", USER[1]], check=True, capture_output=True, text=True
    ).stdout.strip()
    site = example("faces.example.org {")
    site = re.sub(r"\$2a\$14\$\S+.*", hashed.replace("\\", r"\\"), site)
    site = replaced(site, {"faces.example.org {": f"https://faces.example.org:{port} {{\n    tls internal"})
    site = replaced(site, {"127.0.0.1:7860": behind.removeprefix("http://")})
    head = "{\n    admin off\n    auto_https disable_redirects\n    skip_install_trust\n}\n"
    (folder / "Caddyfile").write_text(head + site)
    home = {"HOME": str(folder), "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder), "PATH": "/usr/bin:/bin"}
    command = [binary, "run", "--config", folder / "Caddyfile", "--adapter", "caddyfile"]
    with running(command, port, wait_until, env=home, stderr=subprocess.DEVNULL) as address:
        wait_until(lambda: has_certificate(port))  # Caddy listens before it has made its own
        yield address


def has_certificate(port):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with socket.create_connection(("127.0.0.1", port)) as plain:
            context.wrap_socket(plain, server_hostname="faces.example.org").close()
    except ssl.SSLError:
        return False
    return True


@pytest.fixture(params=["nginx", "caddy"])
def proxy(request):
    """A client of the server behind a proxy."""
    address = request.getfixturevalue(request.param)
    port = address.rsplit(":", 1)[1]
    headers = {"Host": f"faces.example.org:{port}"}
    with httpx.Client(
        base_url=address, transport=NamedTransport("faces.example.org"), timeout=None, auth=USER, headers=headers
    ) as client:
        yield client


class NamedTransport(httpx.HTTPTransport):
    """Connects to an address, and asks it for another name, also in TLS."""

    def __init__(self, name):
        super().__init__(verify=False)
        self._name = name

    def handle_request(self, request):
        request.extensions = {**request.extensions, "sni_hostname": self._name}
        return super().handle_request(request)


def test_the_password_is_asked_for_and_the_page_is_served(proxy):
    assert proxy.get("/api/health", auth=None).status_code == 401
    assert proxy.get("/api/health").json()["status"] == "ok"
    assert "<title>EPIR" in proxy.get("/").text


def test_an_upload_goes_through(proxy, pictures):
    files = [("files", (path.name, path.read_bytes())) for path in pictures]
    reply = proxy.post("/api/predict", files=files)
    assert reply.status_code == 200
    assert proxy.get(reply.json()["pictures"]["why"]).content.startswith(b"\x89PNG")


def test_the_server_itself_says_what_is_too_large(proxy):
    reply = proxy.post("/api/predict", files={"files": ("a.mp4", b"\0\0\0\x18ftypmp42" + bytes(64 << 20))})
    assert reply.status_code == 413
    assert reply.json()["problem"] == "the request is larger than 64 MiB"


def test_a_camera_goes_through_as_a_stream(proxy, frames):
    ticket = proxy.post("/api/live").json()
    with proxy.stream("GET", ticket["events"]) as reply:
        lines = reply.iter_lines()
        times = ",".join(str(20 * number) for number in range(len(frames)))
        sent = [("frames", (f"{number}.jpg", frame)) for number, frame in enumerate(frames)]
        assert proxy.post(ticket["frames"], files=sent, data={"times": times}).json()["received"] == len(frames)
        first = next(line for line in lines if line.startswith("event:"))  # while the session goes on
        assert first == "event: status"
        assert proxy.delete(f"/api/live/{ticket['id']}").status_code == 204
        assert "event: end" in list(lines)


@pytest.fixture(scope="module")
def frames(clip):
    from epir.frames.reader import open_frames
    from epir.reports.pictures import jpeg

    with open_frames(clip) as film:
        return [jpeg(frame.pixels, quality=85) for frame in film.between(0, 19)]
