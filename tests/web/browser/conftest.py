"""A real Chromium, a real Firefox, and a real server."""

import contextlib
import re
import shutil
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FIREFOX = next(filter(None, map(shutil.which, ("firefox-esr", "firefox"))), None)
RELAY = Path(__file__).with_name("firefox_relay.py")
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--force-color-profile=srgb"),
)
REFUSED = re.compile(r"Failed to load resource: (the server responded with a status of (4\d\d|503)|net::ERR_FAILED)")
FAKE = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")
FILM = {"sheet": "/static/icon.svg", "size": 32, "columns": 8}
PATIENCE = 300_000  # ms, reached only if something hangs


@pytest.fixture(scope="package")
def playwright():
    """The end of this folder closes every browser, and the event loop of Playwright, which other tests cannot bear."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'epir[dev]'")
    with api.sync_playwright() as started:
        yield started


@pytest.fixture(scope="package")
def chromium(request):
    """Starts Chromium with further arguments."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine")
    playwright = request.getfixturevalue("playwright")
    with contextlib.ExitStack() as stack:

        def launch(*arguments):
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, *arguments])
            stack.callback(browser.close)
            return browser

        yield launch


@pytest.fixture(scope="package")
def firefox(request, tmp_path_factory):
    """Starts the Firefox of the machine with further preferences."""
    if FIREFOX is None:
        pytest.skip("there is no firefox on this machine")
    pytest.importorskip("tornado", reason="tornado is not installed: pip install 'epir[dev]'")
    playwright = request.getfixturevalue("playwright")
    relay = tmp_path_factory.mktemp("firefox") / "firefox"
    relay.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{RELAY}" "{FIREFOX}" "$@"\n')
    relay.chmod(0o755)
    with contextlib.ExitStack() as stack:

        def launch(**preferences):
            options = {"channel": "moz-firefox", "executable_path": str(relay), "firefox_user_prefs": preferences}
            browser = playwright.firefox.launch(**options, timeout=PATIENCE)
            stack.callback(browser.close)
            return browser

        yield launch


@pytest.fixture(scope="package")
def plain_chromium(chromium, film):
    """The Chromium of all tests; its camera shows a film."""
    return chromium(*FAKE, f"--use-file-for-fake-video-capture={film}")


@pytest.fixture(scope="package")
def firefox_with_camera(firefox):
    """Its camera shows colours that change, and no face."""
    return firefox(**{"media.navigator.streams.fake": True, "media.navigator.permission.disabled": True})


@pytest.fixture
def browser(plain_chromium):
    """What `open_page` uses; a module may choose another one."""
    return plain_chromium


@pytest.fixture
def open_page(browser, server):
    """Opens the page at a path; any error or warning on its console fails the test."""
    complaints = []
    with contextlib.ExitStack() as stack:

        def open_at(path="/", *, width=1200, height=900, using=None, **options):
            context = (using or browser).new_context(viewport={"width": width, "height": height}, **options)
            stack.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(PATIENCE)
            page.on("console", lambda line: line.type in ("error", "warning") and complaints.append(line.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.goto(server + path)
            return page

        yield open_at
        assert [each for each in complaints if not REFUSED.match(each)] == []


@pytest.fixture(scope="session")
def result_id(answer):
    """The id of a finished result, for all tests that only need one."""
    return answer["id"]


@pytest.fixture
def instantly(result_id):
    """Answers every upload of a page with that result."""
    ticket = {"id": result_id, "url": f"/api/results/{result_id}"}
    return lambda page: page.route("**/api/predict**", lambda route: route.fulfill(status=202, json=ticket))


@pytest.fixture(scope="session")
def frames(clip):
    """The frames of the clip, (T, H, W, 3) uint8 BGR."""
    video, frames = cv2.VideoCapture(str(clip)), []
    while (read := video.read())[0]:
        frames.append(read[1])
    video.release()
    return np.stack(frames)


@pytest.fixture(scope="session")
def pair(frames, tmp_path_factory):
    """Two frames of it as pictures; their names are numbers of different length, so that text order is wrong."""
    folder = tmp_path_factory.mktemp("pair")
    paths = [folder / "frame9.png", folder / "frame10.png"]
    for path, frame in zip(paths, frames[[2, len(frames) // 2]], strict=True):
        cv2.imwrite(str(path), frame)
    return paths


@pytest.fixture(scope="session")
def film(frames, tmp_path_factory):
    """A film for Chromium's fake camera, which loops it: a face at rest that smiles, and the way back."""
    path = tmp_path_factory.mktemp("camera") / "face.y4m"
    height, width = frames.shape[1:3]
    noise = np.random.default_rng(0).normal(0, 1.5, (30, *frames.shape[1:]))
    rest = np.clip(frames[0] + noise, 0, 255).astype(np.uint8)
    with path.open("wb") as file:
        file.write(f"YUV4MPEG2 W{width} H{height} F30:1 Ip A1:1 C420\n".encode())
        for frame in [*rest, *frames[::3], *rest, *frames[::-3]]:
            file.write(b"FRAME\n" + cv2.cvtColor(frame, cv2.COLOR_BGR2YUV_I420).tobytes())
    return path


@pytest.fixture(scope="session")
def several():
    """The result of a video with three movements; the second is the strongest."""
    time = np.arange(600) / 100
    energy = 0.15 + sum(1.3 * np.exp(-(((time - apex) / 0.09) ** 2)) for apex in (1.12, 2.70, 4.78))
    movements, events = [], []
    for label, onset, row in (
        ("positive", 100, (0.11, 0.81, 0.08)),
        ("surprise", 258, (0.08, 0.05, 0.87)),
        ("uncertain", 466, (0.40, 0.35, 0.25)),
    ):
        span = {"onset": onset, "apex": onset + 12, "offset": onset + 25}
        frames, seconds = list(span.values()), {name: at / 100 for name, at in span.items()}
        events.append({**seconds, "frames": frames, "label": label})
        movements.append({
            "input": "a film with a long name that says what is in it.mp4", "label": label, "fps": 100.0, "track": 0,
            "text": "Both brows up; 1.1 % of the face; 0.12 s to the apex.", "probability": 0.93, "strength": 0.4,
            **span, **{f"{name}_s": at for name, at in seconds.items()},
            "scores": dict(zip(("negative", "positive", "surprise"), row, strict=True)),
            "units": [{"number": 2, "side": "left", "probability": 0.81}],
            "replay": {**FILM, "frames": frames, "seconds": list(seconds.values())},
            "warnings": ["the head moves strongly: by 9 % of the face between onset and apex"],
            "pictures": dict.fromkeys(("onset", "apex", "why", "flow", "tokens", "rollout"), "/static/icon.svg"),
            "attribution": {"label": label, "regions": {"brows": 0.031, "eyes": 0.012, "cheeks": -0.01}},
        })  # fmt: skip
    blink = {"onset": 3.5, "apex": 3.6, "offset": 3.8, "frames": [350, 360, 380], "label": "blink"}
    curve = {"track": 0, "time": time.tolist(), "frames": list(range(600)), "energy": energy.tolist(), "level": 0.36}
    curve |= {"events": events, "others": [blink], "film": None}
    rejected = {
        "reason": "blink", "region": "eyes", "side": "both", "strength": 2.0, "probability": 0.0, "track": 0,
        "rule": "the lids shut", "onset": 350, "apex": 360, "offset": 380, "onset_s": 3.5, "apex_s": 3.6,
        "offset_s": 3.8, "replay": None,
    }  # fmt: skip
    result = {
        **movements[1], "movements": movements, "frames": 600, "seconds": 6.0, "curves": [curve], "model": "epir",
        "rejected": [rejected], "table": "/static/icon.svg", "calibrated_on": "people",
        "reliability": [{"low": 0.8, "high": 0.9, "clips": 95, "right": 0.8632}],
    }  # fmt: skip
    expires = "2026-11-17T12:00:00+00:00"
    return {"id": "several", "name": "film", "state": "done", "result": result, "error": None, "expires": expires}
