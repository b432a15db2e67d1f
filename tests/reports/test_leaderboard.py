"""The tables of README and docs, from recorded results."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from epir.core.errors import EpirError
from epir.reports.leaderboard import fill_blocks, fill_pages, main, read_results
from epir.reports.record import record_bench, record_result

ROOT = Path(__file__).parents[2]
PAGE = "# Page\n\n<!-- results: {} -->\noutdated\n<!-- /results -->\n\nend\n"
MEASURED = {
    "versions": {"epir": "0.3.0", "commit": "abc", "torch": "2"},
    "machine": {"processor": "a processor", "cores": 2},
    "ratios": [
        {"area": "flow", "name": "dis, 84 px", "value": 0.077, "target": None, "detail": "bump 0.2", "reached": None},
        {"area": "flow", "name": "speed", "value": 2.0, "target": 1.5, "detail": "", "reached": True},
    ],
}


def test_blocks_are_filled_and_stay_filled(result):
    better = {
        **result,
        "name": "better",
        "scores": {**result["scores"], "strict": {**result["scores"]["strict"], "uf1": 1.0}},
    }
    filled = fill_blocks(PAGE.format("scores sde"), [result, better])
    assert filled.startswith("# Page\n") and filled.endswith("<!-- /results -->\n\nend\n") and "outdated" not in filled
    assert filled.index("| better |") < filled.index("| run | 0.")  # the best first
    assert f"{result['scores']['strict']['uf1']:.4f}" in filled
    assert fill_blocks(filled, [result, better]) == filled
    assert "better" not in fill_blocks(PAGE.format("scores sde run"), [result, better])


@pytest.mark.parametrize(
    ("view", "words"),
    [
        ("conventions", "CapsuleNet"),
        ("commands", "epir evaluate maps --protocol sde"),
        ("scores", "LOSO"),
        ("short", "LOSO, 2 seeds"),
    ],
)
def test_every_view_shows_what_was_recorded(result, view, words):
    result = {**result, "evaluation": "loso"}
    assert words in fill_blocks(PAGE.format(f"{view} sde"), [result])


def test_a_run_that_was_continued_elsewhere_names_every_commit_and_machine(home, tmp_path):
    from epir.evaluation.store import open_run

    run = open_run(home / "run")
    here = {**run.environment, "versions": {"epir": "1", "commit": "a" * 40}, "machine": {"processor": "A", "cores": 2}}
    there = {"versions": {"epir": "1", "commit": "b" * 40}, "machine": {"processor": "B", "cores": 4}}
    moved = replace(run, environment={**here, "continued": [{"workers": 4}, there, {"machine": there["machine"]}]})
    path, _ = record_result(moved, tmp_path, "epir evaluate maps")
    result = json.loads(path.read_text())
    assert result["continued"] == [there, {"machine": there["machine"]}]
    filled = fill_blocks(PAGE.format("commands sde"), [result])
    assert f"| 1 | {'a' * 12}; {'b' * 12} |" in filled and "| A, 2 cores, cpu; B, 4 cores, cpu |" in filled


def test_both_columns_stand_over_the_epochs(result):
    result = {**result, "epochs": [[number, number / 100, number / 50] for number in range(1, 13)]}
    lines = fill_blocks(PAGE.format("epochs sde"), [result]).splitlines()
    assert "| run | UF1 after epoch | 1 | 5 | 10 | 12 |" in lines
    assert "| run | strict | 0.0100 | 0.0500 | 0.1000 | 0.1200 |" in lines
    assert "| run | best epoch (leaks) | 0.0200 | 0.1000 | 0.2000 | 0.2400 |" in lines


def test_the_ladder_stands_beside_what_the_paper_prints(result):
    settings = {**result["settings"], "model": {"name": "vit+dtsm"}}
    filled = fill_blocks(PAGE.format("ladder cde"), [{**result, "protocol": "cde", "settings": settings}])
    assert "vit+dtsm (+DTSM)" in filled and "0.7736" in filled and "0.7325" not in filled


def test_each_action_unit_has_a_row(result):
    unit = {"there": 12, "found": 20.0, "f1": 0.6875, "interval": [0.353, 0.836], "always": 0.1132}
    result = {**result, "target": "units", "units": {"units": {"1": unit, "2": {**unit, "there": 16}}}}
    filled = fill_blocks(PAGE.format("each-unit sde"), [result])
    assert "| run | 1 | 12 | 0.6875 | 0.353 to 0.836 | 0.1132 |" in filled and "| run | 2 | 16 |" in filled


def test_the_units_of_each_corpus_have_a_column(result):
    mean = {"all": {"f1": 0.4, "interval": [0.3, 0.5]}, "cd6me": {"f1": 0.45}}
    parts = {"casme2": {"mean": {"cd6me": {"f1": 0.5018}}}, "samm": {"mean": {"cd6me": {"f1": 0.3987}}}}
    units = {"clips": 20, "mean": mean, "always_positive": {"all": 0.1, "cd6me": 0.2}, "parts": parts}
    one = {**result, "target": "units", "units": units}
    other = {**one, "name": "other", "units": {**units, "parts": {"samm": parts["samm"]}}}
    filled = fill_blocks(PAGE.format("units sde"), [one, other])
    assert "of CD6ME, CASME II | mean F1 of CD6ME, SAMM |" in filled
    assert "| 0.4500 | 0.2000 | 0.5018 | 0.3987 |" in filled and "| 0.4500 | 0.2000 | – | 0.3987 |" in filled


def test_runs_of_several_map_sets_name_their_maps(result):
    other = {**result, "name": "other", "command": "epir evaluate second third --protocol sde --zero-shot"}
    assert "maps |" not in fill_blocks(PAGE.format("scores sde"), [result])
    filled = fill_blocks(PAGE.format("scores sde"), [result, other])
    assert "| maps | 3 |" in filled and "| second, third | 3 |" in filled


def test_the_evaluation_is_in_the_title_or_has_a_column(result):
    seen = {
        **result,
        "name": "seen",
        "main": "seen_in_training",
        "scores": {"seen_in_training": result["scores"]["strict"]},
    }
    assert "| run | UF1, strict | 95 % interval |" in fill_blocks(PAGE.format("scores sde"), [result])
    filled = fill_blocks(PAGE.format("scores sde"), [result, seen])
    assert "| run | evaluation | UF1 | 95 % interval |" in filled
    assert "| seen | seen in training (leaks) |" in filled and "| run | strict |" in filled


def test_a_benchmark_is_recorded_and_shown_by_its_name(result, tmp_path):
    path = record_bench(MEASURED, tmp_path / "bench-flow.json", f"epir bench {tmp_path}/corpus --only flow --json")
    (bench,) = read_results(tmp_path)
    assert bench["command"] == "epir bench corpus --only flow" and str(tmp_path) not in path.read_text()
    filled = fill_blocks(PAGE.format("bench bench-flow"), [result, bench])
    assert "| dis, 84 px | 0.08 | – | bump 0.2 |" in filled and "| speed | 2.00 | 1.5 |" in filled
    assert "commit abc; a processor, 2 cores, torch 2" in filled
    assert "Nothing is recorded yet." in fill_blocks(PAGE.format("bench other"), [result, bench])
    assert "bench-flow" not in fill_blocks(PAGE.format("scores sde"), [result, bench])


def test_several_benchmarks_share_one_table_in_the_order_asked_for(tmp_path):
    record_bench(MEASURED, tmp_path / "bench-a.json", "epir bench a.mp4 --only flow")
    record_bench(MEASURED, tmp_path / "bench-b.json", "epir bench b.mp4 --only flow")
    filled = fill_blocks(PAGE.format("bench bench-b bench-a"), read_results(tmp_path))
    assert filled.index("| b | speed | 2.00 | 1.5 |") < filled.index("| a | dis, 84 px | 0.08 | – | bump 0.2 |")
    assert "- b: epir bench b.mp4 --only flow; epir 0.3.0, commit abc" in filled


def test_what_was_not_recorded_is_not_shown(result):
    for words in ("scores cde", "units sde", "ladder sde", "scores sde nobody"):
        assert "\nNothing is recorded yet.\n" in fill_blocks(PAGE.format(words), [result])


@pytest.mark.parametrize(
    ("page", "problem"),
    [(PAGE.format("best cde"), "there is no table 'best cde'"), ("<!-- results: scores cde -->\n", "does not end")],
)
def test_blocks_that_cannot_be_filled(page, problem):
    with pytest.raises(EpirError, match=problem):
        fill_blocks(page, [])


def test_pages_are_filled_where_they_changed(result, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("no block\n")
    (tmp_path / "docs" / "one.md").write_text(PAGE.format("scores sde"))
    assert fill_pages(tmp_path) == [tmp_path / "docs" / "one.md"]
    assert fill_pages(tmp_path) == []


def test_a_block_may_name_several_protocols(result):
    other = {**result, "name": "other", "protocol": "cde48"}
    filled = fill_blocks(PAGE.format("scores sde,cde48"), [result, other])
    assert "| run | " in filled and "| other | " in filled and "cde48 or sde: 24 clips" in filled
    assert "| other | " not in fill_blocks(PAGE.format("scores sde"), [result, other])


def pages(root, result, words):
    """A project with one result and a page with one block."""
    for name in ("docs", "results"):
        (root / name).mkdir(exist_ok=True)
    (root / "README.md").write_text(PAGE.format(words))
    (root / "results" / "run.json").write_text(json.dumps(result))


@pytest.mark.parametrize(
    ("words", "notes"),
    [
        ("scores sde", []),
        ("scores sde run", []),
        ("scores sde ststnet run epir", ["{page}: the block scores sde has no result for ststnet, epir"]),
        ("bench run", ["{page}: the block bench run has no result for run", "{unshown}"]),
        ("scores cde", ["{unshown}"]),
    ],
)
def test_results_that_no_page_shows_are_named(result, tmp_path, capsys, words, notes):
    pages(tmp_path, result, words)
    unshown = "no page shows the result run (protocol sde): name it in a block <!-- results: ... -->"
    assert main([str(tmp_path)]) == 0
    lines = [f"note: {note.format(page=tmp_path / 'README.md', unshown=unshown)}\n" for note in notes]
    assert capsys.readouterr().err == "".join(lines)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (None, "run.json is damaged: "),
        (
            lambda result: [result.pop(key) for key in ("scores", "seeds")],
            "run.json is incomplete: it has no seeds, scores",
        ),
        (lambda result: result.update(main="best"), "run.json is incomplete: it has no scores of best"),
        (lambda result: result.update(format="epir-bench/1"), "run.json is incomplete: it has no ratios"),
    ],
)
def test_a_bad_file_among_the_results_is_named_and_nothing_is_filled(result, tmp_path, capsys, change, problem):
    if change is not None:
        change(result)
    pages(tmp_path, result, "scores sde")
    if change is None:
        (tmp_path / "results" / "run.json").write_text("{")
    assert main([str(tmp_path)]) == 2
    captured = capsys.readouterr().err
    assert problem in captured and captured.endswith("\nfix: record it again with --record, or remove it\n")
    assert "outdated" in (tmp_path / "README.md").read_text()


def test_a_run_without_epochs_shows_no_best_epoch(result):
    plain = {**result, "epochs": [], "conventions": result["conventions"][:1]}
    assert "| – |" in fill_blocks(PAGE.format("scores sde"), [plain])
    assert "Nothing is recorded yet." in fill_blocks(PAGE.format("conventions sde"), [plain])


def test_the_tables_of_the_pages_are_what_the_results_say():
    results = read_results(ROOT / "results")
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = page.read_text(encoding="utf-8")
        assert fill_blocks(text, results) == text, f"{page.name} differs from results/: run make results"


def test_the_line_that_the_page_on_rerunning_promises_is_the_recorded_one():
    strict = json.loads((ROOT / "results" / "zero-shot.json").read_text())["scores"]["strict"]
    low, high = strict["uf1_interval"]
    numbers = f"{strict['uf1']:.4f}  {low:.3f} to {high:.3f}  {strict['uar']:.4f}    {strict['accuracy']:.4f}"
    assert (
        f"epir (zero-shot)  none      shipped        strict      {numbers}" in (ROOT / "docs" / "rerun.md").read_text()
    )
