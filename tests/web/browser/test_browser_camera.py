"""The camera in a real browser, with a film of an invented face in its place."""

import re

import pytest

pytestmark = pytest.mark.slow  # each starts a page of a real browser

FAKE = ("--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream")


@pytest.fixture(scope="module")
def with_camera(chromium, film):
    return chromium(*FAKE, f"--use-file-for-fake-video-capture={film}")


def test_the_camera_is_looked_at_again_and_again_and_stops_cleanly(open_page, with_camera):
    page = open_page("/#camera", using=with_camera)
    answers = []
    page.on("response", lambda response: "/api/live" in response.url and answers.append(response.status))
    page.get_by_role("button", name="Start the camera").click()
    page.wait_for_selector("#camera-answer .label")
    page.wait_for_selector("#camera-figures dd")
    rate = float(page.locator("#camera-figures dd").first.inner_text())
    assert 1 < rate < 130
    assert re.fullmatch(r"\d+\.\d s", page.locator("#camera-figures dd").nth(1).inner_text())
    warned = "frames a second: under 50" in page.locator("#camera-warnings").inner_text()
    assert warned == (rate < 49.5) or 49 < rate < 51
    page.wait_for_selector("#camera-curve polyline", state="attached")
    for _ in range(600):
        if answers.count(200) >= 2:
            break
        page.wait_for_timeout(200)
    assert answers.count(200) >= 2
    track = page.evaluate_handle("document.getElementById('camera-video').srcObject.getTracks()[0]")
    page.get_by_role("button", name="Stop").click()
    assert track.evaluate("(track) => track.readyState") == "ended"
    assert page.locator("#camera-hint").inner_text() == "The camera is off."
    page.wait_for_timeout(500)
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


def test_a_camera_that_may_not_be_used_is_told_with_a_fix(open_page, browser):
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
