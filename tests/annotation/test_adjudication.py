import json
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from coded_studies import accept, new_study

from epir.annotation.adjudication import AGREED, adopt, cases, disagreements, first_fields
from epir.annotation.export import export_study
from epir.annotation.records import UnitCode


@pytest.fixture
def study(tmp_path):
    """Anna and Ben on the four candidates of p1: same, other emotion, other presence, and not seen by Ben."""
    with new_study(tmp_path / "study") as study:
        accept(study, "anna", 1, emotion="fear", onset=98, units=[UnitCode(1, "", "A")])
        accept(study, "ben", 1, emotion="fear", onset=104, units=[UnitCode(1, "", "B")])
        accept(study, "anna", 2, emotion="fear", units=[UnitCode(1)])
        accept(study, "ben", 2, emotion="surprise", units=[UnitCode(1), UnitCode(2)], kind="macro", apex=335)
        accept(study, "anna", 3)
        study.decide("ben", 3, state="reject")
        accept(study, "anna", 4)
        yield study


def agreed(study):
    return {each.movement: each for each in study.decisions("agreed")}


def test_every_difference_is_named(study):
    cases = disagreements(study)
    assert [(case.movement, case.differs) for case in cases] == [
        (2, ("kind", "emotion", "units", "time")),
        (3, ("presence",)),
    ]
    assert {name: each.emotion for name, each in cases[0].decisions.items()} == {"anna": "fear", "ben": "surprise"}
    assert json.loads(json.dumps(asdict(cases[0])))["decisions"]["anna"]["emotion"] == "fear"


def test_unanimous_decisions_are_adopted_once(study):
    assert adopt(study) == 1
    assert adopt(study) == 0
    (one,) = study.decisions("agreed")
    assert (one.movement, one.state, one.emotion, one.onset) == (1, "accept", "fear", 101)
    assert one.units == (UnitCode(1, "", "A"),)


def test_a_case_is_settled_by_what_agreed_decides(study):
    study.decide(AGREED, 2, state="accept", emotion="surprise")
    assert [case.settled is not None for case in disagreements(study)] == [True, False]
    study.decide(AGREED, 3, state="reject")
    assert [case.settled.state for case in disagreements(study)] == ["accept", "reject"]


def test_shared_fields_fill_only_the_first_decision(study):
    study.decide("anna", 2, kind="macro")  # as ben says
    first = first_fields(study, 2)
    assert first["kind"] == "macro" and "units" not in first  # which differ
    assert first["apex"] == 328  # the median of 320 and 335
    study.decide(AGREED, 2, **first)  # a draft: nothing is decided yet
    assert first_fields(study, 2) == {}


@pytest.mark.parametrize("emotion", ["fear", "surprise"])
def test_one_candidate_is_one_case_however_its_ends_were_moved(study, emotion):
    """30 of 40 frames match; 19 of 40 do not, but it is the same candidate."""
    accept(study, "anna", 5, emotion="fear")
    accept(study, "ben", 5, emotion=emotion, onset=112, apex=120, offset=130)
    study.decide("carl", 5, state="reject")
    (case,) = [case for case in cases(study) if case.recording == 2]
    assert case.differs == ("presence", *(["emotion"] if emotion != "fear" else []), "time")
    assert [decision.state for decision in case.decisions.values()] == ["accept", "accept", "reject"]
    assert (case.movements, case.onset, case.offset) == ((5,), 106, 134)
    assert case.movement in [each.movement for each in disagreements(study)]
    adopt(study)
    assert 5 not in agreed(study)
    assert "left out: 1 movement that only one coder has seen" in export_study(study, study.folder / "a.csv").notes


def test_two_marks_of_one_movement_are_one_case(study):
    mine = study.mark("anna", 1, 1500, 1510, 1530, emotion="fear")
    yours = study.mark("ben", 1, 1502, 1512, 1534, emotion="anger")
    (case,) = [each for each in disagreements(study) if each.onset > 1400]
    assert case.movements == (mine.id, yours.id)
    assert (case.movement, case.differs) == (mine.id, ("emotion",))


def test_a_mark_differs_only_if_the_other_coder_has_coded_the_recording(study):
    study.mark("anna", 1, 1500, 1510, 1530)
    study.mark("anna", 2, 1500, 1510, 1530)  # ben has not coded this recording
    (case,) = [each for each in disagreements(study) if each.onset > 1400]
    assert (case.recording, case.differs, case.decisions["ben"]) == (1, ("presence",), None)


def test_a_candidate_replaced_by_a_mark_is_the_same_movement(study):
    study.decide("anna", 5, state="reject")  # and marks it better
    better = study.mark("anna", 2, 96, 120, 142, emotion="fear")
    accept(study, "ben", 5, emotion="fear")
    adopt(study)
    assert [case for case in disagreements(study) if case.recording == 2] == []
    assert 5 in agreed(study) and better.id not in agreed(study)


def test_unsure_movements_are_disagreements(study):
    study.decide("anna", 5, state="unsure")
    study.decide("ben", 5, state="unsure")
    assert [case.differs for case in disagreements(study) if case.movement == 5] == [("presence",)]
