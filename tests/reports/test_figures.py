from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib.image import imread

from epir.core.errors import EpirError
from epir.reports.figures import draw_chart, draw_confusions, draw_examples, draw_integration, draw_people, save_figures
from epir.reports.pictures import Sources, find_sources
from epir.reports.results import Chart, Confusion, Line, PersonScore, choose_examples

CLASSES = ("negative", "positive", "surprise")


def confusion(counts):
    return Confusion("full", "strict", CLASSES, np.array(counts, dtype=float))


def line_chart(height):
    return Chart("c", "Loss", "epoch", "loss", (Line("a", (1, 2, 3), (1, 0.5, height), (0, 0, 0), (1, 1, 1)),))


DRAWN = {
    "confusions": lambda value: draw_confusions([confusion([[value, 1, 1], [0, 2, 0], [0, 0, 0]])] * 2),
    "chart": line_chart,
    "people": lambda value: draw_people([PersonScore("casme2/a", 3, value / 10, 1.0), PersonScore("b", 1, 0, 0)]),
}
DRAWN["chart"] = lambda value: draw_chart(line_chart(value / 10))


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_is_not_empty_and_changes_with_its_data(name, tmp_path):
    pixels = {}
    for value in (2, 9):
        png, svg = save_figures({f"{name}{value}": DRAWN[name](value)}, tmp_path)
        pixels[value] = imread(png)
        assert pixels[value][..., :3].std() > 0.02
        assert "<svg" in svg.read_text(encoding="utf-8")
    assert pixels[2].shape != pixels[9].shape or not np.array_equal(pixels[2], pixels[9])


def test_the_same_figure_gives_the_same_bytes_and_the_program_keeps_its_settings(tmp_path):
    before = dict(matplotlib.rcParams)
    first = save_figures({"a": draw_chart(line_chart(0.3))}, tmp_path)
    second = save_figures({"b": draw_chart(line_chart(0.3))}, tmp_path)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert dict(matplotlib.rcParams) == before
    assert "pyplot" not in vars(matplotlib) or not matplotlib.pyplot.get_fignums()


def test_words_stay_words_in_svg_and_the_column_is_named(tmp_path):
    _, svg = save_figures({"m": draw_confusions([confusion(np.eye(3))])}, tmp_path)
    text = svg.read_text(encoding="utf-8")
    assert ">strict</text>" in text
    assert ">surprise</text>" in text


def test_a_figure_is_not_replaced_unless_told(tmp_path):
    figures = {"a": draw_chart(line_chart(0.3))}
    save_figures(figures, tmp_path)
    with pytest.raises(EpirError, match=r"a\.png exists already"):
        save_figures(figures, tmp_path)
    assert len(save_figures(figures, tmp_path, force=True)) == 2


def test_tokens_are_drawn_on_the_map_and_differ_with_the_tokens(small, tmp_path):
    pictures = []
    for merges in (0, 6):
        run = small(f"r{merges}", merges=merges, epochs=2)
        figure = draw_examples(choose_examples(run, right=1, wrong=0), find_sources(run))
        pictures.append(imread(save_figures({f"t{merges}": figure}, tmp_path / "figures")[0]))
    assert pictures[0].shape == pictures[1].shape
    assert not np.array_equal(*pictures)


def test_without_maps_or_tokens_there_is_no_figure(small):
    run = small(epochs=1)
    assert draw_examples(choose_examples(run), Sources({})) is None
    bare = small("bare", tokens=False, epochs=1)
    assert draw_examples(choose_examples(bare), find_sources(bare)) is None


def test_the_same_clips_are_drawn_at_every_rate(rates, tmp_path):
    figure = draw_integration(rates, find_sources(rates[0]))
    assert [axes.get_title() for axes in figure.axes] == ["0 %", "31 %"] * 2  # two clips without faces
    assert len(save_figures({"i": figure}, tmp_path / "figures")) == 2
    without = [replace(run, folds=tuple(map(without_tokens, run.folds))) for run in rates]
    assert draw_integration(without, find_sources(rates[0])) is None


def without_tokens(fold):
    return replace(fold, clips=tuple(replace(clip, tokens=None) for clip in fold.clips))


def test_people_of_a_zero_shot_run_have_no_ticks():
    (legend,) = (axes.get_legend() for axes in draw_people([PersonScore("a", 1, 0.5, None)]).axes)
    assert [text.get_text() for text in legend.get_texts()] == ["strict"]
