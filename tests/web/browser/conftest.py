"""A real Chromium with a real server."""

import contextlib
import re
import shutil

import cv2
import httpx
import numpy as np
import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--force-color-profile=srgb"),
)
REFUSED = re.compile(r"Failed to load resource: (the server responded with a status of (4\d\d|503)|net::ERR_FAILED)")
PATIENCE = 1_800_000  # ms, reached only if something hangs


@pytest.fixture(scope="module")
def chromium():
    """Starts browsers with further arguments; the module's end closes them, and the event loop of Playwright."""
    if CHROMIUM is None:
        pytest.skip("there is no chromium on this machine")
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install 'epir[dev]'")
    with contextlib.ExitStack() as stack:
        playwright = stack.enter_context(api.sync_playwright())

        def launch(*arguments):
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*QUIET, *arguments])
            stack.callback(browser.close)
            return browser

        yield launch


@pytest.fixture(scope="module")
def browser(chromium):
    return chromium()


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
def result_id(server, clip):
    """The id of a finished result, for all tests that only need one."""
    sent = {"files": (clip.name, clip.read_bytes())}
    return httpx.post(f"{server}/api/predict", files=sent, timeout=None).json()["id"]


@pytest.fixture
def instantly(result_id):
    """Answers every upload of a page with that result."""
    ticket = {"id": result_id, "url": f"/api/results/{result_id}"}
    return lambda page: page.route("**/api/predict**", lambda route: route.fulfill(status=202, json=ticket))


@pytest.fixture(scope="session")
def frames(clip):
    """The frames of the clip, (T, H, W, 3) uint8 BGR."""
    video, found = cv2.VideoCapture(str(clip)), []
    while (read := video.read())[0]:
        found.append(read[1])
    video.release()
    return np.stack(found)


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
    """A film for Chromium's fake camera, which loops it: forwards and backwards, so that nothing jumps."""
    path = tmp_path_factory.mktemp("film") / "face.y4m"
    height, width = frames.shape[1:3]
    with path.open("wb") as file:
        file.write(f"YUV4MPEG2 W{width} H{height} F60:1 Ip A1:1 C420\n".encode())
        for frame in [*frames, *frames[::-1]]:
            file.write(b"FRAME\n" + cv2.cvtColor(frame, cv2.COLOR_BGR2YUV_I420).tobytes())
    return path


@pytest.fixture(scope="session")
def several():
    """The result of a video with three movements; the second is the strongest."""
    scores = [(0.11, 0.81, 0.08), (0.08, 0.05, 0.87), (0.40, 0.35, 0.25)]
    time = np.arange(600) / 100
    energy = 0.15 + sum(1.3 * np.exp(-(((time - apex) / 0.09) ** 2)) for apex in (1.12, 2.70, 4.78))
    movements, events = [], []
    for label, onset, row in zip(("positive", "surprise", "uncertain"), (100, 258, 466), scores, strict=True):
        span = {"onset": onset, "apex": onset + 12, "offset": onset + 25}
        movements.append(
            {
                **{
                    "input": "a film with a long name that says what is in it.mp4",
                    "label": label,
                    "fps": 100.0,
                    **span,
                },
                "scores": dict(zip(("negative", "positive", "surprise"), row, strict=True)),
                "warnings": ["the head moves strongly: by 9 % of the face between onset and apex"],
                "pictures": {name: "/static/icon.svg" for name in ("onset", "apex", "flow", "tokens", "rollout")},
            }
        )
        frames = list(span.values())
        events.append({**{name: at / 100 for name, at in span.items()}, "frames": frames, "label": label})
    blink = {"onset": 3.5, "apex": 3.6, "offset": 3.8, "frames": [350, 360, 380], "label": "blink"}
    curve = {"time": time.tolist(), "energy": energy.tolist(), "level": 0.36, "events": events, "others": [blink]}
    result = {**movements[1], "movements": movements, "frames": 600, "seconds": 6.0, "curve": curve, "model": "epir"}
    return {"id": "several", "state": "done", "result": result, "error": None}
