import dataclasses

import pytest

from epir.core.records import Clip, Fold, Prediction


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
