"""The whole way in a real browser: two coders by keyboard alone, a kill in between, adjudication, and a corpus."""

import json
import subprocess
import sys

import pytest

from epir.annotation.study import Study

pytestmark = pytest.mark.slow
PEOPLE = 3
EACH = 3  # candidates of a recording that are accepted


def epir(*words):
    command = [sys.executable, "-m", "epir", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)
    page.wait_for_function("() => document.querySelector('#saved').textContent === 'Saved'")


def reviewed(page, count):
    page.wait_for_function(
        "(text) => document.querySelector('#review').textContent.startsWith(text)", arg=f"Reviewed {count} of "
    )


def choose(page, place):
    """The next recording, by keyboard; the first one is there already."""
    if place:
        page.locator("#recording").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Escape")
    page.wait_for_function("(n) => document.querySelector('#recording').selectedIndex === n", arg=place)
    reviewed(page, 0)
    page.keyboard.press("/")
    page.keyboard.press("Tab")
    page.keyboard.press("End")  # all candidates
    page.keyboard.press("Escape")
    page.wait_for_function(
        "() => /^(\\d+) of \\1$/.test(document.querySelector('#list-count').textContent)"
        " && document.querySelector('#sort').value === 'probability'"
    )


def code(page, place, *, other=False):
    """Accept the most probable candidates with an emotion, reject one; `other`: disagree in the first and the last."""
    choose(page, place)
    for number in range(EACH):
        word = str(1 + (number + place + (other and number == 0)) % 2)
        press(page, *(("r",) if other and number == EACH - 1 else ("a", word)))
        reviewed(page, number + 1)
        page.keyboard.press("n")
    press(page, "r")
    reviewed(page, EACH + 1)


def test_recordings_become_a_corpus(desk, open_desk, tmp_path):
    videos, folder = tmp_path / "recordings", tmp_path / "study"
    epir("synth", videos, "--long", "--people", PEOPLE, "--seconds", 10, "--seed", 3)
    epir("annotate", videos, "--out", folder, "--spot-only")

    anna = desk(folder, "anna", "--blind")
    page = open_desk(anna.address)
    code(page, 0)
    anna.kill()
    desk(folder, "anna", "--blind")  # at the same address
    page.locator("#alarm").wait_for(state="hidden")
    for place in range(1, PEOPLE):
        code(page, place)
    page = open_desk(desk(folder, "ben", "--blind").address)
    for place in range(PEOPLE):
        code(page, place, other=True)

    agreed = json.loads(epir("agree", folder, "--json"))
    assert len(agreed["disagreements"]) == 2 * PEOPLE
    page = open_desk(desk(folder, "agreed").address)
    page.locator("#recording").focus()
    page.keyboard.press("End")  # all recordings
    page.keyboard.press("Escape")
    page.wait_for_function(f"() => document.querySelectorAll('#rows .row').length === {2 * PEOPLE}")
    for _ in range(2 * PEOPLE):
        page.keyboard.press("Shift+1")  # as anna says
        page.keyboard.press("n")
    page.locator("#alarm", has_text="Everything in this list is decided").wait_for()
    page.wait_for_function("() => document.querySelector('#saved').textContent === 'Saved'")
    with Study.open(folder) as study:
        held = {each.movement: (each.state, each.emotion) for each in study.decisions("anna")}
        assert {each.movement: (each.state, each.emotion) for each in study.decisions("agreed")} == held

    epir("annotate", folder, "--export", tmp_path / "manifest.csv")
    checked = json.loads(epir("check", "manifest", tmp_path / "manifest.csv", "--json"))
    assert (checked["clips"], checked["people"], checked["defects"]) == (EACH * PEOPLE, PEOPLE, [])
    epir("prepare", "manifest", tmp_path / "manifest.csv", "--out", tmp_path / "maps")
    options = ("--protocol", "sde", "--model", "bi-woof", "--out", tmp_path / "run", "--json")
    assert json.loads(epir("evaluate", tmp_path / "maps", *options))["clips"] == EACH * PEOPLE
