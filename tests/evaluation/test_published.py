import pytest

from epir.evaluation.published import RUNGS, comparisons, ladder, load_published
from epir.models.settings import PRESETS


def pair(table, method, part):
    (found,) = [each for each in load_published() if (each.table, each.method, each.part) == (table, method, part)]
    return found.uf1_text, found.uar_text


@pytest.mark.parametrize(
    ("table", "method", "part", "scores"),
    [
        (1, "LBP-TOP", "smic", ("0.2000", "0.5280")),
        (1, "STSTNet", "full", ("0.7353", "0.7605")),
        (1, "FRL-DGT", "casme2", ("0.919", "0.903")),
        (1, "HTNet", "full", ("0.8603", "0.8475")),
        (1, "EPIR", "full", ("0.8852", "0.8944")),
        (1, "EPIR", "samm", ("0.8383", "0.8383")),
        (4, "+Token Integration", "samm", ("0.8303", "0.8303")),  # as published: not the same as in Table 1
        (2, "μ-BERT", "casme3", ("0.5604", "0.6125")),
        (3, "SLSTT", "smic", ("0.7240", "0.7371")),
        (3, "EPIR", "casme2", ("0.8712", "0.8466")),
        (4, "Baseline", "full", ("0.7325", "0.7214")),
        (5, "+DTSM", "casme3", ("0.4497", "0.4792")),
    ],
)
def test_scores_are_as_published(table, method, part, scores):
    assert pair(table, method, part) == scores


def test_every_table_has_all_its_rows():
    counts = {table: sum(each.table == table for each in load_published()) for table in range(6)}
    assert counts == {0: 4, 1: 17 * 4, 2: 5, 3: 26, 4: 6 * 4, 5: 6}  # 0: since the paper


def test_every_row_says_what_it_is():
    kinds = {"no epochs", "last epoch", "best epoch (leaks)", "unknown"}
    assert {each.selection for each in load_published()} == kinds
    notes = {each.method: each.note for each in comparisons("cde")}
    assert "macro precision" in notes["STSTNet"] and "139.58 M" in notes["HTNet"] and "suspect" in notes["LBP-TOP"]


def test_the_strongest_results_since_the_paper_say_how_their_epoch_was_chosen():
    since = {
        (each.method, each.protocol): (each.uf1_text, each.selection) for each in load_published() if not each.table
    }
    assert since["CausalNet", "cde"] == ("0.8976", "best epoch (leaks)")
    assert since["Ra-ICL", "cde"] == ("0.8805", "unknown")
    assert since["MER-CLIP", "sde-casme3"] == ("0.7832", "best epoch (leaks)")
    htnet = next(each for each in comparisons("sde-casme3") if each.method == "HTNet")
    assert "687 clips of 87 people" in htnet.note


def test_sizes_are_as_published():
    epir, htnet = (next(each for each in load_published() if each.method == name) for name in ("EPIR", "HTNet"))
    assert (epir.params, epir.flops, htnet.params, htnet.flops) == (7.03, 84.03, 438.51, 214.6)


def test_scores_are_shares():
    assert all(0 < each.uf1 < 1 and (each.uar is None or 0 < each.uar < 1) for each in load_published())
    assert all(each.uar for each in load_published() if each.table)


def test_the_rungs_are_the_presets_in_order():
    assert tuple(RUNGS) == tuple(PRESETS)
    methods = list(dict.fromkeys(each.method for each in ladder("cde")))
    assert methods == list(RUNGS.values())


def test_a_protocol_has_its_own_rows():
    assert {each.table for each in comparisons("sde-samm")} == {3}
    assert {each.part for each in comparisons("sde-samm")} == {"samm"}
    assert comparisons("sde") == ladder("sde") == ()
