"""The camera in a real browser, with a film of a synthetic face in its place."""

import csv
import json
import re

import pytest

from epir.recognition.events import event_columns

pytestmark = pytest.mark.slow  # a real browser


def start(page):
    page.get_by_role("button", name="Start the camera").click()
    page.wait_for_selector("#camera-stop:not([hidden])")
    return page.evaluate_handle("document.getElementById('camera-video').srcObject.getTracks()[0]")


def figures(page):
    names = page.locator("#camera-figures dt").all_inner_texts()
    return dict(zip(names, page.locator("#camera-figures dd").all_inner_texts(), strict=True))


@pytest.mark.parametrize("which", ["plain_chromium", "firefox_with_camera"], ids=["chromium", "firefox"])
def test_the_camera_is_analysed_as_a_stream_until_it_stops(open_page, request, which):
    page = open_page("/#camera", using=request.getfixturevalue(which))
    sent = []
    page.on("response", lambda reply: reply.url.endswith("/frames") and sent.append(reply.status))
    track = start(page)
    page.wait_for_function(
        "() => /^\\d+ %$/.test(document.querySelector('#camera-figures dd')?.textContent) &&"
        " document.querySelectorAll('#camera-figures dd')[1].textContent !== 'measuring'"
    )
    shown = figures(page)
    assert re.fullmatch(r"\d+ %", shown["Coverage"])
    assert 0 <= float(shown["Frames per second"]) < 130
    assert re.fullmatch(r"\d+\.\d s", shown["Latency"])
    if which == "plain_chromium":
        page.wait_for_selector("#camera-curve .curve", state="attached")
    else:
        page.get_by_text("No face is visible. Look into the camera, with light from the front.").wait_for()
    page.get_by_role("button", name="Stop").click()
    assert track.evaluate("(track) => track.readyState") == "ended"
    assert page.locator("#camera-hint").inner_text() == "The camera is off."
    assert page.locator("#camera-figures dd").count() >= 2  # what was seen stays
    if which == "plain_chromium":
        assert page.locator("#camera-curve .curve").count() >= 1
    assert sent and set(sent) <= {200, 404}


MOVEMENT = {
    **{"label": "positive", "text": "Both lip corners up.", "confidence": 0.9, "fps": 30.0, "track": 0},
    **{"scores": {"negative": 0.05, "positive": 0.9, "surprise": 0.05}, "onset": 4, "apex": 8, "offset": 12},
    **{"onset_s": 0.13, "apex_s": 0.27, "offset_s": 0.4, "probability": 0.8, "strength": 1.0, "warnings": ["a, b"]},
    **{"moved": [{"region": "lip corner", "side": "both"}], "face": {"x": 160, "y": 160, "side": 150}},
    "units": [{"number": 12, "side": "both", "probability": 0.8}, {"number": 6, "side": "left", "probability": 0.2}],
}


def give_movement(page):
    """Give the page a movement as the server would: the machine may be too slow to find one."""
    page.evaluate(
        """async (movement) => {
          const real = window.EventSource;
          window.EventSource = class extends real {
            constructor(address) {
              super(address);
              const data = JSON.stringify(movement);
              const find = () => this.dispatchEvent(new MessageEvent("movement", { data }));
              const early = () => (++seen === 3 ? find() : null); // once there are frames for a replay
              let seen = 0;
              this.addEventListener("status", early);
            }
          };
        }""",
        MOVEMENT,
    )


KEEP = """() => {
  const real = window.EventSource;
  window.EventSource = class extends real {
    constructor(address) {
      super(address);
      window.source = this;
      this.addEventListener("status", ({ data }) => (window.latest = JSON.parse(data)));
    }
  };
}"""


def test_the_frame_rate_stays_when_the_camera_stops(open_page):
    """The last report of the server has none: it said `measuring` of a camera that was off."""
    page = open_page("/#camera")
    page.evaluate(KEEP)
    start(page)
    page.wait_for_function("() => window.latest?.rate")
    page.get_by_role("button", name="Stop").click()
    page.evaluate("""() => source.dispatchEvent(
      new MessageEvent("status", { data: JSON.stringify({ ...latest, rate: null }) }))""")
    assert figures(page)["Frames per second"].isdigit()


def test_movements_are_listed_replayed_and_saved(open_page):
    page = open_page("/#camera")
    give_movement(page)
    start(page)
    entry = page.locator("#camera-history-list li", has=page.get_by_text(MOVEMENT["text"], exact=True))
    entry.wait_for()  # a quick machine finds others too
    chance = page.locator("#camera-answer .certainty").inner_text()
    assert re.match(r"A micro-expression with a probability of [01]\.\d\d; if it is one, ", chance)
    page.wait_for_selector("#camera-figures dd")
    page.get_by_role("button", name="Stop").click()
    page.locator("#camera-history-list").get_by_role("button", name="Replay").first.focus()
    page.keyboard.press("Enter")
    canvas = page.locator("#camera-replay canvas")
    page.wait_for_function("() => document.querySelector('#camera-replay canvas')?.dataset.frame")
    frame = canvas.get_attribute("data-frame")
    page.wait_for_function("(was) => document.querySelector('#camera-replay canvas').dataset.frame !== was", arg=frame)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as CSV").click()
    with open(saved.value.path(), newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        row = next(each for each in reader if each["text"] == MOVEMENT["text"])
    assert reader.fieldnames == [*event_columns(("negative", "positive", "surprise")), "clock"]
    assert (row["class"], row["p_positive"], row["units"], row["warnings"]) == ("positive", "0.9", "12", "a, b")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as JSON").click()
    with open(saved.value.path(), encoding="utf-8") as file:
        saved_movements = json.load(file)["movements"]
    assert MOVEMENT["scores"] in [each["scores"] for each in saved_movements]
    page.get_by_role("button", name="Clear the list").click()
    assert page.locator("#camera-history").is_hidden()


def test_nothing_is_recorded_until_it_is_asked_for(open_page):
    page = open_page("/#camera")
    page.evaluate(
        "() => { const real = MediaRecorder; window.made = 0; window.MediaRecorder = class extends real {"
        " constructor(...all) { super(...all); window.made++; } }; }"
    )
    start(page)
    page.wait_for_selector("#camera-figures dd")
    assert page.evaluate("window.made") == 0
    page.get_by_role("button", name="Record").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Stop recording").click()
    with open(saved.value.path(), "rb") as file:
        assert file.read(4) == b"\x1a\x45\xdf\xa3"


def test_leaving_the_camera_turns_it_off(open_page):
    page = open_page("/#camera")
    track = start(page)
    page.locator("nav").get_by_text("Clip").click()
    assert track.evaluate("(track) => track.readyState") == "ended"


def test_the_cameras_of_the_machine_can_be_chosen(open_page, chromium):
    two = chromium("--use-fake-device-for-media-stream=device-count=2", "--use-fake-ui-for-media-stream")
    page = open_page("/#camera", using=two)
    start(page)
    page.wait_for_function("() => document.querySelectorAll('#camera-device option').length === 2")
    options = page.locator("#camera-device option").evaluate_all("(all) => all.map((each) => each.value)")
    page.select_option("#camera-device", options[1])
    page.wait_for_function(
        "(id) => document.getElementById('camera-video').srcObject?.getVideoTracks()[0].getSettings().deviceId === id",
        arg=options[1],
    )


def test_a_refused_camera_permission_is_explained(open_page, browser):
    page = open_page("/#camera", permissions=[])
    page.evaluate(
        "() => { navigator.mediaDevices.getUserMedia ="
        " async () => { throw new DOMException('no', 'NotAllowedError'); }; }"
    )
    page.get_by_role("button", name="Start the camera").click()
    text = page.locator("#camera-problem .problem")
    text.wait_for()
    assert text.inner_text() == "The browser blocked the camera."
    assert page.locator("#camera-problem .fix").inner_text().startswith("Allow it for this page")
    assert page.get_by_role("button", name="Start the camera").is_visible()


def test_the_list_of_calls_needs_no_network(open_page):
    page = open_page("/docs")
    page.get_by_text("/api/predict", exact=True).click()
    page.wait_for_selector("details[open] table")
    assert "408" in page.locator("details[open]").inner_text()
    page.locator("details[open] a", has_text="PredictAnswerJson").first.click()
    page.wait_for_selector("#type-PredictAnswerJson[open] table")


MOTION = """async ([parts, seen]) => {
  const { EventSource: Real, fetch: realFetch } = window;
  window.fetch = async (address, options) => {
    if (!String(address).includes("/api/live")) return realFetch(address, options);
    if (options.method === "DELETE") return new Response(null, { status: 204 });
    const body = { id: "x", frames: "/api/live/x/frames", events: "/api/live/x/events", seconds: 60, received: 1 };
    return new Response(JSON.stringify(body), { status: 201 });
  };
  window.EventSource = class extends EventTarget {
    constructor() {
      super();
      window.tell = (name, data) => this.dispatchEvent(new MessageEvent(name, { data: JSON.stringify(data) }));
    }
    close() {}
  };
}"""
STATUS = {
    **{"until_s": 9.0, "elapsed_s": 9.0, "covered_s": 9.0, "coverage": 1.0, "rate": 60.0, "fps": 60.0},
    **{"looked_at": 537, "damaged": 0, "face": "", "received": 540, "waiting_s": 0.0, "dropped": 3},
}


def send_event(page, name, data):
    page.evaluate("([name, data]) => window.tell(name, data)", [name, data])


def xs(page):
    """The horizontal places of every line of the curve."""
    lines = page.locator("#camera-curve .curve").evaluate_all("(all) => all.map((each) => each.getAttribute('points'))")
    return [[float(point.split(",")[0]) for point in line.split()] for line in lines]


def test_after_a_cut_no_curve_runs_backwards_and_stop_erases_nothing(open_page):
    """The first person's last seconds come after the first ones of the person after the cut."""
    page = open_page("/#camera")
    page.evaluate(MOTION, [[], 0])
    start(page)
    page.wait_for_function(
        "() => window.tell && document.querySelector('#camera-answer .label').textContent === 'Watching'"
    )
    page.wait_for_timeout(300)

    def part(track, *times):
        curve = {"track": track, "time": times, "frames": [round(60 * each) for each in times], "level": 0.2}
        send_event(page, "motion", {**curve, "energy": [0.3] * len(times), "rejected": []})

    part(0, 1.0, 1.1, 1.2)
    part(1, 8.4, 8.5, 8.6)
    part(0, 1.3, 1.4)
    send_event(page, "status", STATUS)
    page.wait_for_function("() => document.querySelectorAll('#camera-curve .curve').length === 2")
    assert [len(line) for line in xs(page)] == [5, 3]
    assert all(line == sorted(line) for line in xs(page))
    words = page.locator("#camera-warnings").inner_text()
    assert "3 frames of 540 skipped; no gap" in words and "too slow" not in words
    page.get_by_role("button", name="Stop").click()
    part(1, 8.7)
    page.wait_for_function(
        "() => document.querySelectorAll('#camera-curve .curve')[1]?.getAttribute('points').split(' ').length === 4"
    )
    assert page.locator("#camera-answer .label").inner_text() == "Watching"


def test_a_server_that_skips_many_frames_is_too_slow(open_page):
    page = open_page("/static/responsible-use.html")
    call = "async (values) => (await import('/static/format.js')).skippedNote(...values)"
    assert page.evaluate(call, ["the server", 0, 540, False]) is None
    assert page.evaluate(call, ["the server", 60, 540, True]) == (
        "the server is too slow for this camera (60 frames of 540 skipped)"
    )
