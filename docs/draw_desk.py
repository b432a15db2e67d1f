"""Takes the pictures of docs/coding.md in Chromium, of synthetic people whom two coders have coded.

    epir synth recordings --long --people 10 --size 480
    epir annotate recordings --out study --spot-only
    python docs/draw_desk.py recordings study

The coders know the true movements: Anna gives them as they are, Ben misses some, takes some for another emotion and is
a frame or two off.
"""

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from epir.annotation.records import UnitCode
from epir.annotation.study import Study
from epir.core.seeds import generator
from epir.datasets.intervals import read_intervals
from epir.spotting.timeline import OVERLAP, overlap

PICTURES = Path(__file__).parent / "pictures"
UNITS = {"positive": (12,), "negative": (4,), "surprise": (1, 2)}
WORDS = tuple(UNITS)
PATIENCE_MS = 120_000


def name_words(folder: Path) -> None:
    """Let the study have the words of the synthetic people."""
    path = folder / "study.toml"
    lines = path.read_text(encoding="utf-8").splitlines()
    words = f"emotions = {json.dumps(list(WORDS))}"
    path.write_text("\n".join(words if line.startswith("emotions") else line for line in lines), encoding="utf-8")


def code(study: Study, coder: str, recordings: Path, *, careful: bool) -> None:
    """Decide on every candidate, and mark what was not proposed."""
    random = generator(0, "coder", coder)
    ids = {Path(each.path).stem: each.id for each in study.recordings()}
    left = [each for each in study.movements() if each.source == "spotter"]
    for video in read_intervals(recordings / "intervals.csv"):
        for one in video.intervals:
            if not careful and random.uniform() < 0.12:
                continue
            other = not careful and random.uniform() < 0.15
            word = WORDS[(WORDS.index(one.emotion) + other) % len(WORDS)]
            onset, apex, offset = (number - video.first for number in (one.onset, one.apex or one.onset, one.offset))
            later = 0 if careful else int(random.integers(0, 3))
            frames = {"onset": onset, "apex": apex, "offset": min(offset + later, (video.frames or 0) - 1)}
            units = [UnitCode(number, "", "B") for number in UNITS[word]]
            fields = {"kind": one.kind, "emotion": word, "units": units}
            here = [each for each in left if each.recording == ids[video.name]]
            best = max(here, key=lambda each: overlap((onset, offset), (each.onset, each.offset)), default=None)
            if best is not None and overlap((onset, offset), (best.onset, best.offset)) >= OVERLAP:
                study.decide(coder, best.id, state="accept", **frames, **fields)
                left.remove(best)
            else:
                study.mark(coder, ids[video.name], **frames, **fields)
    for each in left:
        study.decide(coder, each.id, state="reject")


@contextmanager
def desk(study: Path, coder: str, *options: str) -> Iterator[str]:
    """The address of a desk while it runs."""
    command = [sys.executable, "-m", "epir", "annotate", str(study), "--coder", coder, "--no-browser", "--json"]
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = list(iter(process.stdout.readline, "}\n"))
        try:
            yield json.loads("".join([*lines, "}"]))["address"]
        finally:
            process.terminate()


def keep(page: Page, name: str) -> None:
    """Save a screenshot with few colours, which are hardly visible."""
    page.mouse.move(0, 0)
    page.wait_for_timeout(1500)
    shot = Image.open(io.BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
    shot.quantize(256, dither=Image.Dither.NONE).save(PICTURES / f"{name}.png", optimize=True)


def open_page(browser: Browser, address: str) -> Page:
    """The page of a desk, once it shows a face."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.set_default_timeout(PATIENCE_MS)
    page.goto(address)
    page.wait_for_selector("body[data-ready=true]")
    page.wait_for_selector("#picture[data-frame]")
    return page


def press(page: Page, *keys: str) -> None:
    """Press keys, with time for the page to follow."""
    for key in keys:
        page.keyboard.press(key)
        page.wait_for_timeout(1500)


def main(recordings: Path, folder: Path) -> None:
    """Take all of them; a first coder's review, then two coders' agreement and adjudication."""
    name_words(folder)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        with desk(folder, "anna", "--blind") as address:
            page = open_page(browser, address)
            keep(page, "desk_review")
            press(page, "x", "x", "x")
            keep(page, "desk_magnified")
        with Study.open(folder) as study:
            code(study, "anna", recordings, careful=True)
            code(study, "ben", recordings, careful=False)
        with desk(folder, "agreed") as address:
            keep(open_page(browser, address), "desk_agreed")
        report = folder / "agreement.html"
        subprocess.run(
            [sys.executable, "-m", "epir", "agree", str(folder), "--out", str(report), "--force"], check=True
        )
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(report.resolve().as_uri())
        keep(page, "agreement")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
