import numpy as np

from epir.reports.matrices import matrix
from epir.reports.results import Confusion


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
