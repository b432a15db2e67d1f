"""One run by every convention, on a run small enough to work out by hand."""

from pathlib import Path

import pytest

from epir.evaluation.conventions import (
    FOLD_MEAN,
    IMPORTED,
    IMPORTED_MEAN,
    LAST,
    ONCE,
    ONE_EPOCH,
    PERSON_MEAN,
    PERSON_POOLED,
    convention_rows,
    convention_table,
    epoch_rows,
)
from epir.evaluation.experiment import ELSEWHERE, Experiment
from epir.evaluation.fold import ClipRecord, FoldRecord
from epir.evaluation.store import Run
from epir.models.registry import model_settings

CLASSES = ("a", "b")
# Truth and the answers after three epochs; person 1 is best after the first epoch, person 2 after the second.
ANSWERS = {
    ("1", "p"): ("a", "aab"),
    ("1", "q"): ("b", "baa"),
    ("2", "r"): ("a", "baa"),
    ("2", "s"): ("a", "bab"),
}


def make_run(answers=ANSWERS, *, grouped=False, seeds=1, folds="loso", seen=False):
    def record(subject, clip, truth, said):
        numbers = tuple(CLASSES.index(each) for each in said)
        return ClipRecord("casme2", subject, clip, truth, said[-1], said[-1], 0, subject, (0.5, 0.5), by_epoch=numbers)

    clips = [record(subject, clip, *each) for (subject, clip), each in answers.items()]
    people = ["all"] if grouped else sorted({clip.subject for clip in clips})
    records = tuple(
        FoldRecord(person, seed, "", tuple(clip for clip in clips if person in ("all", clip.subject)))
        for seed in range(seeds)
        for person in people
    )
    experiment = Experiment("sde", CLASSES, model_settings("ststnet"), folds=folds, seeds=seeds, seen_in_training=seen)
    return Run(Path("run"), experiment, records, {"clips": 4, "people": 2}, {})


def by_name(run):
    return {row.name: row for row in convention_rows(run)}


def scores(row):
    return (row.uf1, row.uar, row.accuracy)


def test_every_convention_by_hand():
    """Pooled counts are (truth a: 3 clips, truth b: 1 clip), as [[aa, ab], [ba, bb]]."""
    rows = by_name(make_run())
    # Last: p b wrong, q a wrong, r a right, s b wrong: [[1, 2], [1, 0]]: F1 2/5 and 0, recall 1/3 and 0.
    assert scores(rows[LAST]) == pytest.approx((0.2, 1 / 6, 0.25), abs=1e-6)
    # Best of each person: person 1 after epoch 1 (2 of 2), person 2 after epoch 2 (2 of 2): all right.
    assert scores(rows[PERSON_POOLED]) == (1, 1, 1)
    assert scores(rows[PERSON_MEAN]) == (1, 1, 1)
    # One epoch: the first by UF1, p q right, r s wrong: [[1, 2], [0, 1]]: F1 1/2 and 1/2, recall 1/3 and 1.
    assert scores(rows[ONE_EPOCH]) == pytest.approx((0.5, 2 / 3, 0.5), abs=1e-6)
    # Folds: person 1 [[0, 1], [1, 0]] is 0; person 2 [[1, 1], [0, 0]] has class a alone: F1 2/3, recall 1/2.
    assert scores(rows[FOLD_MEAN]) == pytest.approx((1 / 3, 0.25, 0.25), abs=1e-6)
    assert [row.name for row in rows.values() if row.leaks] == [PERSON_POOLED, PERSON_MEAN, ONE_EPOCH]


def test_a_person_s_best_scores_may_be_of_different_epochs():
    answers = {("1", "p"): ("a", "aa"), ("1", "q"): ("a", "ab"), ("1", "r"): ("a", "ab"), ("1", "s"): ("b", "ab")}
    row = by_name(make_run(answers))[PERSON_MEAN]
    # Epoch 1 [[3, 0], [1, 0]]: UF1 3/7, UAR 1/2, 3 of 4 right. Epoch 2 [[1, 2], [0, 1]]: F1 1/2, 1/2; recall 1/3, 1.
    assert scores(row) == pytest.approx((0.5, 2 / 3, 0.75), abs=1e-6)


def test_epochs_are_chosen_per_person_in_grouped_folds_too():
    alone, grouped = by_name(make_run()), by_name(make_run(grouped=True))
    for name in (LAST, PERSON_POOLED, PERSON_MEAN, ONE_EPOCH):
        assert grouped[name] == alone[name]
    assert FOLD_MEAN not in grouped  # there is one fold


def test_means_over_seeds_of_equal_seeds_are_the_same():
    assert convention_rows(make_run(seeds=3)) == convention_rows(make_run())


def test_a_run_without_epochs_has_nothing_to_choose():
    answers = {key: (truth, said[-1]) for key, (truth, said) in ANSWERS.items()}
    run = make_run(answers)
    plain = Run(run.folder, run.experiment, tuple(map(without_epochs, run.folds)), run.scores, {})
    assert [row.name for row in convention_rows(plain)] == [LAST, FOLD_MEAN]
    assert epoch_rows(plain) == []


def without_epochs(fold):
    from dataclasses import replace

    return replace(fold, clips=tuple(replace(clip, by_epoch=()) for clip in fold.clips))


def test_zero_shot_has_one_row():
    run = make_run(folds="zero-shot")
    zero = Run(run.folder, run.experiment, tuple(map(without_epochs, run.folds)), run.scores, {})
    assert [(row.name, row.leaks) for row in convention_rows(zero)] == [(ONCE, False)]
    text = convention_table(zero).text()
    assert "predicted once, no training  strict" in text and "epoch is chosen" in text and "last epoch" not in text


def test_imported_predictions_are_not_checked_rather_than_leaking():
    run = make_run(folds=ELSEWHERE)
    imported = Run(run.folder, run.experiment, tuple(map(without_epochs, run.folds)), run.scores, {})
    assert [(row.name, row.leaks) for row in convention_rows(imported)] == [(IMPORTED, None), (IMPORTED_MEAN, None)]
    table = convention_table(imported)
    assert [row.cells[1] for row in table.rows] == ["trained elsewhere: not checked"] * 2
    assert [row.strong for row in table.rows] == [True, False] and {row.kind for row in table.rows} == {"best_epoch"}
    assert not any(words in table.text() for words in ("leaks", "strict", "last epoch"))


def test_everything_leaks_where_people_were_seen_in_training():
    assert all(row.leaks for row in convention_rows(make_run(seen=True)))


def test_the_curve_by_hand():
    strict, best = zip(*((row.strict, row.best_so_far) for row in epoch_rows(make_run())), strict=True)
    # Epoch 2: q alone is wrong: [[3, 0], [1, 0]]: F1 6/7 and 0.
    assert strict == pytest.approx((0.5, 3 / 7, 0.2), abs=1e-6)
    assert best == pytest.approx((0.5, 1, 1), abs=1e-6)


def test_a_fold_with_fewer_epochs_keeps_its_last_answer():
    answers = ANSWERS | {("2", "r"): ("a", "ba"), ("2", "s"): ("a", "ba")}
    assert [row.strict for row in epoch_rows(make_run(answers))][2] == pytest.approx(1 / 3, abs=1e-6)


def test_the_first_row_and_the_second_are_the_columns_of_a_real_run(finished):
    from epir.evaluation.store import open_run

    run = open_run(finished / "run")
    rows = by_name(run)
    for name, column in ((LAST, "strict"), (PERSON_POOLED, "best_epoch")):
        assert scores(rows[name]) == tuple(run.scores[column][each] for each in ("uf1", "uar", "accuracy"))
    assert epoch_rows(run)[-1].strict == run.scores["strict"]["uf1"]
    assert epoch_rows(run)[-1].best_so_far == run.scores["best_epoch"]["uf1"]


def test_the_table_marks_what_leaks_and_says_who_does_it():
    table = convention_table(make_run())
    assert [row.cells[1] for row in table.rows] == ["strict", "leaks", "leaks", "leaks", "strict"]
    assert "CapsuleNet" in table.text() and "HTNet" in table.text() and "0.6667" in table.text()
