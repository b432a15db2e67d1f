import csv
import io

from epir.evaluation.comparison import Comparison
from epir.evaluation.published import comparisons
from epir.evaluation.run import Engine, evaluate
from epir.evaluation.table import Table, comparison_table, score_table


def run_of(make_maps, tmp_path, quick, **choices):
    return evaluate(
        make_maps(**choices),
        protocol="cde",
        model="ststnet",
        out=tmp_path / "run",
        folds=2,
        changes=quick,
        engine=Engine(workers=1),
    )


def test_columns_are_aligned_and_the_rule_stands_where_it_belongs():
    table = Table("a title", ("model", "UF1"), (("epir", "0.5"), ("long name", "0.25")), ("a note",), rule_before=1)
    assert table.text() == "\n".join(
        [
            "a title",
            "",
            "model      UF1",
            "---------------",
            "epir       0.5",
            "---------------",
            "long name  0.25",
            "",
            "a note",
            "",
        ]
    )
    assert table.csv() == "model,UF1\nepir,0.5\nlong name,0.25\n"


def test_both_columns_stand_beside_the_printed_scores(make_maps, tmp_path, quick):
    run = run_of(make_maps, tmp_path, quick)
    table = score_table([run], comparisons("cde"))
    assert table.title == "cde: 24 clips of 4 people, 2 folds (grouped by person), 1 seed"
    rows = list(csv.DictReader(io.StringIO(table.csv())))
    assert [row["what"] for row in rows[:2]] == ["strict", "best epoch (leaks)"]
    assert rows[0]["UF1"] == f"{run.scores['strict']['uf1']:.4f}" and " to " in rows[0]["95 % interval"]
    parts = run.scores["strict"]["parts"]["samm"]
    assert rows[0]["samm UF1 / UAR"] == f"{parts['uf1']:.4f} / {parts['uar']:.4f}"
    epir = next(row for row in rows if row["model"] == "EPIR")
    assert epir["what"] == "printed in Table 1, unknown"
    assert (epir["UF1"], epir["UAR"], epir["samm UF1 / UAR"]) == ("0.8852", "0.8944", "0.8383 / 0.8383")
    assert next(row for row in rows if row["model"] == "HTNet")["what"].endswith("best epoch (leaks)")
    text = table.text()
    assert "best epoch or unknown" in text and "STSTNet: the UAR is macro precision" in text


def test_one_corpus_has_no_parts(make_maps, tmp_path, quick):
    run = run_of(make_maps, tmp_path, quick, corpora=("samm",))
    table = score_table([run], names=["mine"])
    assert len(table.header) == 6 and table.rows[0][0] == "mine" and not table.notes


def test_a_comparison_says_difference_chance_and_settings():
    found = Comparison("runs/a", "runs/b", "strict", 0.0512, (-0.01, 0.11), 0.0312, False, ("model.width: 1 -> 2",))
    text = comparison_table([found]).text()
    assert "against runs/a" in text and "+0.0512" in text and "-0.0100 to +0.1100" in text and "0.0312" in text
    assert "paired permutation test over people, 10000 random ways" in text
    assert "runs/b differs in model.width: 1 -> 2" in text and "Only strict is a result" in text
