import json

import pytest

from epir.core.errors import EpirError, RunError
from epir.evaluation.engines import Engine
from epir.evaluation.run import evaluate
from epir.evaluation.store import open_store
from epir.reports.page import all_figures, report
from epir.reports.sources import find_sources


def test_the_page_of_a_run_lies_in_its_folder_and_is_not_replaced_unless_told(small):
    run = small(epochs=2)
    path = report(run.folder)
    assert path == run.folder / "report.html"
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(EpirError, match=r"report.html exists already\n  fix: .*--force"):
        report(run.folder)
    assert report(run, force=True) == path


def test_the_same_run_gives_the_same_page(small, tmp_path):
    run = small(epochs=2)
    first, second = (report(run, tmp_path / f"{name}.html").read_bytes() for name in "ab")
    assert first == second


def test_tables_and_figures_go_beside_it(small, tmp_path):
    run = small(corpora={"casme2": 4}, epochs=2)
    path = report(run, tmp_path / "out" / "r.html", latex=True, markdown=True, figures=tmp_path / "figures")
    uf1 = f"{run.scores['strict']['uf1']:.4f}"
    assert uf1 in path.with_suffix(".tex").read_text(encoding="utf-8")
    assert uf1 in path.with_suffix(".md").read_text(encoding="utf-8")
    names = {file.name for file in (tmp_path / "figures").iterdir()}
    stems = ("confusion-strict", "confusion-best-epoch-leaks", "people", "tokens", "training-loss", "held-out-accuracy")
    assert names == {f"{stem}.{kind}" for stem in stems for kind in ("png", "svg")}


def test_a_folder_of_runs_stands_for_all_of_them(small, tmp_path):
    for blocks in (7, 9):
        small(f"sweep/blocks-{blocks}", blocks=blocks, epochs=1)
    path = report(tmp_path / "sweep")
    assert path == tmp_path / "sweep" / "report.html"
    assert "sweep over the number of blocks" in path.read_text(encoding="utf-8")


def test_a_sweep_has_figures_of_its_own(small):
    runs = [small("a", integration=0.0, epochs=1), small("b", integration=0.3, epochs=1)]
    names = all_figures(runs, find_sources(runs[0])).keys()
    assert names >= {"sweep-integration-uf1", "sweep-integration-uar", "integration"}


def test_a_page_of_several_runs_lies_beside_the_first_and_a_folder_takes_it_too(small, tmp_path):
    runs = [small("a", epochs=1), small("b", epochs=1, model="vit")]
    assert report(runs) == tmp_path / "report.html"
    (tmp_path / "place").mkdir()
    assert report([runs[0], runs[0]], tmp_path / "place") == tmp_path / "place" / "report.html"


def test_a_run_without_finished_folds_is_refused(small, tmp_path):
    experiment = small(epochs=1).experiment
    with open_store(tmp_path / "begun", experiment):
        pass
    with pytest.raises(RunError, match=r"begun is not finished: 0 folds are done\n  fix: give the same command again"):
        report(tmp_path / "begun")


def test_runs_of_different_protocols_are_refused_before_anything_is_written(small, tmp_path):
    runs = [small("a", epochs=1), small("b", epochs=1, protocol="sde")]
    with pytest.raises(RunError, match=r"their protocols are cde .* and sde"):
        report(runs, tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()


def test_runs_of_different_clips_are_refused(small, invented_clips, tmp_path):
    runs = [small("a", epochs=1), small("b", epochs=1, clips=invented_clips[:-1])]
    with pytest.raises(RunError, match="they differ in their clips"):
        report(runs, tmp_path / "r.html")


def test_no_run_at_all_is_refused(tmp_path):
    with pytest.raises(RunError, match=r"there is no run to report\n  fix: name one or more folders"):
        report([])
    with pytest.raises(RunError, match="there is no run"):
        report(tmp_path / "nothing")


def test_a_place_that_cannot_be_written_is_named(small, tmp_path):
    run = small(epochs=1)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"cannot write .*file.*\n  fix: give a place that can be written to"):
        report(run, tmp_path / "file" / "r.html")


def test_damaged_tokens_are_named_with_their_fold(small):
    run = small(epochs=2)
    for path in (run.folder / "folds").glob("*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        for clip in record["clips"]:
            clip["tokens"]["groups"] = [[0]]
            clip["tokens"]["selected"] = [5]
        path.write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(RunError, match="has damaged token records"):
        report(run.folder)


@pytest.mark.slow
def test_a_run_that_was_really_evaluated_is_reported_with_its_tokens(small, tmp_path):
    small("invented", epochs=1)  # only its map set is used
    small_model = ("model.width=24", "model.feed_forward=24", "model.blocks=7", "training.epochs=2")
    run = evaluate(
        tmp_path / "maps",
        protocol="cde",
        out=tmp_path / "runs" / "a",
        folds=2,
        changes=small_model,
        engine=Engine(workers=1),
    )
    text = report(run.folder).read_text(encoding="utf-8")
    assert f"{run.scores['strict']['uf1']:.4f}" in text
    assert "<figcaption>merged to 10</figcaption>" in text
    assert "<image" in text
    assert "--set model.width=24" in text
