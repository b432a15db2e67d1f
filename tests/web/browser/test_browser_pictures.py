"""Takes the screenshots of docs/web.md from the server that EPIR_PICTURES names:

epir serve &
EPIR_PICTURES=http://127.0.0.1:7860 python -m pytest tests/web/browser/test_browser_pictures.py
"""

import io
import os
from pathlib import Path

import cv2
import pytest
from PIL import Image

DOCS = Path(__file__).parents[3] / "docs" / "pictures"
MAX_BYTES = 250_000
FAKE = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")

pytestmark = pytest.mark.skipif("EPIR_PICTURES" not in os.environ, reason="writes the pictures of the documentation")


@pytest.fixture(scope="session")
def server():
    """The server to show."""
    return os.environ["EPIR_PICTURES"]


@pytest.fixture
def keep():
    """Saves a screenshot, which must be small."""

    def take(page, name, *, whole=True):
        page.mouse.move(0, 0)
        page.wait_for_timeout(400)
        shot = Image.open(io.BytesIO(page.screenshot(full_page=whole, animations="disabled"))).convert("RGB")
        path = DOCS / f"web_{name}.png"
        shot.quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)  # fewer colours, hardly visible
        assert 5_000 < path.stat().st_size < MAX_BYTES

    return take


def answer(page, example):
    page.locator(".example", has_text=example).click()
    page.wait_for_selector("#result:not([hidden])")
    page.wait_for_function("() => [...document.querySelectorAll('.keyframe img')].every((i) => i.naturalWidth > 0)")


def stop_at_the_apex(page):
    """Pause the replay where the arrows are longest."""
    page.wait_for_selector(".replay .legend:visible")
    page.get_by_role("button", name="Pause").click()
    page.locator(".replay .frames").first.focus()
    page.keyboard.press("Home")
    for _ in range(60):
        if page.locator(".replay-at").first.inner_text().endswith("apex"):
            return
        page.keyboard.press("ArrowRight")
    pytest.fail("the replay has no apex")


def test_the_start(open_page, keep):
    page = open_page(width=900, height=640)
    page.wait_for_function(
        "() => { const all = [...document.querySelectorAll('.example video')];"
        " return all.length && all.every((video) => video.readyState >= 2); }"
    )
    page.wait_for_timeout(1500)  # until they are painted
    keep(page, "start")


def test_a_result(open_page, keep):
    page = open_page(width=900, height=640)
    answer(page, "eyebrows")
    stop_at_the_apex(page)
    page.evaluate("document.activeElement.blur()")
    keep(page, "result")


def test_nothing_found_and_a_span_marked(open_page, keep):
    page = open_page(width=900, height=640)
    answer(page, "blink")
    page.locator(".entry summary").first.click()
    page.get_by_role("button", name="Pause").click()
    page.get_by_text("Mark onset and apex by hand").click()
    page.evaluate("document.activeElement.blur()")
    keep(page, "nothing")


def test_several_clips(open_page, keep, clip, frames):
    page = open_page(width=900, height=640)
    pictures = [(f"img{number}.jpg", cv2.imencode(".jpg", frame)[1].tobytes()) for number, frame in enumerate(frames)]
    given = [("interview.mp4", clip.read_bytes()), *pictures, ("notes.mp4", b"only text")]
    page.set_input_files("#files", [{"name": name, "mimeType": "", "buffer": content} for name, content in given])
    page.wait_for_selector("#batch-bar", state="hidden")
    keep(page, "batch")


def test_a_result_on_a_phone_in_the_dark(open_page, keep):
    page = open_page(width=360, height=960, color_scheme="dark")
    answer(page, "smile")
    keep(page, "phone", whole=False)


def test_the_camera(open_page, keep, chromium, film):
    with_camera = chromium(*FAKE, f"--use-file-for-fake-video-capture={film}")
    page = open_page("/#camera", using=with_camera, width=840, height=640)
    page.get_by_role("button", name="Start the camera").click()
    page.wait_for_selector("#camera-answer .bars")
    page.evaluate("document.querySelector('#camera-device').selectedOptions[0].textContent = 'Camera'")  # not a path
    keep(page, "camera")
