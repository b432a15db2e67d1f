"""The screenshots of docs/web.md. EPIR_PICTURES names a server to show, and has them written to docs/pictures:

epir serve &
EPIR_PICTURES=http://127.0.0.1:7860 python -m pytest tests/web/browser/test_browser_pictures.py
"""

import io
import os
from pathlib import Path

import pytest
from PIL import Image

DOCS = Path(__file__).parents[3] / "docs" / "pictures"
LARGEST = 250_000  # bytes
FAKE = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def server(request):
    """The server that is to be shown, else that of the other tests."""
    return os.environ.get("EPIR_PICTURES") or request.getfixturevalue("server")


@pytest.fixture
def keep(tmp_path):
    """Takes a picture of a page under a name, and looks that it is small."""
    folder = DOCS if "EPIR_PICTURES" in os.environ else tmp_path

    def take(page, name, *, whole=True):
        page.mouse.move(0, 0)
        page.wait_for_timeout(400)
        shot = Image.open(io.BytesIO(page.screenshot(full_page=whole, animations="disabled"))).convert("RGB")
        path = folder / f"web_{name}.png"
        shot.point(lambda value: min(255, (value + 2) // 4 * 4)).save(path, optimize=True)  # steps that no eye sees
        assert 5_000 < path.stat().st_size < LARGEST

    return take


def answer(page, example):
    page.locator(".example", has_text=example).click()
    page.wait_for_selector("#result:not([hidden])")
    page.wait_for_function("() => [...document.querySelectorAll('.shot img')].every((i) => i.naturalWidth > 0)")


def test_the_start(open_page, keep):
    page = open_page(width=840, height=640)
    page.wait_for_function(
        "() => { const all = [...document.querySelectorAll('.example video')];"
        " return all.length && all.every((video) => video.readyState >= 2); }"
    )
    keep(page, "start")


def test_a_result(open_page, keep):
    page = open_page(width=840, height=640)
    answer(page, "brows")
    keep(page, "result")


def test_a_result_on_a_phone_in_the_dark(open_page, keep):
    page = open_page(width=360, height=960, color_scheme="dark")
    answer(page, "smile")
    keep(page, "phone", whole=False)


def test_the_camera(open_page, keep, chromium, film):
    with_camera = chromium(*FAKE, f"--use-file-for-fake-video-capture={film}")
    page = open_page("/#camera", using=with_camera, width=840, height=640)
    page.get_by_role("button", name="Start the camera").click()
    page.wait_for_selector("#camera-answer .bars")
    keep(page, "camera")
