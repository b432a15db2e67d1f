import pytest

from epir.reports.figures import save_figures
from epir.reports.sources import find_sources
from epir.reports.sweeps import integration_part, rate_tokens, sweep_charts
from epir.reports.tokenfigures import draw_integration


@pytest.fixture
def rates(small):
    return [
        small(f"r{merges}", integration=rate, merges=merges, epochs=2, seed=merges)
        for rate, merges in ((0.0, 0), (0.3, 5))
    ]


def test_scores_are_drawn_against_the_setting_in_both_columns(rates):
    uf1, uar = sweep_charts(rates)
    assert (uf1.name, uar.name) == ("sweep-integration-uf1", "sweep-integration-uar")
    strict, best = uf1.lines
    assert strict.x == (0.0, 30.0)
    assert strict.y == tuple(run.scores["strict"]["uf1"] for run in rates)
    assert strict.low == tuple(run.scores["strict"]["uf1_interval"][0] for run in rates)
    assert (best.name, best.kind) == ("best epoch (leaks)", "best_epoch")
    assert best.y == tuple(run.scores["best_epoch"]["uf1"] for run in rates)


def test_runs_that_are_no_sweep_have_no_charts(small):
    assert sweep_charts([small("a", epochs=1), small("b", epochs=1, model="vit")]) == []


def test_the_same_clips_are_shown_at_every_rate(rates, tmp_path):
    rows = rate_tokens(rates, clips=2)
    assert len(rows) == 2
    assert [round(tokens.rate, 2) for tokens in rows[0][1]] == [0.0, 0.31]
    sources = find_sources(rates[0])
    text = integration_part(rates, sources)
    assert text.count("<image") == 4  # two clips, two rates, no faces
    assert "31 %" in text
    assert len(save_figures({"i": draw_integration(rates, sources)}, tmp_path / "figures")) == 2


def test_models_without_tokens_have_no_pictures(small):
    runs = [small("a", tokens=False, epochs=1), small("b", tokens=False, epochs=1, integration=0.0)]
    sources = find_sources(runs[0])
    assert integration_part(runs, sources) == ""
    assert draw_integration(runs, sources) is None
