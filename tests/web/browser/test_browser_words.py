"""How the page says things: the words of `words.js`, in the browser that reads them."""

import pytest

pytestmark = pytest.mark.slow  # starts a page of a real browser


@pytest.fixture
def say(open_page):
    page = open_page("/static/responsible-use.html")

    def call(name, *values):
        return page.evaluate(
            "async ([name, values]) => (await import('/static/words.js'))[name](...values)", [name, list(values)]
        )

    return call


def test_a_message_becomes_a_sentence_and_a_file_keeps_its_name(say):
    assert say("sentence", "there is no face") == "There is no face."
    assert say("sentence", "notes.mp4 is not a video") == "notes.mp4 is not a video."
    assert say("sentence", "Already said!") == "Already said!"
    assert say("sentence", "") == ""


def test_how_sure_it_is(say):
    def sure(label, **scores):
        return say("certainty", {"label": label, "scores": scores})

    right = "such answers were right on people the model had not seen."
    assert sure("positive", negative=0.2, positive=0.8) == f"Score 0.80: about 80 of 100 {right}"
    assert sure("positive", negative=0.001, positive=0.999) == f"Score 1.00: nearly all {right}"
    invented = say("certainty", {"label": "positive", "scores": {"positive": 0.8, "negative": 0.2}}, "invented people")
    assert invented.endswith("right on invented people the model had not seen. On real ones expect fewer.")
    assert sure("uncertain", negative=0.45, positive=0.55) == "Most likely positive, but its score is only 0.55."
    assert sure("no micro-expression found").startswith("Nothing moved that was short enough and strong enough.")


def test_sizes_and_counts(say):
    assert say("bytes", 64 * 2**20) == "64 MB"
    assert say("bytes", 100) == "1 KB"
    assert say("counted", 1, "frame") == "1 frame"
    assert say("counted", 2, "frame") == "2 frames"


def test_a_stage_without_words_of_its_own_is_told_as_it_is(say):
    assert say("stage", {"state": "running", "stage": "reading"}) == "Reading the clip"
    assert say("stage", {"state": "running", "stage": "thinking hard"}) == "Thinking hard"
    assert say("stage", {"state": "queued", "place": 0}) == "Waiting: next in the queue"
