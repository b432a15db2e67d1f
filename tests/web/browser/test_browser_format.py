"""Values as text: the functions of `format.js`."""

import pytest

pytestmark = pytest.mark.slow  # a real browser


@pytest.fixture(scope="module")
def call(plain_chromium, server):
    page = plain_chromium.new_page()
    page.goto(f"{server}/static/responsible-use.html")

    def run(name, *values):
        return page.evaluate(
            "async ([name, values]) => (await import('/static/format.js'))[name](...values)", [name, list(values)]
        )

    yield run
    page.close()


def test_a_message_becomes_a_sentence_and_a_file_keeps_its_name(call):
    assert call("sentence", "there is no face") == "There is no face."
    assert call("sentence", "notes.mp4 is not a video") == "notes.mp4 is not a video."
    assert call("sentence", "Already said!") == "Already said!"
    assert call("sentence", "") == ""


def test_how_certain_an_answer_is(call):
    def sure(label, **scores):
        return call("certainty", {"label": label, "scores": scores})

    right = "such answers were correct on people the model had not seen."
    assert sure("positive", negative=0.2, positive=0.8) == f"Score 0.80: about 80 of 100 {right}"
    assert sure("positive", negative=0.001, positive=0.999) == f"Score 1.00: nearly all {right}"
    synthetic = call(
        "certainty", {"label": "positive", "scores": {"positive": 0.8, "negative": 0.2}}, "synthetic faces"
    )
    assert synthetic.endswith("correct on synthetic faces the model had not seen. Expect fewer on real faces.")
    known = [{"low": 0.8, "high": 0.9, "clips": 40, "right": 0.775}]
    answer = {"label": "positive", "scores": {"positive": 0.8, "negative": 0.2}}
    assert call("certainty", answer, "people", known) == (
        "On real people the model had not seen, 78 of 100 annotated clips with such a score were classified correctly. "
        "Score 0.80."
    )
    assert sure("uncertain", negative=0.45, positive=0.55) == "Most likely positive, but its score is only 0.55."
    unlikely = {"label": "uncertain", "scores": {"positive": 0.8, "negative": 0.2}, "probability": 0.3}
    assert call("certainty", unlikely) == (
        "A micro-expression with a probability of 0.30; if it is one, most likely positive."
    )
    spotted = {"label": "positive", "scores": {"positive": 0.8, "negative": 0.2}, "probability": 0.7}
    assert call("certainty", spotted, "people", known) == (
        "A micro-expression with a probability of 0.70; if it is one, positive with a score of 0.80."
    )  # annotated clips say nothing about movements that were spotted
    assert sure("no micro-expression found") == "No movement was both short and clear enough to be reported."


def test_why_a_movement_was_rejected(call):
    blink = {"reason": "blink", "onset_s": 1.0, "offset_s": 1.3, "probability": 0.0}
    assert call("why", blink) == "The eyes closed, or the skin around them moved with a blink."
    assert call("why", {**blink, "reason": "too long"}) == "It lasted 0.30 s. A micro-expression takes at most 0.5 s."
    unclear = {**blink, "reason": "unclear", "probability": 0.21}
    assert call("why", unclear).endswith("It is a micro-expression with a probability of 0.21.")
    assert call("kind", "head") == "head movement"
    assert call("where", {"region": "brows", "side": "left"}) == "left brows"


def test_every_reason_of_the_spotter_is_explained(call):
    from epir.spotting.timeline import MACRO, REASONS

    words = {call("why", {"reason": each, "onset_s": 0.0, "offset_s": 0.2, "probability": 0.0}) for each in REASONS}
    assert len(words) == len(REASONS)
    assert call("why", {"reason": MACRO, "onset_s": 0.0, "offset_s": 2.0}).startswith("It lasted 2.00 s: an expression")


def test_places_and_durations(call):
    assert call("at", 59, 0.59) == "frame 59 · 0.59 s"
    assert call("at", 1, None) == "frame 1"
    assert [call("duration", each) for each in (20, 1800, 3600, 7200, 5400)] == [
        *("20 seconds", "30 minutes", "1 hour", "2 hours", "90 minutes")
    ]
    assert call("percent", 0.0834) == "0.083 %"


def test_pictures_are_sorted_by_the_numbers_of_their_frames(open_page):
    page = open_page("/static/responsible-use.html")
    script = """async (names) => (await import('/static/input.js'))
      .sortPictures(names.map((name) => new File(['x'], name))).map((file) => file.name)"""
    for names in (
        ["onset7.jpg", "apex18.jpg"],
        ["frame9.png", "frame10.png"],
        ["onset.png", "apex.png"],
        ["s01_onset.jpg", "s01_apex.jpg"],
        ["a1.jpg", "b2.jpg", "a10.jpg"],
    ):
        assert page.evaluate(script, list(reversed(names))) == names


def test_the_tables_of_a_batch_are_joined(open_page):
    page = open_page("/static/responsible-use.html")
    rows = [
        {"name": "a.mp4", "state": "done", "table": 'file,text\na.mp4,"one, two"\n'},
        {"name": 'b "2".mp4', "state": "failed", "text": "No face."},
    ]
    joined = page.evaluate("async (rows) => (await import('/static/batch.js')).joined(rows)", rows)
    assert joined == 'file,text,error\na.mp4,"one, two",\n"b ""2"".mp4",,No face.\n'


def test_results_that_the_server_no_longer_keeps_are_not_linked(open_page):
    page = open_page("/static/responsible-use.html")
    rows = [{"name": str(each), "state": "done", "ended": each} for each in range(5)]
    rows.insert(2, {"name": "damaged", "state": "failed"})
    kept = page.evaluate(
        "async ([rows, most]) => [...(await import('/static/batch.js')).keptRows(rows, most)].map((row) => row.name)",
        [rows, 2],
    )
    assert sorted(kept) == ["3", "4"]


@pytest.mark.parametrize("name", ["=1+1.mp4", "+x.mp4", "-x.mp4", "@x.mp4"])
def test_a_name_that_a_spreadsheet_would_run_is_escaped(call, name):
    assert call("csvCell", name) == f"'{name}"
    assert call("csvCell", -0.5) == "-0.5"


def test_settings_and_action_units_have_the_words_of_the_page(call):
    from epir.recognition import caution

    words = caution.frame_rate_warnings(None) + caution.face_warnings(200.0, 3)
    shown = [call("inPageWords", each) for each in words]
    assert len(shown) == 2 and all("under Settings" in each and "--" not in each for each in shown)
    assert call("unitName", 12) == "Lip corner puller"


def test_the_threshold_lies_above_where_the_face_rests(open_page):
    page = open_page("/static/responsible-use.html")
    time = [each / 10 for each in range(60)]
    energy = [1.0 if each < 30 else 3.0 for each in range(60)]
    energy[10] = 9.0  # a movement does not raise it
    values = page.evaluate(
        "async (curve) => (await import('/static/timeline.js')).threshold(curve)",
        {"time": time, "energy": energy, "level": 0.5},
    )
    assert values[:25] == [1.5] * 25 and values[-25:] == [3.5] * 25


def test_sizes_and_counts(call):
    assert call("bytes", 64 * 2**20) == "64 MB"
    assert call("bytes", 100) == "1 KB"
    assert call("counted", 1, "frame") == "1 frame"
    assert call("counted", 2, "frame") == "2 frames"


def test_a_stage_without_a_text_is_shown_as_it_is(call):
    assert call("stage", {"state": "running", "stage": "reading"}) == "Reading the clip"
    assert call("stage", {"state": "running", "stage": "thinking hard"}) == "Thinking hard"
    assert call("stage", {"state": "queued", "place": 0}) == "Waiting: next in the queue"
