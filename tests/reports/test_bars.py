from epir.reports.bars import Mark, Strip, person_bars, strips
from epir.reports.results import PersonScore


def test_a_bar_is_as_long_as_the_score_and_says_both_columns():
    text = person_bars([PersonScore("casme2/<b>", 3, 0.25, 0.5)])
    assert "width:25.0%" in text
    assert "left:50.0%" in text
    assert 'title="strict 0.250, best epoch (leaks) 0.500"' in text
    assert "3 clips" in text
    assert "<b>" not in text


def test_the_corpus_is_named_only_where_there_are_two():
    one, other = PersonScore("casme2/sub01", 1, 1, 1), PersonScore("samm/006", 1, 1, 1)
    assert ">sub01</span>" in person_bars([one])
    assert ">casme2/sub01</span>" in person_bars([one, other])


def test_marks_stand_at_their_scores_and_the_legend_names_each_kind_once():
    lines = [
        Strip("a", (Mark("strict", 0.7, "strict", (0.6, 0.8)), Mark("best epoch (leaks)", 0.9, "best_epoch"))),
        Strip("b", (Mark("strict", 0.5, "strict"),)),
    ]
    text = strips(lines, title="UF1", chance=1 / 3)
    assert "left:70.0%" in text
    assert "left:60.0%;width:20.0%" in text
    assert "left:33.3%" in text
    assert text.count("</i>strict</span>") == 1
    assert "guessing" in text
    assert "guessing" not in strips(lines, title="UF1")
