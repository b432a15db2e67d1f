"""What people do with the page, in Chromium and in Firefox: drop, wait, read, replay, open, mark, correct, compare."""

import base64
import csv
import io
import re

import cv2
import pytest

pytestmark = pytest.mark.slow  # two real browsers

LABELS = re.compile("negative|positive|surprise|uncertain", re.IGNORECASE)
DROP = """([kind, files]) => {
  const made = files.map(([name, text]) => new File([Uint8Array.from(atob(text), (each) => each.charCodeAt(0))], name));
  const entry = (file) => ({ isFile: true, name: file.name, file: (done) => done(file) });
  const left = made.map(entry);
  const createReader = () => ({ readEntries: (done) => done(left.splice(0, 40)) }); // a browser gives 100 at a time
  const folder = { isDirectory: true, name: "s01", createReader };
  const roots = kind === "folder" ? [folder] : made.map(entry);
  const items = roots.map((root) => ({ webkitGetAsEntry: () => root }));
  const drop = new Event("drop", { bubbles: true, cancelable: true });
  Object.defineProperty(drop, "dataTransfer", { value: { types: ["Files"], items, files: made } });
  document.querySelector("footer").dispatchEvent(drop);
}"""


@pytest.fixture(scope="module", params=["plain_chromium", "firefox_with_camera"], ids=["chromium", "firefox"])
def browser(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="session")
def jpegs(frames):
    """The frames of the clip as pictures, with their names."""
    return [(f"img{number}.jpg", cv2.imencode(".jpg", frame)[1].tobytes()) for number, frame in enumerate(frames, 7)]


@pytest.fixture(scope="session")
def folder(jpegs, tmp_path_factory):
    """The same on the disk, beside files that belong to no clip."""
    folder = tmp_path_factory.mktemp("dropped") / "s01"
    folder.mkdir()
    for name, content in [*jpegs, (".DS_Store", b"x"), ("notes.txt", b"x")]:
        (folder / name).write_bytes(content)
    return folder


def drop(page, path):
    """Drop a file or a folder on the page: as the system does it in Chromium, and by a made-up event in Firefox."""
    if page.context.browser.browser_type.name == "chromium":
        session = page.context.new_cdp_session(page)
        data = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            session.send("Input.dispatchDragEvent", {"type": kind, "x": 200, "y": 300, "data": data})
        return
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    encoded = [(each.name, base64.b64encode(each.read_bytes()).decode()) for each in files]
    page.evaluate(DROP, ["folder" if path.is_dir() else "file", encoded])


def listen(page):
    """Note the fields and file names of what the page sends, in `sent`."""
    page.evaluate(
        """() => {
          const send = XMLHttpRequest.prototype.send;
          XMLHttpRequest.prototype.send = function (form) {
            window.sent = [...form].map(([field, value]) => [field, value.name ?? value]);
            send.call(this, form);
          };
        }"""
    )


def choose(page, files):
    page.set_input_files("#files", [{"name": name, "mimeType": "", "buffer": content} for name, content in files])


def answered(page):
    page.wait_for_selector("#result:not([hidden]) .label, #problem:not([hidden]), #start-problem:not([hidden])")
    assert page.locator("#result").is_visible(), page.locator("main").inner_text()
    return page.locator("#result .label").inner_text()


def pixels(canvas):
    return canvas.evaluate("(node) => node.toDataURL()")


def shown(canvas, frame):
    canvas.page.wait_for_function(
        "([node, frame]) => node.dataset.frame === frame", arg=[canvas.element_handle(), str(frame)]
    )


def test_a_dropped_video_is_answered_and_replayed(open_page, clip, instantly):
    page = open_page()
    instantly(page)
    drop(page, clip)
    assert LABELS.fullmatch(answered(page))
    assert page.locator("#result .eyebrow").inner_text().startswith("smile.mp4 · 109 frames · 1.09 s · 100 frames per")
    assert page.locator(".moved").inner_text().endswith("s to the apex.")
    assert "deleted at" in page.locator(".kept").last.inner_text()

    player = page.get_by_role("group", name="Replay").first
    canvas, slider = player.locator("canvas"), player.get_by_role("slider", name="Frame")
    page.wait_for_function("(node) => node.dataset.frame", arg=canvas.element_handle())  # the film has loaded
    before = canvas.get_attribute("data-frame")
    page.wait_for_function("([node, frame]) => node.dataset.frame !== frame", arg=[canvas.element_handle(), before])
    player.get_by_role("button", name="Pause").click()
    slider.focus()
    page.keyboard.press("End")
    last = int(canvas.get_attribute("data-frame"))
    page.keyboard.press("ArrowLeft")
    shown(canvas, last - 1)
    assert slider.get_attribute("aria-valuetext") == f"frame {last - 1} · {(last - 1) / 100:.2f} s"
    player.get_by_role("button", name="Play").focus()
    page.keyboard.press("Enter")
    page.wait_for_function(
        "([node, at]) => Number(node.dataset.frame) < at - 1", arg=[canvas.element_handle(), last - 1]
    )  # it loops
    page.keyboard.press("Enter")

    page.locator(".replay .legend:visible").first.wait_for()
    apex = re.search(r"frame (\d+)", page.locator(".facts dd").nth(1).inner_text())[1]
    slider.fill(str(int(slider.get_attribute("max")) - (last - int(apex))))
    shown(canvas, apex)
    with_arrows = pixels(canvas)
    player.get_by_role("checkbox", name="Flow").uncheck()
    assert pixels(canvas) != with_arrows


def test_a_reload_keeps_the_name_and_the_answer(open_page, result_id, server):
    page = open_page()
    running = {"id": "x", "name": "interview.mp4", "state": "running", "stage": "spotting", "done": 3, "total": 9}
    page.route("**/api/results/x", lambda route: route.fulfill(json={**running, "result": None, "error": None}))
    page.goto(server + "/r/x")
    page.get_by_text("interview.mp4", exact=True).wait_for()
    page.goto(f"{server}/r/{result_id}")
    label = answered(page)
    page.reload()
    assert answered(page) == label


def test_a_dropped_folder_is_one_clip(open_page, folder, jpegs, instantly):
    page = open_page()
    instantly(page)
    listen(page)
    page.locator(".options summary").click()
    page.get_by_role("spinbutton", name="Frames per second").fill("100")
    page.get_by_role("combobox", name="Sensitivity").select_option("high")
    page.get_by_role("combobox", name="Faces").select_option("all")
    drop(page, folder)
    assert LABELS.fullmatch(answered(page))
    options = [["name", "s01"], ["fps", "100"], ["sensitivity", "high"], ["faces", "all"]]
    assert page.evaluate("window.sent") == [*(["files", name] for name, _ in jpegs), *options]


def test_a_chosen_folder_is_one_clip(open_page, folder, jpegs, instantly):
    page = open_page()
    if page.context.browser.browser_type.name == "firefox":
        pytest.skip("the folder picker is tried in Chromium only")
    instantly(page)
    listen(page)
    page.set_input_files("#folder", folder)
    assert LABELS.fullmatch(answered(page))
    assert page.evaluate("window.sent") == [*(["files", name] for name, _ in jpegs), ["name", "s01"]]


def test_many_numbered_pictures_are_one_clip_up_to_the_limit(open_page, instantly):
    many = [(f"a{number:04}.jpg", b"x") for number in range(301)]
    page = open_page()
    page.locator("#limits", has_text="300 pictures").wait_for()
    choose(page, many)
    page.wait_for_selector("#start-problem:not([hidden])")
    assert page.locator("#start-problem-text").inner_text() == (
        "a0000.jpg to a0300.jpg: 301 pictures exceed the limit of 300."
    )
    instantly(page)
    listen(page)
    choose(page, many[:300][::-1])
    assert LABELS.fullmatch(answered(page))
    name = ["name", "a0000.jpg to a0299.jpg"]
    assert page.evaluate("window.sent") == [*(["files", name] for name, _ in many[:300]), name]


def test_two_pictures_are_put_in_order_by_their_numbers_and_swapped(open_page, jpegs):
    page = open_page()
    choose(page, [("apex18.jpg", jpegs[50][1]), ("onset7.jpg", jpegs[2][1])])
    page.wait_for_selector("#pair:not([hidden])")
    names = page.locator(".pair .file")
    assert names.all_inner_texts() == ["onset7.jpg", "apex18.jpg"]
    assert page.locator(".pair img").first.bounding_box()["width"] >= 400
    page.get_by_role("button", name="Swap").click()
    assert names.all_inner_texts() == ["apex18.jpg", "onset7.jpg"]
    page.get_by_role("button", name="Swap").click()
    page.get_by_role("button", name="Analyse").click()
    assert LABELS.fullmatch(answered(page))
    assert page.locator(".timeline").count() == 0
    assert page.get_by_role("group", name="Replay").count() == 1


def test_several_clips_become_a_table(open_page, clip, jpegs):
    page = open_page()
    choose(page, [("b.mp4", clip.read_bytes()), ("notes.mp4", b"only text"), *jpegs[:12]])
    page.wait_for_selector("#batch:not([hidden])")
    page.wait_for_selector("#batch-bar", state="hidden")
    rows = page.locator("#batch-rows tr")
    assert rows.locator("th").all_inner_texts() == ["b.mp4", "img7.jpg to img18.jpg", "notes.mp4"]
    assert page.locator("#batch-status").inner_text() == "3 of 3 done, 1 without an answer"
    assert "notes.mp4 is not a supported video or picture." in rows.last.inner_text()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save table (CSV)").click()
    table = list(csv.DictReader(io.StringIO(download.value.path().read_text())))
    assert {row["file"] for row in table} == {"b.mp4", "img7.jpg to img18.jpg", "notes.mp4"}
    assert [row["file"] for row in table if row["error"]] == ["notes.mp4"]
    page.get_by_role("link", name="b.mp4").click()
    assert LABELS.fullmatch(answered(page))
    page.go_back()
    page.wait_for_selector("#batch:not([hidden])")
    page.reload()
    page.wait_for_selector("#batch:not([hidden])")
    assert rows.count() == 3 and page.get_by_role("link", name="b.mp4").count() == 1


def test_without_a_movement_the_face_is_shown_and_a_span_can_be_marked(open_page):
    page = open_page()
    page.locator(".example", has_text="blink").click()
    assert answered(page) == "No micro-expression found"
    assert page.locator(".answer canvas").count() == 1
    assert page.locator(".timeline .curve").count() == 1

    page.locator(".entry summary", has_text="Blink").focus()
    page.keyboard.press("Enter")
    assert page.locator(".entry .reason").inner_text() == (
        "The eyes closed, or the skin around them moved with a blink."
    )
    assert page.locator(".entry canvas").count() == 1

    page.get_by_text("Mark onset and apex by hand").focus()
    page.keyboard.press("Enter")
    onset, apex = (page.get_by_role("slider", name=f"{name} (frame)") for name in ("Onset", "Apex"))
    apex.fill("60")
    onset.fill("48")
    apex.focus()
    page.keyboard.press("ArrowRight")
    assert page.locator(".mark [role=status]").inner_text() == "0.13 s, 13 frames from onset to apex."
    chart = page.locator(".timeline svg").bounding_box()
    page.mouse.move(chart["x"] + 0.5 * chart["width"], chart["y"] + 80)
    page.mouse.down()
    page.mouse.move(chart["x"] + 0.7 * chart["width"], chart["y"] + 80, steps=3)
    page.mouse.up()
    moved = int(apex.input_value())
    assert moved > 75
    page.get_by_role("button", name="Analyse this span").click()
    page.wait_for_selector("#working:not([hidden])")
    assert LABELS.fullmatch(answered(page))
    assert page.locator(".facts dd").first.inner_text() == "frame 48 · 0.48 s"
    assert page.locator(".facts dd").nth(1).inner_text().startswith(f"frame {moved} ")


def test_a_rejected_movement_is_opened_from_the_timeline(open_page, server, several):
    page = open_page()
    page.route("**/api/results/several", lambda route: route.fulfill(json=several))
    page.goto(server + "/r/several")
    answered(page)
    page.locator(".timeline .other").click()
    assert page.locator(".entry[open] summary").inner_text().split("\n")[0] == "Blink"
    page.locator(".entry dt").first.wait_for()
    names, values = page.locator(".entry dt").all_inner_texts(), page.locator(".entry dd").all_inner_texts()
    facts = dict(zip(names, values, strict=True))
    assert facts["Onset"] == "frame 350 · 3.50 s" and facts["How far"] == "2 % of the face’s width"
    assert facts["Probability"] == "0.00 that it is a micro-expression, by its motion alone"
    assert "0.00 by motion alone" in page.locator(".entry[open] summary").inner_text()


def test_every_person_and_the_whole_video_are_on_the_timeline(open_page, server, several):
    """Person 2 is seen beside person 1, person 3 after a cut; for the last second nobody is."""
    page = open_page()
    first = several["result"]["curves"][0]
    beside = {**first, "track": 1, "events": [], "others": []}
    later = {**beside, "track": 2, "time": [7.0, 7.1, 8.0, 8.1], "frames": [700, 710, 800, 810], "energy": [0.2] * 4}
    movements = [*several["result"]["movements"]]
    movements[2] = {**movements[2], "track": 1, "onset": 466}
    beside["events"], cut = first["events"][2:], {**first, "events": first["events"][:2]}
    changes = {"curves": [cut, beside, later], "movements": movements, "seconds": 9.0, "frames": 900}
    page.route(
        "**/api/results/several", lambda route: route.fulfill(json=several | {"result": several["result"] | changes})
    )
    page.goto(server + "/r/several")
    answered(page)
    assert page.locator("#result .eyebrow").inner_text().endswith("2 people")
    assert page.locator(".lane-name").all_inner_texts() == ["Person 1, 3", "Person 2"]
    assert page.locator(".lane").first.locator(".curve").count() == 3  # the third is broken where no face was seen
    assert page.locator(".lane").first.get_by_text("8 s").count() == 1
    assert page.locator(".lane svg").first.get_attribute("aria-label").startswith("Motion of the face over 9.00 s")
    page.locator(".lane").last.locator(".event").click()
    assert page.locator(".label").inner_text() == "Uncertain"


@pytest.fixture
def show_result(open_page, server, several):
    """Opens the page of a result like `several` with changes."""

    def show(width=1200, curve=None, **changes):
        page = open_page(width=width)
        (first,) = several["result"]["curves"]
        result = several["result"] | {"curves": [first | (curve or {})]} | changes
        page.route("**/api/results/several", lambda route: route.fulfill(json=several | {"result": result}))
        page.goto(server + "/r/several")
        answered(page)
        return page

    return show


def test_hidden_spans_are_hatched_and_rejected_movements_are_not(show_result):
    """In dark mode both were dark grey."""
    page = show_result(curve={"hidden": [{"start": 0.0, "stop": 2.0, "reasons": ["speech"]}]})
    fill = page.locator(".timeline .hidden-span").get_attribute("fill")
    pattern = re.fullmatch(r"url\((#hatch-\d+)\)", fill)[1]
    assert page.locator(f".timeline svg pattern{pattern} line").count() == 1
    keys = [page.locator(f".key-{name}").evaluate("(key) => getComputedStyle(key).backgroundImage")
            for name in ("hidden", "other")]  # fmt: skip
    assert "gradient" in keys[0] and keys[1] == "none"


def test_a_scrolling_list_has_a_lower_edge(show_result, several):
    page = show_result(rejected=several["result"]["rejected"] * 10)
    assert page.locator(".entry:visible").count() == 8
    assert page.locator(".entries").evaluate("(list) => getComputedStyle(list).borderBottomWidth") == "1px"


def test_the_candidates_keep_one_line_each_on_a_phone(show_result, several):
    (blink,) = several["result"]["rejected"]
    candidate = {**blink, "rule": "too large", "class": "negative", "units": [], "head": 1.0, "text": "Both brows up."}
    page = show_result(width=390, candidates=[candidate])
    page.locator(".candidates summary").click()
    lines = (
        "(cell) => { const range = new Range(); range.selectNodeContents(cell); return range.getClientRects().length; }"
    )
    assert [cell.evaluate(lines) for cell in page.locator(".candidates td:not(:empty)").all()] == [1] * 8
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_marks_are_set_on_the_largest_face_of_several(show_result, several):
    """It is the one that is classified; the marks lay on the first."""
    (first,) = several["result"]["curves"]
    people = [{"track": 0, "face_px": 90}, {"track": 1, "face_px": 180}]
    page = show_result(curves=[first, {**first, "track": 1, "events": [], "others": []}], people=people)
    page.get_by_text("Mark onset and apex by hand").click()
    page.locator("line.mark").first.wait_for(state="attached")  # a moment after the panel has opened
    assert [lane.locator("line.mark").count() for lane in page.locator(".lane").all()] == [0, 2]
    assert page.locator(".mark .note").first.inner_text().endswith("It is about person 2, the largest face.")


NOTHING = {"label": "no micro-expression found", "scores": {}, "movements": [], "onset": None, "apex": None}
HIDDEN = "In none of the 6 s can a micro-expression be ruled out (speech): most movements would have been missed."


@pytest.mark.parametrize(
    ("judged", "title"), [(0, "Could not be judged"), (2.0, "No micro-expression found")], ids=["none", "some"]
)
def test_without_judged_time_the_answer_is_not_none_found(show_result, several, server, judged, title):
    visible = {"judged_s": judged, "text": HIDDEN}
    page = show_result(**NOTHING, visible=visible, text="", confidence=None)
    assert page.locator("#result .label").inner_text() == title
    assert page.title() == f"EPIR: {title}"
    rows = [{"name": "talk.mp4", "state": "waiting", "id": "several", "text": "Waiting"}]
    page.evaluate("(rows) => sessionStorage.setItem('epir-batch', JSON.stringify(rows))", rows)
    page.goto(server + "/#batch")
    page.wait_for_selector("#batch-bar", state="hidden")
    assert page.locator("#batch-rows td").all_inner_texts() == [title, "", "", HIDDEN]


def test_the_box_at_the_pointer_holds_its_text(open_page, result_id):
    page = open_page(f"/r/{result_id}")
    answered(page)
    chart = page.locator(".timeline svg").bounding_box()
    page.mouse.move(chart["x"] + chart["width"] - 13, chart["y"] + 100)
    page.wait_for_selector(".peek:not([hidden])")
    box, text = page.locator(".peek").bounding_box(), page.locator(".peek span").bounding_box()
    assert box["x"] <= text["x"] and text["x"] + text["width"] <= box["x"] + box["width"]


def test_a_batch_continues_after_a_reload(open_page):
    """The request that the reload cancels is no answer."""
    page, calls = open_page(), []

    def respond(route):
        calls.append(route)
        if len(calls) > 1:  # the first hangs until the page goes
            route.fulfill(json={"state": "failed", "error": {"problem": "the clip is empty", "fix": "take another"}})

    page.route("**/api/results/mine", respond)
    rows = [{"name": "a.mp4", "state": "waiting", "text": "Waiting", "id": "mine"}]
    page.evaluate("(rows) => sessionStorage.setItem('epir-batch', JSON.stringify(rows))", rows)
    with page.expect_request("**/api/results/mine"):
        page.evaluate("location.hash = '#batch'")
    page.reload()
    page.wait_for_selector("#batch-bar", state="hidden")
    assert "The clip is empty." in page.locator("#batch-rows").inner_text()
    assert len(calls) == 2


def test_a_stopped_batch_sends_nothing_more_and_says_so(open_page):
    page, sent = open_page(), []

    def busy(route):
        sent.append(route.request.url)
        body = {"problem": "the server is busy", "fix": "wait a moment"}
        route.fulfill(status=503, json=body, headers={"Retry-After": "1"})

    page.route("**/api/predict**", busy)
    with page.expect_response("**/api/predict**"):
        choose(page, [(f"{letter}.mp4", b"x") for letter in "abc"])
    page.get_by_role("button", name="Stop").click()
    page.wait_for_selector("#start:not([hidden])")
    before = len(sent)
    page.wait_for_timeout(1500)  # longer than the server asked to wait
    assert len(sent) == before
    page.go_back()
    page.wait_for_selector("#batch:not([hidden])")
    assert page.locator("#batch-rows td").all_inner_texts() == ["Stopped."] * 3
    assert page.locator("#batch-stop").is_hidden()


def test_a_batch_without_clips_leads_to_the_start(open_page):
    page = open_page("/#batch")
    page.wait_for_selector("#start:not([hidden])")
    assert page.locator("#batch").is_hidden()


def test_after_an_error_nothing_has_to_be_entered_again(open_page, result_id):
    page = open_page()
    page.locator(".options summary").click()
    page.get_by_role("spinbutton", name="Frames per second").fill("200")
    choose(page, [("notes.mp4", b"only text")])
    page.wait_for_selector("#start-problem:not([hidden])")
    assert "notes.mp4 is not a supported video" in page.locator("#start-problem-text").inner_text()
    assert page.get_by_role("spinbutton", name="Frames per second").input_value() == "200"
    assert page.evaluate("document.activeElement.id") == "start-problem-retry"
    ticket = {"id": result_id, "url": f"/api/results/{result_id}"}
    page.route("**/api/predict**", lambda route: route.fulfill(status=202, json=ticket))
    with page.expect_request("**/api/predict**"):
        page.keyboard.press("Enter")
    assert LABELS.fullmatch(answered(page))


def test_a_phone_shows_all_of_it(open_page, result_id):
    page = open_page(f"/r/{result_id}", width=360, height=740)
    answered(page)
    page.get_by_text("Mark onset and apex by hand").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for button in page.locator("#result button:visible").all():
        assert button.bounding_box()["height"] >= 32
    for slider in page.locator(".marks input").all():
        box = slider.bounding_box()
        assert box["width"] >= 180 and box["height"] >= 36  # a finger can set a frame


def test_the_privacy_note_is_beside_the_upload(open_page):
    page = open_page()
    page.locator("#kept", has_text="30 minutes").wait_for()
    words = page.locator(".privacy").inner_text()
    assert "deleted as soon as it is analysed" in words and "anyone who has the link" in words
