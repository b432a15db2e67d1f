"""A real Chromium, and real desks: `epir annotate` in a process of its own, which can be killed."""

import contextlib
import json
import re
import shutil
import signal
import subprocess
import sys

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync", "--disable-background-networking")
EXPECTED = re.compile(
    r"Failed to load resource: (the server responded with a status of (401|409|422|507)|net::ERR)|Canvas2D"
)
PATIENCE = 120_000  # ms, reached only if something hangs


class RunningDesk:
    """`epir annotate` on a study."""

    def __init__(self, study, coder, *options):
        command = [sys.executable, "-m", "epir", "annotate", str(study), "--coder", coder, "--no-browser", "--json"]
        self._process = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True)
        lines = []
        while not lines or lines[-1].strip() != "}":
            lines.append(self._process.stdout.readline())
            assert lines[-1], "epir annotate ended: see above"
        self.address = json.loads("".join(lines))["address"]

    def kill(self):
        """As `kill -9` does: nothing is cleaned up."""
        self._process.send_signal(signal.SIGKILL)
        self._end()

    def stop(self):
        if self._process.poll() is None:
            self._process.terminate()
            self._end()

    def _end(self):
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture
def desk():
    """Starts desks; all are stopped at the end."""
    with contextlib.ExitStack() as stack:

        def start(study, coder="anna", *options):
            running = RunningDesk(getattr(study, "folder", study), coder, *options)
            stack.callback(running.stop)
            return running

        yield start


@pytest.fixture(scope="package")
def chromium():
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'epir[dev]'")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


@pytest.fixture
def open_desk(chromium):
    """Opens the page of a desk; any error or warning on its console fails the test."""
    complaints = []
    with contextlib.ExitStack() as stack:

        def open_at(address, *, width=1280, height=800, **options):
            context = chromium.new_context(viewport={"width": width, "height": height}, **options)
            stack.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(PATIENCE)
            page.on("console", lambda line: line.type in ("error", "warning") and complaints.append(line.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.goto(address)
            page.wait_for_selector("body[data-ready=true]")
            page.wait_for_selector("#picture[data-frame]")
            return page

        yield open_at
        assert [each for each in complaints if not EXPECTED.match(each)] == []
