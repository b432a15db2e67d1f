"""Values as text: the functions of `format.js`."""

import pytest

pytestmark = pytest.mark.slow  # starts a page of a real browser


@pytest.fixture
def call(open_page):
    page = open_page("/static/responsible-use.html")

    def run(name, *values):
        return page.evaluate(
            "async ([name, values]) => (await import('/static/format.js'))[name](...values)", [name, list(values)]
        )

    return run


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
        "Score 0.80: on real people the model had not seen, 78 % of 40 answers with a score from 0.8 to 0.9 were "
        "correct."
    )
    assert sure("uncertain", negative=0.45, positive=0.55) == "Most likely positive, but its score is only 0.55."
    assert sure("no micro-expression found") == "No movement was both short and strong enough."


def test_sizes_and_counts(call):
    assert call("bytes", 64 * 2**20) == "64 MB"
    assert call("bytes", 100) == "1 KB"
    assert call("counted", 1, "frame") == "1 frame"
    assert call("counted", 2, "frame") == "2 frames"


def test_a_stage_without_a_text_is_shown_as_it_is(call):
    assert call("stage", {"state": "running", "stage": "reading"}) == "Reading the clip"
    assert call("stage", {"state": "running", "stage": "thinking hard"}) == "Thinking hard"
    assert call("stage", {"state": "queued", "place": 0}) == "Waiting: next in the queue"
