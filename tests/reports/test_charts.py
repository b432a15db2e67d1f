import re
from itertools import pairwise

import numpy as np
import pytest

from epir.reports.charts import MOST_POINTS, Dot, Strip, chart_figure, chart_svg, matrix, person_bars, strips, ticks
from epir.reports.results import Chart, Confusion, Line, PersonScore


def chart(*lines, **changes):
    return Chart("c", "Title", "epoch", "loss", lines, **changes)


def points(svg):
    return [tuple(map(float, pair.split(","))) for pair in re.search(r'polyline points="([^"]*)"', svg)[1].split()]


@pytest.mark.parametrize(("low", "high"), [(0, 1), (1, 300), (0, 0.0031), (-4, 17)])
def test_ticks_are_few_round_and_inside(low, high):
    found = ticks(low, high, 5)
    assert 2 <= len(found) <= 8
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in found)
    steps = {round(b - a, 10) for a, b in pairwise(found)}
    assert len(steps) == 1


def test_higher_values_stand_higher_and_later_ones_further_right():
    (x0, y0), (x1, y1) = points(chart_svg(chart(Line("a", (1, 2), (0.2, 0.8)))))
    assert x1 > x0
    assert y1 < y0  # SVG counts down


def test_the_picture_changes_with_the_data():
    assert chart_svg(chart(Line("a", (1, 2), (0.2, 0.8)))) != chart_svg(chart(Line("a", (1, 2), (0.2, 0.7))))


def test_long_curves_are_thinned_but_keep_their_ends():
    epochs = tuple(range(1, 1001))
    shown = points(chart_svg(chart(Line("a", epochs, tuple(1 / epoch for epoch in epochs)))))
    assert len(shown) <= MOST_POINTS + 1
    whole = points(chart_svg(chart(Line("a", (1, 1000), (1, 1 / 1000)))))
    assert (shown[0], shown[-1]) == (whole[0], whole[-1])


def test_one_point_and_equal_values_can_be_drawn():
    svg = chart_svg(chart(Line("a", (3,), (0.5,))))
    assert "<circle" in svg
    assert "nan" not in svg
    assert "nan" not in chart_svg(chart(Line("a", (1, 2), (0.0, 0.0))))


def test_a_value_that_is_missing_is_left_out():
    svg = chart_svg(chart(Line("a", (1, 2, 3), (0.1, float("nan"), 0.3), marked=True)))
    assert len(points(svg)) == 2
    assert "0.3000 at 3" in svg


def test_strict_and_best_epoch_look_different_and_the_legend_names_them():
    figure = chart_figure(
        chart(Line("strict", (1,), (1,), kind="strict"), Line("b (leaks)", (1,), (1,), kind="best_epoch"))
    )
    assert '<i class="swatch strict"></i>strict' in figure
    assert '<i class="swatch best_epoch"></i>b (leaks)' in figure


def test_a_bar_is_as_long_as_the_score_and_says_both_columns():
    text = person_bars([PersonScore("casme2/<b>", 3, 0.25, 0.5)])
    assert "width:25.0%" in text
    assert "left:50.0%" in text
    assert 'title="strict 0.250, best epoch (leaks) 0.500"' in text
    assert "3 clips" in text
    assert "<b>" not in text


def test_a_person_of_a_zero_shot_run_has_no_best_epoch():
    text = person_bars([PersonScore("casme2/a", 3, 0.25, None)])
    assert 'title="strict 0.250"' in text
    assert "tick" not in text


def test_the_corpus_is_named_only_where_there_are_two():
    one, other = PersonScore("casme2/sub01", 1, 1, 1), PersonScore("samm/006", 1, 1, 1)
    assert ">sub01</span>" in person_bars([one])
    assert ">casme2/sub01</span>" in person_bars([one, other])


def test_dots_stand_at_their_scores_and_the_legend_names_each_kind_once():
    lines = [
        Strip("a", (Dot("strict", 0.7, "strict", (0.6, 0.8)), Dot("best epoch (leaks)", 0.9, "best_epoch"))),
        Strip("b", (Dot("strict", 0.5, "strict"),)),
    ]
    text = strips(lines, title="UF1", chance=1 / 3)
    assert "left:70.0%" in text
    assert "left:60.0%;width:20.0%" in text
    assert "left:33.3%" in text
    assert text.count("</i>strict</span>") == 1
    assert "chance: 0.33" in text
    assert "chance" not in strips(lines, title="UF1")


def test_cells_show_shares_and_counts_and_an_empty_class_a_dash():
    counts = np.array([[3.0, 1.0], [0.0, 0.0]])
    text = matrix(Confusion("casme2", "best_epoch", ("negative", "<i>"), counts))
    assert "<b>75 %</b><small>3</small>" in text
    assert "--share:0.750" in text
    assert text.count(">–</td>") == 2
    assert "CASME II" in text
    assert "best epoch (leaks)" in text
    assert "&lt;i&gt;" in text
    assert "nan" not in text


def test_broken_counts_are_means_over_seeds():
    text = matrix(Confusion("full", "strict", ("a", "b"), np.array([[2 / 3, 1 / 3], [0, 2]])))
    assert "<small>0.7</small>" in text
    assert '<span class="tag strict">strict</span>' in text
