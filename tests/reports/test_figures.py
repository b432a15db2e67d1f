import io
import re
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib.image import imread

from epir.core.errors import EpirError
from epir.models.predict import Tokens
from epir.reports.figures import (
    COLOURS,
    Tile,
    draw_chart,
    draw_confusions,
    draw_people,
    draw_strips,
    draw_tiles,
    example_tiles,
    integration_tiles,
    save_figures,
    svg,
)
from epir.reports.markup import with_unique_ids
from epir.reports.overlays import SMALLEST_FACE, Mark, Overlay, draw_overlay, new_figure
from epir.reports.pictures import Sources, find_sources
from epir.reports.results import Chart, Confusion, Dot, Line, PersonScore, Strip, choose_examples, rate_tokens

CLASSES = ("negative", "positive", "surprise")
STRIPS = [
    Strip("a", (Dot("strict", 0.7, "strict", (0.6, 0.8)), Dot("best epoch (leaks)", 0.9, "best_epoch"))),
    Strip("b", (Dot("strict", 0.5, "strict"),)),
]


def confusion(counts, **changes):
    return replace(Confusion("full", "strict", CLASSES, np.array(counts, dtype=float)), **changes)


def chart(*lines, **changes):
    return Chart("c", "Title", "epoch", "loss", lines, **changes)


DRAWN = {
    "confusions": lambda value: draw_confusions([confusion([[value, 1, 1], [0, 2, 0], [0, 0, 0]])] * 2),
    "chart": lambda value: draw_chart(chart(Line("a", (1, 2, 3), (1, 0.5, value / 10), (0, 0, 0), (1, 1, 1)))),
    "people": lambda value: draw_people([PersonScore("casme2/a", 3, value / 10, 1.0), PersonScore("b", 1, 0, 0)]),
    "strips": lambda value: draw_strips([Strip("a", (Dot("strict", value / 10, "strict"),))], title="UF1", chance=0.3),
}


def pixels(figure, dpi=40):
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=dpi)
    out.seek(0)
    return imread(out)[..., :3]


def words(figure):
    texts = [text.get_text() for text in figure.findobj(matplotlib.text.Text)]
    return [text for text in texts if text]


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_is_not_empty_and_changes_with_its_data(name):
    few, many = (pixels(DRAWN[name](value)) for value in (2, 9))
    assert few.std() > 0.02
    assert few.shape != many.shape or not np.array_equal(few, many)
    assert svg(DRAWN[name](2)) != svg(DRAWN[name](9))


def test_files_are_png_and_svg_with_the_same_bytes_each_time(tmp_path):
    first, second = (save_figures({"a": DRAWN["chart"](2)}, tmp_path / name) for name in "ab")
    assert [path.name for path in first] == ["a.png", "a.svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert ">Title</text>" in first[1].read_text(encoding="utf-8")  # text stays text


def test_an_existing_file_is_not_replaced_unless_told(tmp_path):
    (tmp_path / "a.png").write_bytes(b"mine")
    with pytest.raises(EpirError, match=r"a.png exists already"):
        save_figures({"a": DRAWN["chart"](1)}, tmp_path)
    save_figures({"a": DRAWN["chart"](1)}, tmp_path, force=True)
    assert (tmp_path / "a.png").read_bytes() != b"mine"


def test_drawing_changes_no_global_state(tmp_path):
    before = dict(matplotlib.rcParams)
    save_figures({"a": DRAWN["people"](1)}, tmp_path)
    svg(DRAWN["people"](1))
    assert dict(matplotlib.rcParams) == before


def test_the_page_takes_text_as_text_and_colours_as_variables():
    text = svg(draw_confusions([confusion(np.eye(3) * 5)]))
    assert text.startswith('<svg role="img" aria-label="Confusion matrix, all clips, strict. negative: 5 as negative')
    assert ">100 %</text>" in text and ">surprise</text>" in text
    assert "var(--strict)" in text and "var(--ink)" in text and "var(--paper)" in text
    assert not any(colour in text for colour in COLOURS.values())
    assert "font-family" not in text and "<metadata" not in text and "<style" not in text


def test_names_inside_two_figures_do_not_clash():
    text = svg(DRAWN["strips"](5))
    both = with_unique_ids(text + text)
    names = re.findall(r' id="([^"]*)"', both)
    assert names and len(names) == len(set(names))
    assert set(re.findall(r'(?:url\(|href=")#([^")]*)', both)) <= set(names)


def test_names_are_text_whatever_they_contain():
    for name in ("$x$<b>", "a_$\\frac$"):
        text = svg(draw_people([PersonScore(name, 1, 1.0, None)]))
        assert "<b>" not in text
        assert name.replace("<", "&lt;").replace(">", "&gt;") in text


def test_cells_show_shares_and_clips_and_an_empty_class_a_dash():
    figure = draw_confusions([confusion([[3, 1, 0], [0, 0, 0], [1, 0, 2.5]], part="casme2", column="best_epoch")])
    shown = words(figure)
    assert {"75 %", "3", "2.5", "CASME II", "best epoch (leaks); rows: truth, columns: answer"} <= set(shown)
    assert shown.count("–") == 3
    assert not any("nan" in word for word in shown)


def test_a_bar_is_as_long_as_the_score_and_best_epoch_is_a_tick():
    figure = draw_people([PersonScore("casme2/a", 3, 0.25, 0.5), PersonScore("casme2/b", 1, 1.0, 1.0)])
    axes = figure.axes[0]
    assert [bar.get_width() for bar in axes.patches] == [0.25, 1.0]
    assert [line.get_xdata()[0] for line in axes.lines] == [0.5, 1.0]
    axis = "accuracy, strict; dashes: best epoch (leaks)"
    assert {"casme2/a", "0.25", "3 clips", "1 clip", axis} <= set(words(figure))
    zero_shot = draw_people([PersonScore("casme2/a", 3, 0.25, None)])
    assert not zero_shot.axes[0].lines and not any("leaks" in word for word in words(zero_shot))


def test_dots_stand_at_their_scores_and_the_legend_names_each_kind_once():
    figure = draw_strips(STRIPS, title="UF1", chance=1 / 3)
    places = [tuple(np.ravel(line.get_xdata())) for line in figure.axes[0].lines]
    assert (0.7,) in places and (0.6, 0.8) in places and (0.9,) in places
    assert words(figure).count("strict") == 1
    assert "chance: 0.33" in words(figure)
    assert figure.get_label() == "UF1: a strict 0.7000, best epoch (leaks) 0.9000; b strict 0.5000"


def test_one_point_equal_values_and_missing_values_can_be_drawn():
    for line in (
        Line("a", (3,), (0.5,)),
        Line("a", (1, 2), (0.0, 0.0)),
        Line("a", (1, 2, 3), (0.1, float("nan"), 0.3)),
    ):
        assert "nan" not in svg(draw_chart(chart(line))).lower()


def test_strict_and_best_epoch_look_different_and_the_legend_names_them():
    lines = (Line("strict", (1, 2), (1, 1), kind="strict"), Line("b (leaks)", (1, 2), (1, 1), kind="best_epoch"))
    figure = draw_chart(chart(*lines))
    assert len({(line.get_color(), line.get_linestyle()) for line in figure.axes[0].lines}) == 2
    assert {"strict", "b (leaks)"} <= set(words(figure))


def test_a_card_has_maps_tokens_and_heads_and_the_same_on_the_face(small):
    run = small()
    (example,) = choose_examples(run, right=1, wrong=0)
    flow_map = find_sources(run).map_of(example.prediction.key)
    on_map = [tile.caption.split(",")[0] for tile in example_tiles(example, flow_map)]
    assert on_map == ["flow", "u", "v", "strain", "merged to 10", "head 1", "head 2", "head 3"]
    face = np.full((168, 168, 3), 120, np.uint8)
    captions = [tile.caption.split(",")[0] for tile in example_tiles(example, flow_map, face)]
    assert captions == [*on_map, "apex", "merged", "all", "selected"]
    assert example_tiles(replace(example, tokens=None), None) == []
    without_map = example_tiles(example, None)
    assert [tile.caption.split(",")[0] for tile in without_map] == on_map[4:]
    assert pixels(draw_tiles([without_map])).std() > 0.05


def test_tokens_are_drawn_on_the_map_and_differ_with_the_tokens(small):
    run = small()
    (example,) = choose_examples(run, right=1, wrong=0)
    flow_map = find_sources(run).map_of(example.prediction.key)
    others = replace(example, tokens=Tokens(tuple((n,) for n in range(16)), (0, 1, 2), ((1 / 16,) * 16,) * 3))
    first, second = (pixels(draw_tiles([example_tiles(each, flow_map)], titles=["a"])) for each in (example, others))
    assert not np.array_equal(first, second)


def test_pictures_of_faces_are_small_and_keep_their_colours_on_a_dark_page():
    noise = np.random.default_rng(0).integers(0, 256, (SMALLEST_FACE + 40, SMALLEST_FACE + 40, 3), dtype=np.uint8)
    marks = (Mark((0,), COLOURS["strict"], line=2, word="A"),)
    tiles = [Tile(noise[:28, :28], "map"), Tile(noise, "face", (Overlay(2, marks),)), Tile(noise, "face")]
    text = svg(draw_tiles([tiles]), pictures=True)
    assert text.count("data:image/png") == 1 and text.count("data:image/jpeg") == 1  # the face is there once
    names = re.findall(r'<image id="(\w+)"', text)
    assert re.findall(r'<use href="#(\w+)"', text) == [names[0], names[1], names[1]]
    assert COLOURS["strict"] in text and "var(--soft)" in text
    assert '<g class="rim"><text' in text  # the letter is text, its rim is in style.css


def test_an_overlay_becomes_tints_outlines_and_words():
    figure = new_figure(1, 1, fitted=False)
    axes = figure.add_axes((0, 0, 1, 1))
    halo = Mark((0, 1), "#0a5c9e", tint=0.28, line=3, halo=True, word="1 2")
    draw_overlay(axes, Overlay(2, (halo, Mark((3,), "#c2410c", tint=0.5))), lines=1, words=9)
    (tints,) = axes.images
    assert tints.get_extent() == [0, 1, 1, 0]
    assert tints.get_array()[..., 3].tolist() == [[71, 71], [0, 128]]  # 0.28 and 0.5 of 255
    assert [patch.get_linewidth() for patch in axes.patches] == [5.5, 3]  # the halo first
    assert [text.get_position() for text in axes.texts] == [(0.25, 0.25), (0.75, 0.25)]


def test_a_word_in_the_corner_stands_once():
    axes = new_figure(1, 1, fitted=False).add_axes((0, 0, 1, 1))
    draw_overlay(axes, Overlay(4, (Mark((5, 6), "#000000", word="3", in_corner=True),)), lines=1, words=9, at=(2, 0))
    assert [text.get_position() for text in axes.texts] == [pytest.approx((2 + 1.09 / 4, 1.08 / 4))]


def test_the_same_clips_are_shown_at_every_rate(rates):
    clips = rate_tokens(rates, clips=2)
    rows = integration_tiles(clips, find_sources(rates[0]), faces=True)
    assert [[tile.caption for tile in row] for row in rows] == [["0 %", "31 %"]] * 2  # no faces
    assert integration_tiles(clips, Sources({}), faces=True) == []
