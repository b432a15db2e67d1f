import re
from itertools import count

import numpy as np

from epir.reports.examples import choose_examples
from epir.reports.gallery import Picture, gallery
from epir.reports.sources import Sources, find_sources

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
