"""The desk in a real browser, by keyboard alone."""

import re

import numpy as np
import pytest

from epir.annotation.study import Study

pytestmark = pytest.mark.slow


def saved(page):
    """Wait until everything is on the disk."""
    page.wait_for_function("() => document.querySelector('#saved')?.textContent === 'Saved'")


def shows(page, frame):
    """Wait until the picture is that of a frame."""
    page.wait_for_function("(n) => document.querySelector('#picture').dataset.frame === String(n)", arg=frame)


def pressed(page, selector):
    return page.locator(selector).get_attribute("aria-pressed") == "true"


def pixels(page):
    """What is really on the canvas, (h, w, 3)."""
    image = page.evaluate(
        "() => { const c = document.querySelector('#picture');"
        " const d = c.getContext('2d').getImageData(0, 0, c.width, c.height);"
        " return [c.height, c.width, [...d.data]]; }"
    )
    return np.array(image[2], np.uint8).reshape(image[0], image[1], 4)[..., :3]


def held(study, coder="anna"):
    with Study.open(study.folder) as other:
        return {each.movement: each for each in other.decisions(coder)}


def test_a_coder_goes_through_candidates_by_keyboard_alone(desk_study, desk, open_desk):
    study = desk_study()
    ids = [each.id for each in sorted(study.movements(), key=lambda each: (each.rule != "", -each.probability))]
    page = open_desk(desk(study).address)
    page.keyboard.press("/")  # into the filters, and all candidates
    assert page.evaluate("document.activeElement.id") == "sort"
    page.keyboard.press("Tab")
    page.keyboard.press("End")
    page.keyboard.press("Escape")
    assert page.locator("#list-count").inner_text() == "10 of 10"
    shows(page, 16)
    for key in ("a", "2", "ArrowRight", "w", "t"):
        page.keyboard.press(key)
    page.keyboard.press("g")
    page.keyboard.type("4+L12B")
    page.keyboard.press("Enter")
    page.keyboard.press("d")
    page.keyboard.type("a clear one")
    page.keyboard.press("Escape")
    saved(page)
    page.keyboard.press("n")
    page.wait_for_function("() => document.querySelector('#decision-title').textContent.includes('0:03.20')")
    page.keyboard.press("r")
    saved(page)
    page.keyboard.press("j")
    page.keyboard.press("u")
    saved(page)
    page.wait_for_function("() => document.querySelector('#review').textContent.startsWith('Reviewed 3 of 10')")
    decisions = held(study)
    first = decisions[ids[0]]
    assert (first.state, first.emotion, first.kind, first.apex, first.note) == (
        "accept",
        "surprise",
        "macro",
        17,
        "a clear one",
    )
    assert [str(unit) for unit in first.units] == ["4", "L12B"]
    assert sorted(each.state for each in decisions.values()) == ["accept", "reject", "unsure"]
    for _ in range(2):
        page.keyboard.press("z")
    page.wait_for_function("() => document.querySelector('#review').textContent.startsWith('Reviewed 1 of 10')")
    page.keyboard.press("Shift+Z")
    page.wait_for_function("() => document.querySelector('#review').textContent.startsWith('Reviewed 2 of 10')")
    assert sorted(each.state for each in held(study).values()) == ["accept", "reject"]


def test_the_picture_is_the_frame_that_is_named(desk_study, desk, open_desk, numbered):
    page = open_desk(desk(desk_study()).address)
    page.keyboard.press("b")  # not laid on the onset: squares that flip are no skin
    shows(page, 16)
    for key, frame in (
        ("ArrowRight", 17),
        ("Shift+ArrowRight", 27),
        ("ArrowLeft", 26),
        ("Shift+Q", 10),
        ("Shift+E", 22),
        ("f", 16),
        ("f", 10),
    ):
        page.keyboard.press(key)
        shows(page, frame)
        assert numbered.read(pixels(page)) == frame
        assert page.locator("#shown").inner_text().startswith(f"frame {frame} ·")
    page.keyboard.press("h")
    page.wait_for_function("() => document.querySelector('#picture').width === 128")
    assert numbered.read(pixels(page)) == 10


def test_playing_loops_and_stops(desk_study, desk, open_desk):
    page = open_desk(desk(desk_study()).address)
    page.select_option("#speed", "1")
    page.locator("#stage").focus()
    page.keyboard.press("Space")
    seen = set()
    for frame in (20, 30, 5):  # on to the end, and again from the beginning
        shows(page, frame)
        seen.add(frame)
    page.keyboard.press("Space")
    assert page.locator("#play").inner_text() == "Play" and len(seen) == 3
    page.keyboard.press("x")
    page.keyboard.press("x")
    assert page.locator("#times").input_value() == "3"
    page.keyboard.press("o")
    assert page.locator("#flow").is_checked()
    page.wait_for_function("() => !document.querySelector('#trouble').textContent")


def test_key_frames_are_dragged_and_stay_in_order(desk_study, desk, open_desk):
    study = desk_study()
    page = open_desk(desk(study).address)
    page.keyboard.press("c")
    handle = page.locator(".handle.offset")
    handle.wait_for()
    page.wait_for_timeout(300)
    box = handle.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + 150, box["y"] + 40, steps=5)
    page.mouse.up()
    saved(page)
    page.keyboard.press("a")
    saved(page)
    (decision,) = held(study).values()
    assert decision.offset > 26 and decision.onset == 10
    page.locator(".handle.onset").focus()
    page.keyboard.press("ArrowLeft")
    saved(page)
    assert next(iter(held(study).values())).onset == 9
    page.fill("#key-onset", "24")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    saved(page)
    decision = next(iter(held(study).values()))
    assert (decision.onset, decision.apex) == (24, 24) and decision.offset >= 24


def test_a_cleared_key_frame_comes_back(desk_study, desk, open_desk):
    study = desk_study()
    page = open_desk(desk(study).address)
    page.fill("#key-apex", "")
    page.keyboard.press("Tab")
    page.wait_for_function("() => document.querySelector('#key-apex').value === '16'")
    page.keyboard.press("a")
    saved(page)
    (decision,) = held(study).values()
    assert (decision.onset, decision.apex, decision.offset) == (10, 16, 22)


def test_a_click_on_a_row_opens_it_while_a_field_is_saved(desk_study, desk, open_desk):
    """Saving the units draws the list anew between the press and the release of the button."""
    study = desk_study()
    page = open_desk(desk(study).address)
    title, rows = page.locator("#decision-title"), page.locator("#rows .row")
    second, third = (f"Movement at {rows.nth(place).locator('strong').inner_text()}" for place in (1, 2))
    page.keyboard.press("g")
    page.keyboard.type("4+L12B")
    rows.nth(1).hover()
    page.mouse.down()
    page.mouse.up()
    title.filter(has_text=second).wait_for()
    assert page.evaluate("document.activeElement.id") == "rows"
    page.keyboard.press("r")
    saved(page)
    assert {each.state for each in held(study).values()} == {"reject"}
    rows.nth(2).dispatch_event("click")  # of a screen reader
    title.filter(has_text=third).wait_for()
    with Study.open(study.folder) as other:
        first, _ = sorted(other.decisions("anna", drafts=True), key=lambda each: each.state)
    assert (first.state, [str(unit) for unit in first.units]) == ("draft", ["4", "L12B"])


def hold_saving(page):
    """Let changes wait in the page; returns a function that lets the first one go, once there is one."""
    page.evaluate(
        "() => { const send = window.fetch; window.held = [];"
        " window.fetch = async (path, options) => {"
        " if (options?.method === 'POST') await new Promise((go) => window.held.push(go));"
        " return send(path, options); }; }"
    )

    def release():
        page.wait_for_function("() => window.held.length")
        page.evaluate("() => window.held.shift()()")

    return release


def test_changes_made_while_others_are_saved_are_kept(desk_study, desk, open_desk):
    study = desk_study()
    page = open_desk(desk(study).address)
    release = hold_saving(page)
    for number in (1, 4):
        page.locator(f'[data-unit="{number}"]').click()
    release()
    page.wait_for_function("() => window.held.length")  # the first is saved, the second is under way
    assert pressed(page, '[data-unit="4"]')
    page.locator('[data-unit="12"]').click()
    page.locator(".handle.offset").focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        release()
    for _ in range(2):
        release()
    saved(page)
    with Study.open(study.folder) as other:
        (draft,) = other.decisions("anna", drafts=True)
    assert ([str(unit) for unit in draft.units], draft.offset) == (["1", "4", "12"], 25)


def test_a_refused_change_is_taken_back_and_a_later_one_kept(desk_study, desk, open_desk):
    study = desk_study()
    page = open_desk(desk(study).address)
    release = hold_saving(page)
    page.keyboard.press("a")
    page.keyboard.press("2")
    page.wait_for_function("() => window.held.length")
    with Study.open(study.folder) as other:
        id = next(each.id for each in other.movements() if each.onset == 10)
        other.decide("anna", id, state="reject")  # in another window
    release()
    page.locator("#alarm", has_text="in another window").wait_for()
    page.wait_for_function("() => window.held.length")
    assert pressed(page, "#set-reject") and not pressed(page, "#set-accept")
    assert pressed(page, "[data-emotion=surprise]")
    release()
    saved(page)
    assert pressed(page, "#set-reject") and pressed(page, "[data-emotion=surprise]")
    (decision,) = held(study).values()
    assert (decision.state, decision.emotion) == ("reject", "surprise")


def test_a_movement_is_marked_where_nothing_was_proposed(desk_study, desk, open_desk):
    study = desk_study()
    page = open_desk(desk(study).address)
    page.locator("#frames").fill("240")
    shows(page, 240)
    page.locator("#stage").focus()
    page.keyboard.press("m")
    page.locator("#decision-title", has_text="Marked at 0:08.00").wait_for()
    saved(page)
    (decision,) = held(study).values()
    assert (decision.onset, decision.apex, decision.offset, decision.state) == (236, 240, 244, "accept")
    page.keyboard.press("z")
    page.wait_for_function("() => document.querySelector('#review').textContent.startsWith('Reviewed 0')")
    page.wait_for_function("() => !document.querySelector('#rows').textContent.includes('marked by hand')")
    assert held(study) == {}


def test_a_killed_server_loses_nothing_and_says_so(desk_study, desk, open_desk):
    study = desk_study()
    running = desk(study)
    page = open_desk(running.address)
    page.select_option("#depth", "")
    page.locator("#stage").focus()
    page.keyboard.press("a")
    saved(page)
    page.keyboard.press("n")
    page.wait_for_function("() => document.querySelector('#decision-title').textContent.includes('0:03.20')")
    running.kill()
    page.keyboard.press("r")  # while nobody is there
    page.locator("#alarm", has_text="does not respond").wait_for()
    assert page.locator("#saved").inner_text() != "Saved"
    assert len(held(study)) == 1
    again = desk(study)  # at the same address: the page goes on by itself
    assert again.address == running.address
    saved(page)
    page.locator("#alarm").wait_for(state="hidden")
    assert sorted(each.state for each in held(study).values()) == ["accept", "reject"]


def test_two_windows_do_not_overwrite_each_other(desk_study, desk, open_desk):
    study = desk_study()
    address = desk(study).address
    one, two = open_desk(address), open_desk(address)
    one.keyboard.press("a")
    saved(one)
    two.keyboard.press("r")
    two.locator("#alarm", has_text="in another window").wait_for()
    two.wait_for_function("() => document.querySelector('#set-accept').getAttribute('aria-pressed') === 'true'")
    assert [each.state for each in held(study).values()] == ["accept"]
    two.keyboard.press("2")
    saved(two)
    one.wait_for_function(
        "() => document.querySelector('[data-emotion=surprise]').getAttribute('aria-pressed') === 'true'"
    )


def test_a_blind_page_has_no_proposal_before_the_decision(desk_study, desk, open_desk):
    page = open_desk(desk(desk_study(), "anna", "--blind").address)
    assert "secret" not in page.content() and "after you decide" in page.locator("#proposal").inner_text()
    page.keyboard.press("a")
    saved(page)
    assert "secret" not in page.content() and "name the emotion" in page.locator("#proposal").inner_text()
    page.keyboard.press("1")
    page.locator("#proposal", has_text="secret 0").wait_for()
    assert "The model’s proposal" in page.locator("#proposal").inner_text()


def test_the_list_is_filtered_and_sorted(desk_study, desk, open_desk):
    page = open_desk(desk(desk_study()).address)
    page.select_option("#depth", "")
    page.select_option("#rule", "speech")
    assert page.locator("#list-count").inner_text() == "3 of 10"
    page.select_option("#rule", "")
    page.select_option("#sort", "strength")
    assert "1.3 %" in page.locator(".row").first.inner_text()
    page.select_option("#sort", "time")
    assert page.locator(".row strong").all_inner_texts()[:2] == ["0:00.53", "0:01.20"]
    page.select_option("#region", "brows")
    assert page.locator("#list-count").inner_text() == "2 of 10"


def test_the_timeline_zooms_and_stays_light(desk_study, desk, open_desk):
    page = open_desk(desk(desk_study()).address)
    page.wait_for_function("() => Number(document.querySelector('#chart').dataset.points) === 260")
    page.keyboard.press("c")
    page.wait_for_function("() => Number(document.querySelector('#chart').dataset.points) < 130")
    page.keyboard.press("-")
    page.keyboard.press("v")
    page.wait_for_function("() => Number(document.querySelector('#chart').dataset.points) === 260")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_1280_px_and_is_accessible(desk_study, desk, open_desk, scheme):
    page = open_desk(desk(desk_study()).address, color_scheme=scheme)
    shows(page, 16)
    assert page.evaluate("() => [document.documentElement.scrollWidth, document.documentElement.scrollHeight]") == [
        1280,
        800,
    ]
    unnamed = page.evaluate(
        "() => [...document.querySelectorAll('button, input, select, textarea, [role=slider], [role=listbox]')]"
        ".filter((e) => !e.closest('[hidden]'))"
        ".filter((e) => !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim()))"
        ".map((e) => e.outerHTML)"
    )
    assert unnamed == []
    page.keyboard.press("?")
    card = page.locator("#card").inner_text()
    for words in ("Accept", "Switch between onset and apex", "Magnify more, less", "Mark a movement"):
        assert words in card
    assert page.locator("#rows").get_by_role("option", selected=True).count() == 1
    assert page.locator("#recording").get_attribute("title") == "../recordings/anna.mp4"  # as study.toml names it
    assert re.search(r"frame 16", page.get_by_role("img", name=re.compile("The face")).get_attribute("aria-label"))
