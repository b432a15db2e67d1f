"""Takes the screenshots of docs/web.md in Chromium, with the shipped weights: `python docs/screenshots.py`."""

import io
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import cv2
import numpy as np
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from epir.core.engines import Silent
from epir.frames.film import write_film
from epir.web.app import address_of, create_app, listen, server_of
from epir.web.examples import BY_NAME, FPS, render_frames
from epir.web.service import Service
from epir.web.settings import ServeSettings

PICTURES = Path(__file__).parent / "pictures"
CAMERA = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", "--no-sandbox")
PATIENCE_MS = 300_000


@contextmanager
def serving() -> Iterator[str]:
    """The address of a server while it runs."""
    service = Service(ServeSettings())
    listening = listen("127.0.0.1", 0)
    server = server_of(create_app(service))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    try:
        service.start()
        thread.start()
        yield address_of(listening).rstrip("/")
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


def keep(page: Page, name: str, *, whole: bool = True) -> None:
    """Save a screenshot with few colours, which are hardly visible."""
    page.mouse.move(0, 0)
    page.wait_for_timeout(400)
    shot = Image.open(io.BytesIO(page.screenshot(full_page=whole, animations="disabled"))).convert("RGB")
    shot.quantize(256, dither=Image.Dither.NONE).save(PICTURES / f"web_{name}.png", optimize=True)


def choose_example(page: Page, title: str) -> None:
    """Choose an example and wait for its answer."""
    page.locator(".example", has_text=title).click()
    page.wait_for_selector("#result:not([hidden])")
    page.wait_for_function("() => [...document.querySelectorAll('.keyframe img')].every((i) => i.naturalWidth > 0)")


def stop_at_the_apex(page: Page) -> None:
    """Pause the replay where the arrows are longest."""
    page.wait_for_selector(".replay .legend:visible")
    page.get_by_role("button", name="Pause").click()
    page.locator(".replay .frames").first.focus()
    page.keyboard.press("Home")
    while not page.locator(".replay-at").first.inner_text().endswith("apex"):
        page.keyboard.press("ArrowRight")
    page.evaluate("document.activeElement.blur()")


def write_camera_film(path: Path, frames: list[np.ndarray]) -> None:
    """A film for Chromium's fake camera, which loops it: forwards and backwards, so that nothing jumps."""
    height, width = frames[0].shape[:2]
    with path.open("wb") as file:
        file.write(f"YUV4MPEG2 W{width} H{height} F60:1 Ip A1:1 C420\n".encode())
        for frame in [*frames, *frames[::-1]]:
            file.write(b"FRAME\n" + cv2.cvtColor(frame, cv2.COLOR_RGB2YUV_I420).tobytes())


def main() -> None:
    """Take all of them."""
    folder = Path(tempfile.mkdtemp())
    frames = list(render_frames(BY_NAME["smile"], Silent()))
    clip = write_film(folder / "interview.mp4", frames, FPS)
    write_camera_film(folder / "camera.y4m", frames)
    numbered = [cv2.imencode(".jpg", cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))[1].tobytes() for frame in frames]
    several = [("interview.mp4", clip.read_bytes()), ("notes.mp4", b"only text")]
    several += [(f"img{number}.jpg", content) for number, content in enumerate(numbered)]
    with serving() as address, sync_playwright() as playwright:
        arguments = [*CAMERA, f"--use-file-for-fake-video-capture={folder / 'camera.y4m'}"]
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=arguments)

        def open_page(path: str = "/", width: int = 900, height: int = 640, dark: bool = False) -> Page:
            page = browser.new_page(
                viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
            )
            page.set_default_timeout(PATIENCE_MS)
            page.goto(address + path)
            return page

        page = open_page()
        page.wait_for_function(
            "() => { const all = [...document.querySelectorAll('.example video')];"
            " return all.length && all.every((video) => video.readyState >= 2); }"
        )
        page.wait_for_timeout(1500)  # until they are painted
        keep(page, "start")
        choose_example(page, "eyebrows")
        stop_at_the_apex(page)
        keep(page, "result")

        page = open_page()
        choose_example(page, "blink")
        page.locator(".entry summary").first.click()
        page.get_by_role("button", name="Pause").click()
        page.get_by_text("Mark onset and apex by hand").click()
        page.evaluate("document.activeElement.blur()")
        keep(page, "nothing")

        page = open_page()
        files = [{"name": name, "mimeType": "", "buffer": content} for name, content in several]
        page.set_input_files("#files", files)  # type: ignore[arg-type]
        page.wait_for_selector("#batch-bar", state="hidden")
        keep(page, "batch")

        page = open_page(width=360, height=960, dark=True)
        choose_example(page, "smile")
        keep(page, "phone", whole=False)

        page = open_page("/#camera", width=840)
        page.get_by_role("button", name="Start the camera").click()
        page.wait_for_selector("#camera-answer .bars")
        page.evaluate(
            "document.querySelector('#camera-device').selectedOptions[0].textContent = 'Camera'"
        )  # not a path
        keep(page, "camera")
        browser.close()
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
