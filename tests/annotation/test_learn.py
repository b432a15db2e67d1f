import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

sys.path.insert(0, str(Path(__file__).parent))
from coded_studies import accept

from epir.annotation.learn import (
    SETTING,
    average_precision,
    candidates_to_review,
    decided_candidates,
    held_out,
    learn_ranking,
    ranking,
)
from epir.annotation.records import StudyMovement
from epir.annotation.schema import StudyError
from epir.annotation.study import Study
from epir.core.seeds import generator

PEOPLE = 4


def decided_study(folder, *, useful, people=PEOPLE, each=25):
    """Candidates with two measures; the first predicts the decision if `useful`; the spotter ranks at random."""
    study, random = Study.create(folder), generator(0, "decided study", useful, people)
    for number in range(people):
        recording = study.add_recording(f"../p{number}.mp4", f"{number:064d}", frames=10_000, fps=100.0)
        rows, truth = [], []
        for place in range(each):
            is_true = place % 5 == 0
            measures = {"isolated": float(random.normal(2.0 * is_true * useful)), "step": float(random.normal())}
            chance = float(random.uniform())
            rows.append(
                StudyMovement(0, recording.id, 0, 200 * place, 200 * place + 9, 200 * place + 19,
                         probability=chance, measures=measures)
            )  # fmt: skip
            truth.append(is_true)
        for id, is_true in zip(study.add_movements(rows), truth, strict=True):
            study.decide("anna", id, state="accept" if is_true else "reject")
    return study


def test_a_useful_measure_is_learnt_and_ranks_the_list(tmp_path):
    with decided_study(tmp_path / "study", useful=True) as study:
        before = ranking(study)
        assert before == {each.id: each.probability for each in study.movements()}
        result = learn_ranking(study, least=100)
        after = ranking(study)
        truth = {each.movement: each.state == "accept" for each in study.decisions()}
    assert result.kept and result.precision_after > 0.6 > result.precision_before
    assert (result.candidates, result.accepted, result.people) == (100, 20, 4)
    nine = next(each for each in result.savings if each.recall == 0.9)
    assert nine.after < nine.before
    assert f"{nine.after} candidates instead of {nine.before} ({nine.before - nine.after} fewer)" in result.text
    ids = list(after)
    flags = np.array([truth[id] for id in ids], int)
    assert average_precision(flags, np.array([after[id] for id in ids])) > 0.6


def test_a_ranking_that_is_no_better_is_not_kept(tmp_path):
    with decided_study(tmp_path / "study", useful=False) as study:
        study.set_setting(SETTING, {"weights": {"isolated": 1.0, "constant": 0.0}})  # of fewer decisions
        for each in study.decisions():  # the spotter knows them all
            movement = study.movement(each.movement)
            sure = 0.9 if each.state == "accept" else 0.1
            study.add_movements([StudyMovement(**{**vars(movement), "probability": sure})])
        result = learn_ranking(study, least=100)
        assert not result.kept and result.precision_before == 1.0
        assert "not better" in result.text
        assert set(ranking(study).values()) == {0.9, 0.1}


def test_the_spotter_s_own_probability_is_never_changed(tmp_path):
    with decided_study(tmp_path / "study", useful=True) as study:
        before = study.movements()
        learn_ranking(study, least=100)
        assert study.movements() == before


def test_people_are_held_out():
    """Measures that identify the person do not generalise: each person's candidates are all true or all false."""
    persons = ["a"] * 10 + ["b"] * 10 + ["c"] * 10
    measures = np.eye(3).repeat(10, axis=0)
    truth = np.array([1] * 10 + [0] * 10 + [1] * 10)
    answers = held_out(measures, truth, persons)
    assert len(set(answers[:10].round(6))) == 1
    assert answers[10] > 0.9  # trained on true ones only


def test_too_few_decisions_are_refused(tmp_path):
    with decided_study(tmp_path / "few", useful=True, people=2, each=10) as study:
        with pytest.raises(StudyError, match=r"20 candidates decided; learning needs 200"):
            learn_ranking(study)
        for each in study.movements():
            study.decide("anna", each.id, state="reject")
        with pytest.raises(StudyError, match="all candidates have the same decision"):
            learn_ranking(study, least=10)
    alone = decided_study(tmp_path / "alone", useful=True, people=1, each=10)
    with alone as study, pytest.raises(StudyError, match=r"one person.*\n.*study.toml"):
        learn_ranking(study, least=10)


def test_only_unanimous_or_adjudicated_decisions_are_learnt_from(tmp_path):
    with decided_study(tmp_path / "study", useful=True, people=2, each=5) as study:
        first, second, third, *_ = [each.id for each in study.movements()]
        study.decide("ben", first, state="reject")  # anna accepts it
        accept(study, "ben", second)  # anna rejects it
        accept(study, "agreed", second)
        study.decide("anna", third, state="unsure")
        study.mark("anna", 1, 5000, 5010, 5020)
        candidates, truth = decided_candidates(study)
    known = dict(zip([each.id for each in candidates], truth.tolist(), strict=True))
    assert first not in known and third not in known and known[second] == 1
    assert len(known) == 8


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.1, 0.2, 0.5, 0.9])), min_size=1, max_size=20))
def test_average_precision_is_scikit_learn_s(rows):
    truth, scores = np.array([int(a) for a, _ in rows]), np.array([b for _, b in rows])
    if truth.any():
        assert average_precision(truth, scores) == pytest.approx(average_precision_score(truth, scores))


@given(st.lists(st.booleans(), min_size=1, max_size=20), st.sampled_from([0.5, 0.9, 1.0]))
def test_candidates_to_review_is_minimal(truth, recall):
    flags, scores = np.array(truth, int), -np.arange(len(truth), dtype=float)
    if flags.any():
        seen = candidates_to_review(flags, scores, recall)
        assert flags[:seen].sum() >= recall * flags.sum() - 1e-9 > flags[: seen - 1].sum() - 1e-9
