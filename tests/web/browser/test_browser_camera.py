"""The camera in a real browser, with a film of a synthetic face in its place."""

import re

import pytest

pytestmark = pytest.mark.slow  # each starts a page of a real browser

SHOWN = """() => [...[...document.querySelectorAll('#camera-figures dd')].map((each) => each.textContent),
  document.getElementById('camera-warnings').textContent]"""
FAKE = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")


@pytest.fixture(scope="module")
def with_camera(chromium, film):
    return chromium(*FAKE, f"--use-file-for-fake-video-capture={film}")


def test_the_camera_gets_answers_until_it_is_stopped(open_page, with_camera):
    page = open_page("/#camera", using=with_camera)
    answers = []
    page.on("response", lambda response: "/api/live" in response.url and answers.append(response.status))
    page.get_by_role("button", name="Start the camera").click()
    page.wait_for_selector("#camera-answer .label")
    page.wait_for_selector("#camera-figures dd")
    rate, latency, warned = page.evaluate(SHOWN)  # of one answer: the next may differ
    assert 1 < float(rate) < 130
    assert re.fullmatch(r"\d+\.\d s", latency)
    assert ("frames per second: below 50" in warned) == (float(rate) < 50) or float(rate) == 50
    page.wait_for_selector("#camera-curve polyline", state="attached")
    while answers.count(200) < 2:
        page.wait_for_timeout(100)
    track = page.evaluate_handle("document.getElementById('camera-video').srcObject.getTracks()[0]")
    page.get_by_role("button", name="Stop").click()
    assert track.evaluate("(track) => track.readyState") == "ended"
    assert page.locator("#camera-hint").inner_text() == "The camera is off."
    before = len(answers)
    page.wait_for_timeout(1000)
    assert len(answers) == before
    assert set(answers) <= {200, 422, 503}


def test_leaving_the_camera_turns_it_off(open_page, with_camera):
    page = open_page("/#camera", using=with_camera)
    page.get_by_role("button", name="Start the camera").click()
    page.wait_for_selector("#camera-stop:not([hidden])")
    track = page.evaluate_handle("document.getElementById('camera-video').srcObject.getTracks()[0]")
    page.locator("nav").get_by_text("Clip").click()
    assert track.evaluate("(track) => track.readyState") == "ended"


def test_a_refused_camera_permission_is_explained(open_page, browser):
    page = open_page("/#camera", permissions=[])
    page.evaluate(
        "() => { navigator.mediaDevices.getUserMedia ="
        " async () => { throw new DOMException('no', 'NotAllowedError'); }; }"
    )
    page.get_by_role("button", name="Start the camera").click()
    words = page.locator("#camera-problem .problem")
    words.wait_for()
    assert words.inner_text() == "The browser may not use the camera."
    assert page.locator("#camera-problem .fix").inner_text().startswith("Allow it for this page")
    assert page.get_by_role("button", name="Start the camera").is_visible()
