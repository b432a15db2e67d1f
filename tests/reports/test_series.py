from epir.reports.series import in_order, is_ladder, rate_tokens, run_titles, series_title, sweep_charts, sweep_of


def test_runs_that_differ_in_blocks_alone_are_a_sweep_in_the_order_of_their_blocks(small):
    runs = [small(f"r{blocks}", blocks=blocks, epochs=1, pictures=False) for blocks in (13, 7, 9)]
    assert sweep_of(runs) == "blocks"
    ordered = in_order(runs)
    assert [run.experiment.model.blocks for run in ordered] == [7, 9, 13]
    assert run_titles(ordered) == ["blocks 7", "blocks 9", "blocks 13"]
    assert series_title(ordered) == "epir, sweep over the number of blocks,"


def test_the_rate_of_integration_is_in_per_cent(small):
    runs = [small(f"r{rate}", integration=rate, epochs=1, pictures=False) for rate in (0.0, 0.3)]
    assert sweep_of(runs) == "integration"
    assert run_titles(runs) == ["integration 0 %", "integration 30 %"]


def test_runs_that_differ_in_two_settings_are_no_sweep(small):
    runs = [small("a", epochs=1, pictures=False), small("b", blocks=7, integration=0.0, epochs=1, pictures=False)]
    assert sweep_of(runs) is None
    assert run_titles(runs) == ["epir (a)", "epir (b)"]
    assert series_title(runs) == "2 runs"


def test_rungs_are_a_ladder_from_the_lowest(small):
    runs = [small("a", model="epir", epochs=1, pictures=False), small("b", model="vit", epochs=1, pictures=False)]
    assert is_ladder(runs)
    assert [run.name for run in in_order(runs)] == ["vit", "epir"]
    assert not is_ladder(runs[:1])
    assert not is_ladder([runs[0], runs[0]])


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
    assert sweep_charts([small("a", epochs=1, pictures=False), small("b", epochs=1, model="vit", pictures=False)]) == []


def test_a_clip_of_a_sweep_has_its_tokens_at_every_rate(rates):
    rows = rate_tokens(rates, clips=2)
    assert len(rows) == 2
    assert [round(tokens.rate, 2) for tokens in rows[0][1]] == [0.0, 0.31]
