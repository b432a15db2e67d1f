import numpy as np
from matplotlib.image import imread

from epir.reports.examples import choose_examples
from epir.reports.figures import save_figures
from epir.reports.sources import Sources, find_sources
from epir.reports.tokenfigures import draw_tokens


def test_tokens_are_drawn_on_the_map_and_differ_with_the_tokens(small, tmp_path):
    pictures = []
    for merges in (0, 6):
        run = small(f"r{merges}", merges=merges, epochs=2)
        figure = draw_tokens(choose_examples(run, right=1, wrong=0), find_sources(run))
        pictures.append(imread(save_figures({f"t{merges}": figure}, tmp_path / "figures")[0]))
    assert pictures[0].shape == pictures[1].shape
    assert not np.array_equal(*pictures)


def test_without_maps_or_tokens_there_is_no_figure(small):
    run = small(epochs=1)
    assert draw_tokens(choose_examples(run), Sources({})) is None
    bare = small("bare", tokens=False, epochs=1)
    assert draw_tokens(choose_examples(bare), find_sources(bare)) is None
