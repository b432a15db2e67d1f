import matplotlib
import numpy as np
import pytest
from matplotlib.image import imread

from epir.core.errors import EpirError
from epir.reports.charts import Chart, Line
from epir.reports.figures import draw_chart, draw_confusions, draw_people, save_figures
from epir.reports.results import Confusion, PersonScore

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
