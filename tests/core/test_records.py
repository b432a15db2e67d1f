import dataclasses

import pytest

from epir.core.errors import LeakError, MapSetError
from epir.core.records import Clip, Fold, Prediction, fill_people, plain_name, probably_one


def test_two_corpora_may_have_a_subject_of_the_same_name():
    a, b = Clip("samm", "01", "x", "anger"), Clip("casme2", "01", "x", "anger")
    assert a.person == "samm/01" != b.person
    assert a.key == "samm/01/x" != b.key


def test_a_fold_knows_whom_training_never_sees():
    fold = Fold("samm/01", train=(), test=(Clip("samm", "01", "x", "anger"), Clip("samm", "01", "y", "anger")))
    assert fold.held_out == {"samm/01"}


def test_a_prediction_carries_the_name_of_its_clip():
    prediction = Prediction("samm", "01", "x", "a", "b", "a", 0, "samm/01", (0.2, 0.8))
    assert (prediction.key, prediction.person) == ("samm/01/x", "samm/01")
    with pytest.raises(dataclasses.FrozenInstanceError):
        prediction.truth = "b"


@pytest.mark.parametrize(
    ("one", "other"),
    [("Anna", "anna "), ("01", "1"), ("sub01", "Sub 1"), ("casme2/sub_01", "CASME2/sub1"), ("s11-000001", "s11-001")],
)
def test_two_spellings_of_one_name(one, other):
    assert plain_name(one) == plain_name(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("1", "10"), ("casme2/01", "samm/01"), ("s1-11", "s11-1"), ("anna", "anne"), ("+", "-"), ("0", "")],
)
def test_different_people_stay_different(one, other):
    assert plain_name(one) != plain_name(other)


def test_groups_are_named_and_lone_names_are_not():
    assert probably_one(["m/Anna", "m/anna ", "m/1", "m/01", "m/ben", "n/1"]) == [
        ("m/01", "m/1"),
        ("m/Anna", "m/anna "),
    ]


def clips_of(*people):
    return [
        Clip("lab", subject, str(place), "joy", extra={"person": name}) for place, (subject, name) in enumerate(people)
    ]


def test_an_empty_person_is_that_of_the_other_clips_of_the_subject():
    filled = fill_people(clips_of(("1", "anna"), ("1", " "), ("2", "")), error=LeakError)
    assert [clip.person for clip in filled] == ["anna", "anna", "lab/2"]


def test_one_subject_with_two_people_is_refused_with_the_clips_or_rows():
    clips = clips_of(("1", "anna"), ("2", "x"), ("1", "ben"))
    words = r"the subject lab/1 is 'anna' and 'ben' in the column person"
    with pytest.raises(LeakError, match=words + r" \(lab/1/0, lab/1/2\)\n  fix: correct the column person"):
        fill_people(clips, error=LeakError)
    with pytest.raises(MapSetError, match=words + r" \(row 2, row 4\)"):
        fill_people(clips, error=MapSetError, first_row=2)
