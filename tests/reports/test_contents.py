"""Properties of the whole page: what it says, what it loads, how it is built."""

import re
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from epir.core.progress import Silent
from epir.reports.contents import page
from epir.reports.markup import VOID
from epir.reports.wording import PAPER

LABELS = ("strict", "leaks", "printed")
NUMBER = re.compile(r"(?<![\d.])[01]\.\d{2,4}(?!\d)|^\d+ %$")


class Node:
    """An element of the page with its parent, its attributes and everything inside it."""

    def __init__(self, name, attributes, parent):
        self.name, self.attributes, self.parent, self.inside = name, dict(attributes), parent, []

    def words(self):
        own = [self.attributes.get("title") or ""]
        return " ".join(own + [each if isinstance(each, str) else each.words() for each in self.inside])

    def all(self):
        yield self
        for each in self.inside:
            if isinstance(each, Node):
                yield from each.all()

    def ancestors(self):
        node = self
        while node is not None:
            yield node
            node = node.parent


class Tree(HTMLParser):
    """Builds the nodes and fails where an element is not closed in its turn."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.root = self.at = Node("page", (), None)
        self.feed(text)
        self.close()
        assert self.at is self.root, f"<{self.at.name}> is not closed"

    def handle_starttag(self, tag, attrs):
        node = Node(tag, attrs, self.at)
        self.at.inside.append(node)
        if tag not in VOID:
            self.at = node

    def handle_endtag(self, tag):
        assert self.at.name == tag, f"</{tag}> closes <{self.at.name}>"
        self.at = self.at.parent

    def handle_data(self, data):
        self.at.inside.append(data)


def render(*runs, **changes):
    return page(runs, **{"maps": (), "faces": True, "progress": Silent(), **changes})


@pytest.fixture
def one(small):
    return render(small(seeds=2, epochs=4))


def test_elements_are_nested_and_names_are_unique(one, small):
    several = render(small("a", epochs=2), small("b", epochs=2, model="ststnet", tokens=False))
    for text in (one, several):
        nodes = list(Tree(text).root.all())
        names = [node.attributes["id"] for node in nodes if "id" in node.attributes]
        assert len(names) == len(set(names))
        targets = [href[1:] for node in nodes if (href := node.attributes.get("href", "")).startswith("#")]
        assert targets
        assert set(targets) <= set(names)


def test_nothing_is_loaded_from_elsewhere(one):
    for node in Tree(one).root.all():
        assert node.name not in ("script", "link", "iframe", "object", "embed", "base")
        assert not any(name.startswith("on") for name in node.attributes)
        for name in ("src", "href", "srcset", "data", "action", "poster"):
            address = node.attributes.get(name)
            if address is not None:
                is_link = node.name == "a" and address == PAPER
                assert is_link or address.startswith(("#", "data:image/")), address
    style = (files("epir.reports") / "style.css").read_text(encoding="utf-8")
    assert "@import" not in style
    assert "url(" not in style
    assert "url(" not in one


def test_every_score_says_strict_or_leaks_or_printed(one):
    root = Tree(one).root
    silent = ("cost", "made", "words")  # parts that describe no recognition
    seen = 0
    for node in root.all():
        chain = list(node.ancestors())
        if any(each.attributes.get("id") in silent for each in chain) or any(each.name == "style" for each in chain):
            continue
        is_tile = any("tile" in (each.attributes.get("class") or "").split() for each in chain)
        for text in [each for each in node.inside if isinstance(each, str)]:
            if is_tile or not NUMBER.search(text.strip()):
                continue
            seen += 1
            within = [
                each
                for each in chain
                if each.name not in ("section", "header", "main", "body", "html", "page", "details")
            ]
            assert any(label in each.words() for each in within for label in LABELS), text
    assert seen > 100


def test_the_headline_is_that_of_scores_json(small):
    run = small(seeds=2, epochs=3)
    root = Tree(render(run)).root
    header = next(node for node in root.all() if node.name == "header").words()
    for column in ("strict", "best_epoch"):
        for name in ("uf1", "uar", "accuracy"):
            assert f"{run.scores[column][name]:.4f}" in header
    for number, noun in (("clips", "clips"), ("people", "people"), ("folds", "folds"), ("seeds", "seeds")):
        assert f"{run.scores[number]} {noun}" in header


def test_both_columns_have_a_matrix_for_all_clips_and_for_each_corpus(one):
    captions = [" ".join(node.words().split()) for node in Tree(one).root.all() if node.name == "caption"]
    parts = ("all clips", "CASME II", "SAMM", "SMIC")
    assert captions == [f"{part} {label}" for label in ("strict", "best epoch (leaks)") for part in parts]


def test_every_person_has_a_bar_and_every_part_a_place_in_the_contents(one, small):
    run = small("again", epochs=1)
    root = Tree(one).root
    people = next(node for node in root.all() if node.attributes.get("class") == "people")
    assert sum(node.name == "li" for node in people.all()) == run.scores["people"]
    sections = [node.attributes["id"] for node in root.all() if node.name == "section"]
    assert sections == ["scores", "confusions", "people", "learning", "hardest", "tokens", "cost", "made", "words"]


HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


def test_a_hostile_clip_name_stays_text(small, invented_clips):
    from dataclasses import replace

    clips = [replace(clip, clip=f"{clip.clip}{HOSTILE}", subject=f"{clip.subject}'<b>&amp;") for clip in invented_clips]
    text = render(small(clips=clips, epochs=2))
    nodes = list(Tree(text).root.all())
    assert not any(node.name == "script" or "onerror" in node.attributes for node in nodes)
    assert any(HOSTILE in node.words() for node in nodes if node.name == "h4")
    assert any("'<b>&amp;" in node.words() for node in nodes if node.name == "li")


def test_a_run_without_a_wrong_answer_has_no_hardest_clips(small):
    assert "Every clip was answered right by every seed (strict)." in render(small(skill=9.0, epochs=40))


def test_maps_that_are_missing_cost_the_pictures_and_leave_a_note(small, tmp_path):
    run = small(epochs=2)
    (tmp_path / "maps").rename(tmp_path / "gone")
    text = render(run)
    assert "<image" not in text
    assert "The map set is not at hand" in text
    assert "head 3" in text  # the tokens are in the run itself


def test_a_class_without_clips_is_shown_as_empty(small, invented_clips):
    text = render(small(clips=[clip for clip in invented_clips if clip.emotion != "surprise"], epochs=2))
    assert "this class has no clips here" in text
    visible = re.sub(r"data:[^\"]*", "", text)
    assert "nan" not in visible.lower().replace("nan%", "nan")


def test_a_model_without_epochs_or_tokens_says_so(small):
    text = render(small(model="bi-woof", tokens=False, epochs=0))
    assert "Nothing was learnt over epochs here, so there are no curves." in text
    assert "bi-woof: learnt without epochs" in text
    assert "This model keeps no record of tokens." in text


def test_the_synthetic_corpus_is_called_what_it_is(small):
    assert "not how well people are recognised" in render(small(corpora={"synthetic": 3}, epochs=1))


def test_a_run_of_part_of_the_composite_is_not_set_against_the_whole_in_silence(one, small):
    assert "The whole composite has 442 clips of 68 people, this run has " in one
    assert "whole composite" not in render(small("other", corpora={"smic": 4}, protocol="sde-smic", epochs=1))


def test_pictures_are_shown_for_a_few_runs_only(small):
    runs = [small(f"r{blocks}", blocks=blocks, epochs=1) for blocks in (7, 8, 9, 10)]
    text = render(*runs)
    assert "epir report r10 shows those of this one" in text
    assert text.count("Right answers") == 3


def test_faces_are_shown_with_a_word_about_licences_unless_left_out(with_faces):
    run, _ = with_faces
    text = render(run)
    assert "image/jpeg" in text
    assert "--no-faces" in text
    without = render(run, faces=False)
    assert "image/jpeg" not in without
    assert "--no-faces" not in without


def test_several_runs_are_side_by_side_with_a_paired_test_and_the_first_open(small):
    runs = [small("a", epochs=2), small("b", epochs=2, model="ststnet", tokens=False)]
    text = render(*runs)
    blocks = [node for node in Tree(text).root.all() if node.attributes.get("class") == "run"]
    assert ["open" in node.attributes for node in blocks] == [True, False]
    assert "Paired comparison over people" in text
    assert "model.name: epir -&gt; ststnet" in text


def test_a_sweep_has_its_charts_and_its_pictures(small):
    runs = [small("a", epochs=1, integration=0.0, merges=0), small("b", epochs=1, integration=0.3, merges=5)]
    text = render(*runs)
    assert "UF1 against the integration rate" in text
    assert "Each token is drawn as the mean of its patches" in text


def test_nothing_in_the_style_is_wider_than_a_phone():
    style = (files("epir.reports") / "style.css").read_text(encoding="utf-8")
    assert "overflow-x: auto" in style
    wide = [
        (name, int(size))
        for name, size in re.findall(r"(?<!max-)\b(width|min-width): (\d+)px", style)
        if int(size) > 300
    ]
    assert wide == []
    for floor in re.findall(r"minmax\(([^,]+(?:\([^)]*\))?[^,]*),", style):
        size = re.fullmatch(r"(\d+)px", floor.strip())
        assert size is None or int(size[1]) < 200, floor  # larger ones are min(100%, ...)


def test_the_page_takes_the_readers_colours_and_can_be_printed():
    style = (files("epir.reports") / "style.css").read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in style
    assert "@media print" in style


def test_442_clips_and_3_seeds_stay_below_three_megabytes(with_faces):
    run, _ = with_faces
    text = render(run)
    per_clip = 150  # bytes: only bars and totals grow with the number of clips
    assert len(text.encode()) + 442 * per_clip < 3e6
