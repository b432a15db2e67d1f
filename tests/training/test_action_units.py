from dataclasses import replace

import torch

from epir.training.action_units import UNITS, UnitHead, read_units
from epir.training.fit import predict
from epir.training.recipe import TrainingSettings
from epir.training.train import fit

RECIPE = TrainingSettings(epochs=4, batch=8, lr=0.01)


def test_annotations_are_read_as_annotators_write_them():
    found = read_units(["4+L14", "R12", "", "1 + 2 + 25", "AU6"])
    named = [[unit for unit, there in zip(UNITS, row.tolist(), strict=True) if there == 1] for row in found]
    assert named == [[4, 14], [12], [], [1, 2, 25], [6]]
    assert found[2].isnan().all() and not found[[0, 1, 3, 4]].isnan().any()
    assert read_units([]).shape == (0, len(UNITS))


def test_clips_without_an_annotation_say_nothing():
    torch.manual_seed(0)
    head, features = UnitHead(5), torch.randn(3, 5, requires_grad=True)
    truth = read_units(["4", "", "12"])
    loss = head.loss(features, truth)
    loss.backward()
    assert torch.isfinite(loss) and (features.grad[1] == 0).all() and (features.grad[0] != 0).any()
    torch.testing.assert_close(loss, head.loss(features[[0, 2]], truth[[0, 2]]))
    assert head.loss(features, read_units(["", "", ""])) == 0


def test_units_are_learnt_besides_the_classes_and_leave_nothing_behind(make_tiny, two_classes, tmp_path):
    annotated = replace(two_classes, units=read_units(["1+2" if label == 0 else "12" for label in two_classes.labels]))
    plain, helped, again = make_tiny(), make_tiny(), make_tiny()
    names = set(plain.state_dict())
    fit(plain, annotated, RECIPE)
    fit(helped, annotated, replace(RECIPE, action_units=1.0))
    fit(again, annotated, replace(RECIPE, action_units=1.0), checkpoint=tmp_path / "state")
    assert set(helped.state_dict()) == names
    assert (predict(helped, two_classes.maps) != predict(plain, two_classes.maps)).any()
    assert (predict(helped, two_classes.maps) == predict(again, two_classes.maps)).all()
    fit(again := make_tiny(), annotated, replace(RECIPE, action_units=1.0), checkpoint=tmp_path / "state")
    assert (predict(helped, two_classes.maps) == predict(again, two_classes.maps)).all()  # a kept head goes on


def test_without_annotations_the_setting_does_nothing(make_tiny, two_classes):
    one, two = make_tiny(), make_tiny()
    fit(one, two_classes, RECIPE)
    fit(two, two_classes, replace(RECIPE, action_units=1.0))
    assert (predict(one, two_classes.maps) == predict(two, two_classes.maps)).all()
