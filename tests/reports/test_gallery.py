import re
from itertools import count

import numpy as np

from epir.reports.gallery import Picture, gallery, integration_gallery, moved_words, outline_path, svg_overlay
from epir.reports.pictures import Sources, find_sources
from epir.reports.results import choose_examples
from epir.reports.tokens import Mark, Overlay

CLASSES = ("negative", "positive", "surprise")


def test_a_picture_stands_in_the_page_once_however_often_it_is_shown():
    picture = Picture.of_map((f"p{n}" for n in count()), np.zeros((2, 2, 3), np.uint8))
    assert 'id="p0"' in picture.first
    assert picture.again == '<use href="#p0"></use>'


def test_a_card_shows_the_map_what_was_merged_and_every_head(small):
    run = small(epochs=2)
    text = gallery(choose_examples(run, right=1, wrong=0), find_sources(run), CLASSES, faces={}, prefix="x")
    captions = re.findall(r"<figcaption>([^<]*)</figcaption>", text)
    assert [caption.split(",")[0] for caption in captions] == [
        *("flow", "u", "v", "strain"),
        *("merged to 10", "head 1", "head 2", "head 3"),
    ]
    assert "Right answers" in text
    assert "Wrong answers" not in text


def test_faces_are_shown_where_they_are_given(small):
    run = small(epochs=2)
    examples = choose_examples(run, right=1, wrong=1)
    face = np.full((16, 16, 3), 120, np.uint8)
    text = gallery(examples, find_sources(run), CLASSES, faces={examples[0].prediction.key: face}, prefix="x")
    assert text.count("image/jpeg") == 1
    assert text.count("<figcaption>apex</figcaption>") == 1
    assert "<figcaption>selected</figcaption>" in text


def test_without_maps_the_tokens_are_still_drawn(small):
    run = small(epochs=2)
    text = gallery(choose_examples(run, right=1, wrong=0), Sources({}), CLASSES, faces={}, prefix="x")
    assert "<image" not in text
    assert "head 3" in text


def test_an_overlay_becomes_tints_outlines_and_words():
    halo = Mark((0, 1), "#0a5c9e", tint=0.28, line=3, halo=True, word="1 2", title="t")
    text = svg_overlay(Overlay(2, (halo, Mark((3,), "#c2410c", tint=0.5))))
    assert text.count("<path") == 4  # two tints, an outline and its halo
    assert '<path d="M0 0h50v50h-50zM50 0h50v50h-50z" fill="#0a5c9e" fill-opacity="0.28">' in text.replace(
        "<title>t</title>", ""
    )
    assert text.index('stroke="#fff" stroke-width="5.5"') < text.index('stroke="#0a5c9e" stroke-width="3"')
    assert text.count(">1 2</text>") == 2
    assert "lattice" not in text
    assert svg_overlay(Overlay(3, (), lattice=True)).count("V100") == 2


def test_a_word_in_the_corner_stands_once():
    text = svg_overlay(Overlay(4, (Mark((5, 6), "#000000", word="3", in_corner=True),)))
    assert re.findall(r'x="([\d.]+)" y="([\d.]+)"', text) == [("30", "35.25")]


def test_two_neighbours_have_one_outline():
    assert outline_path((0,), 2) == "M0 0L50 0M0 50L50 50M0 0L0 50M50 0L50 50"
    assert outline_path((0, 1), 2).count("M") == 6


def test_the_same_clips_are_shown_at_every_rate(rates, small):
    text = integration_gallery(rates, find_sources(rates[0]))
    assert text.count("<image") == 4  # two clips, two rates, no faces
    assert "31 %" in text
    runs = [small("a", tokens=False, epochs=1), small("b", tokens=False, epochs=1, integration=0.0)]
    assert integration_gallery(runs, find_sources(runs[0])) == ""


def test_the_words_of_a_map_say_what_moved():
    rows, columns = (np.mgrid[0:28, 0:28] + 0.5) / 28
    made = np.zeros((3, 28, 28), np.float32)
    made[1] = -0.6 * np.exp(-0.5 * (((columns - 0.28) / 0.08) ** 2 + ((rows - 0.7) / 0.08) ** 2))
    assert moved_words(made).startswith("Right lip corner up; 2.")
    assert moved_words(made - made.min()) == ""  # stretched: no sign
    assert moved_words(None) == ""
