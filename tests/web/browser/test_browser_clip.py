"""The page in a real browser, from a clip to its answer. The first test is the one of the daily loop."""

import re

import httpx
import pytest

LABELS = re.compile("negative|positive|surprise|uncertain", re.IGNORECASE)


def upload(page, *paths):
    page.set_input_files("#files", [str(path) for path in paths])


def answered(page):
    """Wait for the answer and give its label."""
    page.wait_for_selector("#result:not([hidden]) .label, #problem:not([hidden]), #start-problem:not([hidden])")
    assert page.locator("#result").is_visible(), page.locator("main").inner_text()
    return page.locator("#result .label").inner_text()


def loaded(page, selector):
    """Wait until the pictures of a selector have pixels, and give their sources."""
    page.wait_for_function(
        "(s) => { const all = [...document.querySelectorAll(s)];"
        " return all.length && all.every((image) => image.naturalWidth > 0); }",
        arg=selector,
    )
    return page.locator(selector).evaluate_all("(all) => all.map((each) => each.getAttribute('src'))")


def test_a_video_gives_an_answer_with_its_pictures(open_page, clip, instantly):
    page = open_page()
    instantly(page)
    upload(page, clip)
    assert LABELS.fullmatch(answered(page))
    assert "smile.mp4" in page.locator("#result .eyebrow").inner_text()
    assert page.locator(".bars li").count() == 3
    assert len(loaded(page, ".keyframe img")) == 3
    assert page.locator(".timeline .curve").count() == 1
    assert page.locator(".timeline .event").count() >= 1
    assert page.evaluate("document.activeElement.id") == "result-title"
    assert re.search(r"/r/[\w-]+$", page.url)


@pytest.mark.slow
def test_each_overlay_is_another_picture(open_page, result_id):
    page = open_page(f"/r/{result_id}")
    answered(page)
    seen = []
    for name in ("Why", "Flow", "Tokens", "Attention"):
        page.get_by_role("radio", name=name).check()
        seen += loaded(page, ".overlay img")
    assert len(set(seen)) == 4
    moved = page.locator(".moved").inner_text()
    assert moved.endswith(".") and moved in page.locator(".overlay img").get_attribute("alt")
    page.get_by_role("radio", name="Why").check()
    alt = page.locator(".overlay img").get_attribute("alt")
    assert re.match(r"Why on the face: the score of (negative|positive|surprise) falls most without the \w+", alt)


@pytest.mark.slow
def test_a_file_name_is_shown_as_text(open_page, tmp_path):
    path = tmp_path / "<img src=x onerror=alert(1)>.mp4"
    path.write_text("only text")
    page = open_page()
    upload(page, path)
    page.wait_for_selector("#start-problem:not([hidden])")
    assert "<img src=x" in page.locator("#start-problem-text").inner_text()
    assert page.locator("#start-problem img").count() == 0


@pytest.mark.slow
def test_the_thumbnails_of_examples_are_visible(open_page):
    page = open_page()
    page.wait_for_function(
        "() => { const all = [...document.querySelectorAll('.example video')];"
        " return all.length && all.every((v) => v.videoWidth > 0 && !v.error); }"
    )


@pytest.mark.slow
def test_one_picture_asks_for_the_other(open_page, pair):
    page = open_page()
    upload(page, pair[0])
    page.wait_for_selector("#pair:not([hidden])")
    assert page.locator("#pair-title").inner_text() == "One more picture"
    assert page.get_by_role("button", name="Analyse").is_disabled()
    upload(page, pair[1])
    page.wait_for_function("() => !document.getElementById('pair-go').disabled")
    assert page.locator(".pair .file").all_inner_texts() == ["frame9.png", "frame10.png"]


@pytest.mark.slow
def test_a_file_above_the_limit_is_not_even_sent(open_page, tmp_path):
    page = open_page()
    page.locator("#limits", has_text="256 MB").wait_for()
    sent = []
    page.on("request", lambda request: request.method == "POST" and sent.append(request.url))
    with (tmp_path / "long.mp4").open("wb") as file:
        file.truncate(300 << 20)
    upload(page, tmp_path / "long.mp4")
    page.wait_for_selector("#start-problem:not([hidden])")
    assert page.locator("#start-problem-text").inner_text() == "long.mp4 is 300 MB; the limit is 256 MB."
    assert sent == []


@pytest.mark.slow
def test_a_permalink_survives_a_reload_until_the_result_is_deleted(open_page, pair, server):
    files = [("files", (path.name, path.read_bytes())) for path in pair]
    id = httpx.post(f"{server}/api/predict", files=files, timeout=None).json()["id"]
    page = open_page(f"/r/{id}")
    label, address = answered(page), page.url
    page.reload()
    assert answered(page) == label
    page.get_by_role("button", name="Delete result").click()
    assert page.locator("#start").is_visible()
    page.goto(address)
    page.wait_for_selector("#problem:not([hidden])")
    assert "no such result" in page.locator("#problem-text").inner_text()


@pytest.mark.slow
def test_back_leads_from_the_answer_to_the_start(open_page, clip, instantly):
    page = open_page()
    instantly(page)
    upload(page, clip)
    answered(page)
    page.go_back()
    page.wait_for_selector("#start:not([hidden])")
    page.go_forward()
    assert LABELS.fullmatch(answered(page))


@pytest.mark.slow
def test_the_key_frames_that_are_given_are_used(open_page, clip):
    page = open_page()
    page.locator(".options summary").click()
    page.get_by_role("spinbutton", name="Onset").fill("5")
    page.get_by_role("spinbutton", name="Apex").fill("40")
    upload(page, clip)
    answered(page)
    result = page.evaluate("fetch(location.pathname.replace('/r/', '/api/results/')).then((r) => r.json())")["result"]
    assert (result["onset"], result["apex"]) == (5, 40)


@pytest.mark.slow
def test_json_and_explanation_can_be_downloaded(open_page, result_id):
    page = open_page(f"/r/{result_id}")
    label = answered(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Explanation").click()
    assert download.value.path().read_bytes().startswith(b"\x89PNG")
    page.get_by_role("link", name="JSON").click()
    page.wait_for_url("**/api/results/*")
    assert f'"{label.lower()}"' in page.locator("body").inner_text().lower()


@pytest.mark.slow
def test_a_server_without_response_is_reported_and_can_be_tried_again(open_page, clip, instantly):
    page = open_page()
    page.route("**/api/predict**", lambda route: route.abort())
    upload(page, clip)
    page.wait_for_selector("#start-problem:not([hidden])")
    assert page.locator("#start-problem-text").inner_text() == "The server does not respond."
    page.unroute("**/api/predict**")
    instantly(page)
    page.get_by_role("button", name="Try again").click()
    assert LABELS.fullmatch(answered(page))


@pytest.mark.slow
def test_a_full_queue_is_reported_and_can_be_tried_again(open_page, clip):
    page = open_page()
    text = '{"problem": "the server is busy", "fix": "try again in 4 seconds"}'
    page.route("**/api/predict**", lambda route: route.fulfill(status=503, body=text, headers={"Retry-After": "4"}))
    upload(page, clip)
    page.wait_for_selector("#start-problem:not([hidden])")
    assert page.locator("#start-problem-fix").inner_text() == "Try again in 4 seconds."
    assert page.get_by_role("button", name="Try again").is_visible()


@pytest.mark.slow
def test_the_progress_of_a_clip_is_shown(open_page, instantly):
    page = open_page()
    instantly(page)
    now = {}
    page.route("**/api/results/*", lambda route: route.fulfill(json={"result": None, "error": None, **now}))
    for status, text in (
        ({"state": "queued", "place": 3}, "Waiting: number 3 in the queue"),
        ({"state": "queued", "place": 1}, "Waiting: next in the queue"),
        ({"state": "running", "stage": "spotting", "done": 30, "total": 90}, "Looking for movements"),
    ):
        now = status
        if page.locator("#start").is_visible():
            page.locator(".example").first.click()
        page.get_by_text(text, exact=True).wait_for()
    assert page.locator("#working-count").inner_text() == "Frame 30 of 90"
    assert page.locator("#working-bar").evaluate("(bar) => bar.value") == pytest.approx(1 / 3)
    page.get_by_role("button", name="Stop").click()
    assert page.locator("#start").is_visible()
