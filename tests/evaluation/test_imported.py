"""Predictions made elsewhere become a run that can be compared and reported, and say so."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from epir.core.errors import EpirError, EpirWarning, ProtocolError, RunError
from epir.evaluation.comparison import compare_all
from epir.evaluation.conventions import convention_rows
from epir.evaluation.imported import import_predictions
from epir.evaluation.store import open_run
from epir.evaluation.table import score_table
from epir.maps.mapset import load_maps, save_maps

CLASSES = ("negative", "positive", "surprise")


@pytest.fixture
def rows(finished):
    """The predictions of a finished run, as other software would write them."""
    with (finished / "run" / "predictions.csv").open() as file:
        return [
            {
                **{name: row[name] for name in ("corpus", "subject", "clip", "truth", *CLASSES)},
                "prediction": row["strict"],
            }
            for row in csv.DictReader(file)
        ]


@pytest.fixture
def write(tmp_path):
    def write(rows, *, without=()):
        path = tmp_path / "table.csv"
        with path.open("w", newline="") as file:
            names = [name for name in rows[0] if name not in without]
            writer = csv.DictWriter(file, names, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
        return path

    return write


def imported(table, tmp_path, **options):
    options = {"protocol": "cde", "name": "HTNet", "out": tmp_path / "imported", **options}
    return import_predictions(table, **options)


@pytest.mark.parametrize("without", [(), ("prediction",), CLASSES])
def test_the_same_predictions_give_the_same_scores(finished, rows, write, tmp_path, without):
    run = imported(write(rows, without=without), tmp_path, maps=[finished / "maps"])
    original = open_run(finished / "run")
    assert run.main == original.scores["strict"]
    assert run.name == "HTNet" and run.experiment.columns == ("not_checked",)
    assert run.experiment.clips == original.experiment.clips  # the clips were checked
    assert open_run(run.folder).scores == run.scores


def test_it_is_marked_wherever_it_is_shown(rows, write, tmp_path):
    run = imported(write(rows), tmp_path)
    assert run.scores["evaluation"] == "trained elsewhere: not checked" and "strict" not in run.scores
    text = score_table([run]).text()
    assert text.count("trained elsewhere: not checked") >= 3 and "best epoch" not in text
    assert all(row.leaks is None for row in convention_rows(run))  # neither strict nor known to leak


def test_it_is_compared_with_a_run_of_epir_and_reported_beside_it(finished, rows, write, tmp_path):
    from epir.reports.page import report

    run = imported(write(rows), tmp_path)
    (comparison,) = compare_all([open_run(finished / "run"), run])
    assert comparison.column == "not_checked" and comparison.difference == 0
    for runs in ([run], [open_run(finished / "run"), run]):
        page = report(runs, tmp_path / "page.html", force=True).read_text()
        assert "HTNet: trained elsewhere: not checked. How its epoch was chosen" in page


def test_people_are_those_of_the_map_sets(finished, rows, write, tmp_path):
    plain = load_maps(finished / "maps")
    clips = [replace(clip, extra={"person": f"P{int(clip.subject) // 2}"}) for clip in plain.clips]
    joined = save_maps(tmp_path / "joined", np.array(plain.maps), clips, recipe={}).folder
    table = write(rows)
    run = imported(table, tmp_path, maps=[joined])
    assert run.scores["people"] == 2 and {clip.person for clip in run.predictions} == {"P0", "P1"}
    with pytest.raises(RunError, match=r"casme2/00/clip_0 is of 'P0' in one and of 'casme2/00'.*\n  fix: .*person"):
        compare_all([run, imported(table, tmp_path, out=tmp_path / "plain")])


def test_scores_that_contradict_the_prediction_are_told(rows, write, tmp_path):
    swapped = {"negative": "positive", "positive": "negative", "surprise": "surprise"}
    mixed = [{**row, **{name: row[other] for name, other in swapped.items()}} for row in rows]
    with pytest.warns(
        EpirWarning, match=rf"of {len(rows)} predictions differ from the class .* first in line \d+: check"
    ):
        imported(write(mixed), tmp_path)


def test_folds_are_kept_where_they_are_known(rows, write, tmp_path):
    run = imported(write([{**row, "fold": f"fold {row['subject'][-1]}"} for row in rows]), tmp_path)
    assert {fold.fold for fold in run.folds} == {f"fold {row['subject'][-1]}" for row in rows}


def test_an_existing_run_is_replaced_with_force_alone(rows, write, tmp_path):
    imported(write(rows), tmp_path)
    with pytest.raises(EpirError, match="exists already"):
        imported(write(rows), tmp_path)
    assert len(imported(write(rows[:12]), tmp_path, force=True).predictions) == 12


def change(number, **values):
    def changed(rows):
        return [{**row, **values} if place == number else row for place, row in enumerate(rows)]

    return changed


@pytest.mark.parametrize(
    ("spoil", "problem", "fix"),
    [
        (change(2, truth="anger"), "line 4: the truth 'anger' is not a class", "negative, positive, surprise"),
        (change(0, prediction="joy"), "line 2: the prediction 'joy' is not a class", "negative, positive, surprise"),
        (change(1, positive="nan"), "line 3: a score is not finite", "give a prediction"),
        (change(1, positive="high"), "line 3: a score is not a number", "0.25"),
        (change(1, positive=""), "line 3: the score of positive is missing", "every class, or none"),
        (change(1, clip=""), "line 3: the clip has no corpus, subject or name", "every row"),
        (lambda rows: [*rows, rows[0]], "occurs twice", "one row per clip"),
        (change(5, clip="other"), "the map sets have no clip", "as in clips.csv of the map set"),
        (lambda rows: rows[1:], "lacks 1 clip of the map sets", "predict every clip"),
        (lambda rows: [{**rows[0], "truth": wrong(rows[0])}, *rows[1:]], "in the map sets", "correct the truth"),
    ],
)
def test_bad_tables_are_refused_with_a_fix(finished, rows, write, tmp_path, spoil, problem, fix):
    with pytest.raises((RunError, ProtocolError)) as error:
        imported(write(spoil(rows)), tmp_path, maps=[finished / "maps"])
    assert problem in error.value.problem and fix in error.value.fix
    assert not (tmp_path / "imported" / "scores.json").exists()


def wrong(row):
    return next(name for name in CLASSES if name != row["truth"])


def test_tables_without_rows_or_columns(rows, write, tmp_path):
    with pytest.raises(RunError, match="lacks the column 'truth'"):
        imported(write(rows, without=("truth",)), tmp_path)
    with pytest.raises(ProtocolError, match="the clip has no prediction"):
        imported(write(rows, without=("prediction", *CLASSES)), tmp_path)
    with pytest.raises(RunError, match="there is no table"):
        imported(tmp_path / "nowhere.csv", tmp_path)
    with pytest.raises(RunError, match="the method has no name"):
        imported(write(rows), tmp_path, name=" ")
    (tmp_path / "table.csv").write_text("corpus,subject,clip,truth,prediction\n")
    with pytest.raises(RunError, match="has no rows"):
        imported(tmp_path / "table.csv", tmp_path)
