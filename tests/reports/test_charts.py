import re
from itertools import pairwise

import pytest

from epir.reports.charts import MOST_POINTS, Chart, Line, chart_figure, chart_svg, ticks


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
