"""What `report` writes where, and properties of the whole page: what it loads, how it is built."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files

import pytest

from epir.core.engines import Engine
from epir.core.errors import EpirError, OutputError, RunError
from epir.core.output import SPOTTED, mark
from epir.evaluation.fold import _digest as record_digest
from epir.evaluation.run import evaluate
from epir.evaluation.store import open_store
from epir.reports.markup import PAPER, VOID
from epir.reports.page import all_figures, open_runs, page_path, report, run_parts
from epir.reports.pictures import find_sources
from epir.reports.provenance import provenance_part
from epir.reports.results import series_title

LABELS = ("strict", "leaks", "published")
NUMBER = re.compile(r"(?<![\d.])[01]\.\d{2,4}(?!\d)|^\d+ %$")


class Node:
    """An element of the page with its parent, its attributes and everything inside it."""

    def __init__(self, name, attributes, parent):
        self.name, self.attributes, self.parent, self.inside = name, dict(attributes), parent, []

    def words(self):
        title = [self.attributes.get("title") or ""]
        return " ".join(title + [each if isinstance(each, str) else each.words() for each in self.inside])

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


QUICK = {"corpora": {"casme2": 2}, "pictures": False, "epochs": 1}


def test_the_page_of_a_run_lies_in_its_folder_and_is_not_replaced_unless_told(fresh):
    run = fresh(**QUICK)
    path = report(run.folder)
    assert path == run.folder / "report.html"
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(EpirError, match=r"report.html exists already\n  fix: .*--force"):
        report(run.folder)
    assert report(run, force=True) == path


def test_the_same_run_gives_the_same_page(small, render):
    run = small(corpora={"casme2": 1}, epochs=2)
    assert render(run) == render(run, maps=[])  # the second is drawn anew


def test_a_run_of_a_protocol_file_is_reported_with_the_corpora_of_its_clips(small, render):
    runs = [
        small(name, protocol="cde48", corpora={"casme2": 2, "smic": 2}, pictures=False, epochs=1) for name in ("a", "b")
    ]
    assert "; CASME II, SMIC. " in render(runs[0]) and "on cde48" in render(*runs)


def test_tables_and_figures_go_beside_it(small, tmp_path):
    run = small(corpora={"casme2": 1}, epochs=2)
    path = report(run, tmp_path / "out" / "r.html", latex=True, markdown=True, figures=tmp_path / "figures")
    uf1 = f"{run.scores['strict']['uf1']:.4f}"
    assert uf1 in path.with_suffix(".tex").read_text(encoding="utf-8")
    assert uf1 in path.with_suffix(".md").read_text(encoding="utf-8")
    names = {file.name for file in (tmp_path / "figures").iterdir()}
    stems = ("scores", "confusion-strict", "confusion-best-epoch-leaks", "people", "tokens")
    stems += ("training-loss", "held-out-accuracy")
    assert names == {f"{stem}.{kind}" for stem in stems for kind in ("png", "svg")}


def test_a_folder_of_runs_stands_for_all_of_them_and_holds_their_page(fresh, tmp_path):
    for blocks in (7, 9):
        fresh(f"sweep/blocks-{blocks}", blocks=blocks, **QUICK)
    runs = open_runs(tmp_path / "sweep")
    assert series_title(runs) == "epir, sweep over the number of blocks,"
    assert page_path(None, [tmp_path / "sweep"], runs) == tmp_path / "sweep" / "report.html"
    assert page_path(None, runs, runs) == tmp_path / "sweep" / "report.html"  # beside the first
    assert page_path(tmp_path, runs, runs) == tmp_path / "report.html"


def test_a_sweep_has_figures_of_its_own(rates):
    names = all_figures(rates, find_sources(rates[0])).keys()
    assert names >= {"sweep-integration-uf1", "sweep-integration-uar", "integration"}


def test_the_same_run_given_twice_is_reported_once(plain, tmp_path):
    text = report([plain, plain], tmp_path).read_text(encoding="utf-8")
    assert '<section id="provenance">' in text and "Difference to" not in text


def test_a_run_without_finished_folds_is_refused(plain, tmp_path):
    with open_store(tmp_path / "begun", plain.experiment):
        pass
    with pytest.raises(
        RunError, match=r"begun is not finished: 0 folds done\n  fix: run the command that began this run"
    ):
        report(tmp_path / "begun")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"protocol": "sde"}, "their protocols are cde .* and sde"),
        ({"corpora": {"casme2": 1}}, "they differ in their clips"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused_before_anything_is_written(small, tmp_path, changes, words):
    runs = [small("a", **QUICK), small("b", **{**QUICK, **changes})]
    with pytest.raises(RunError, match=words):
        report(runs, tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_no_run_at_all_is_refused(tmp_path):
    with pytest.raises(RunError, match=r"there is no run to report\n  fix: name one or more folders"):
        report([])
    with pytest.raises(RunError, match="there is no run"):
        report(tmp_path / "nothing")


def test_spotted_videos_are_no_run_and_may_lie_beside_runs(fresh, tmp_path):
    fresh("runs/a", **QUICK)
    spotted = tmp_path / "runs" / "spotted"
    spotted.mkdir()
    (spotted / "config.toml").write_text('sensitivity = "high"\n')
    mark(spotted, SPOTTED)
    assert [run.folder.name for run in open_runs(tmp_path / "runs")] == ["a"]
    with pytest.raises(
        RunError, match=r"is a folder of spotted videos, not a run\n  fix: score it with epir score .*ed$"
    ):
        report(spotted)


@pytest.mark.parametrize("name", ["page.tex", "page.md", "page"])
def test_a_page_has_its_own_ending_so_that_the_tables_beside_it_do_not_replace_it(plain, tmp_path, name):
    with pytest.raises(OutputError, match=rf"{name} does not end in .html\n  fix: name it .*page.html"):
        report(plain, tmp_path / name, latex=True)


def test_damaged_tokens_are_named_with_their_fold(fresh):
    run = fresh(corpora={"casme2": 1}, epochs=1)
    for path in (run.folder / "folds").glob("*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        for clip in record["clips"]:
            clip["tokens"]["groups"] = [[0]]
            clip["tokens"]["selected"] = [5]
        record["digest"] = record_digest(record)
        path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(RunError, match="has damaged token records"):
        report(run.folder)


def test_elements_are_nested_and_names_are_unique(one, small, render):
    several = render(small("a", **QUICK), small("b", model="ststnet", **QUICK))
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
        for value in node.attributes.values():
            assert not re.search(r"url\((?!#)", value or ""), value  # figures name only parts of themselves
    style = (files("epir.reports") / "style.css").read_text(encoding="utf-8")
    assert "@import" not in style
    assert "url(" not in style


def test_every_score_says_strict_or_leaks_or_published(one):
    root = Tree(one).root
    silent = ("cost", "provenance", "glossary")  # parts that describe no recognition
    seen = 0
    for node in root.all():
        chain = list(node.ancestors())
        if any(each.attributes.get("id") in silent for each in chain) or any(each.name == "style" for each in chain):
            continue
        is_picture = any(each.name == "svg" for each in chain) and any(each.name == "article" for each in chain)
        for text in [each for each in node.inside if isinstance(each, str)]:
            if is_picture or not NUMBER.search(text.strip()):
                continue
            seen += 1
            within = [
                each
                for each in chain
                if each.name not in ("section", "header", "main", "body", "html", "page", "details")
            ]
            assert any(label in each.words() for each in within for label in LABELS), text
    assert seen > 100


HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(1)>'


def test_a_hostile_clip_name_stays_text(small, some_clips, render):
    clips = [replace(clip, clip=f"{clip.clip}{HOSTILE}", subject="'<b>&amp;") for clip in some_clips[:4]]
    text = render(small(clips=clips, epochs=2))
    nodes = list(Tree(text).root.all())
    assert not any(node.name == "script" or "onerror" in node.attributes for node in nodes)
    assert any(HOSTILE in node.words() for node in nodes if node.name == "h4")
    assert any("'<b>&amp;" in node.words() for node in nodes if node.name == "text")


def test_the_style_fits_a_phone_the_readers_colours_and_paper():
    style = (files("epir.reports") / "style.css").read_text(encoding="utf-8")
    assert all(words in style for words in ("overflow-x: auto", "prefers-color-scheme: dark", "@media print"))
    wide = [
        (name, int(size))
        for name, size in re.findall(r"(?<!max-)\b(width|min-width): (\d+)px", style)
        if int(size) > 300
    ]
    assert wide == []
    for floor in re.findall(r"minmax\(([^,]+(?:\([^)]*\))?[^,]*),", style):
        size = re.fullmatch(r"(\d+)px", floor.strip())
        assert size is None or int(size[1]) < 200, floor  # larger ones are min(100%, ...)


def test_442_clips_and_3_seeds_stay_below_600_kB(with_faces, render):
    run, _ = with_faces
    text = render(run)
    cards = [len(card.encode()) for card in re.findall(r"<article.*?</article>", text, re.DOTALL)]
    per_clip = 150  # bytes: beside the 12 cards, only bars and totals grow with the number of clips
    assert cards and len(text.encode()) + 12 * max(cards) + 442 * per_clip < 6e5


@pytest.mark.slow
def test_a_run_that_was_really_evaluated_is_reported_with_its_tokens(small, tmp_path):
    maps = small(corpora={"casme2": 2}, epochs=1).folder.parent / "maps"
    small_model = ("model.width=24", "model.feed_forward=24", "model.blocks=7", "training.epochs=2")
    run = evaluate(
        maps,
        protocol="cde",
        out=tmp_path / "runs" / "a",
        folds=2,
        changes=small_model,
        allow_seen=True,  # drawn maps of one pattern look like copies of each other
        engine=Engine(workers=1),
    )
    parts = {ident: content for ident, _, content in run_parts(run, find_sources(run), faces=True, number=1)}
    assert ">merged to 10</text>" in parts["tokens"]
    assert "<image" in parts["tokens"]
    assert "--set model.width=24" in provenance_part(run)
