import numpy as np
import pytest
import torch
from torch import nn

from epir.core.errors import CheckpointError
from epir.core.records import Clip
from epir.final import alignment
from epir.final.alignment import STEPS, align, certainties, choose_steps, move, step_words
from epir.maps.mapset import load_maps, save_maps
from epir.models.registry import create_model

CLASSES = ("negative", "positive", "surprise")
EXPECTED_ROW = 12


class Expecting(nn.Module):
    """A stand-in for a network that is surest where something happens in one row of the map."""

    def __init__(self):
        super().__init__()
        self.strength = nn.Parameter(torch.tensor(8.0))
        self.settings = type("Settings", (), {"classes": 3})

    def forward(self, maps):
        there = maps[:, 2, EXPECTED_ROW].mean(-1, keepdim=True)  # (n, 1)
        return self.strength * torch.cat([there, torch.zeros(len(maps), 2)], dim=1)


def maps_with_motion_in(rows):
    maps = torch.zeros(len(rows), 3, 28, 28)
    maps[torch.arange(len(rows)), 2, torch.tensor(rows)] = 1.0
    return maps


def test_the_first_step_is_none_and_changes_nothing():
    assert STEPS[0] == 0 and len(set(STEPS)) == len(STEPS)
    maps = torch.randn(2, 3, 28, 28)
    assert torch.equal(move(maps, torch.zeros(2)), maps)


def test_a_face_moves_by_fourteenths_of_the_map():
    moved = move(maps_with_motion_in([16, 10]), torch.tensor([-2, 1]))
    assert moved[0, 2, 12].eq(1).all() and moved[1, 2, 12].eq(1).all() and moved.sum() == 56


def test_steps_are_named_in_words():
    assert step_words(0) == "as they are"
    assert step_words(-2) == "moved up by 2/14 of the side" and step_words(1) == "moved down by 1/14 of the side"


def test_the_weights_are_surest_where_the_face_lies_as_they_expect():
    scores = certainties(Expecting(), maps_with_motion_in([12, 16, 8]))
    assert [STEPS[place] for place in scores.argmax(0)] == [0, -2, 2]


def test_each_person_follows_the_others():
    #                      ana  ana  ben  cy
    certainty = np.array([[0.9, 0.9, 0.5, 0.5], [0.1, 0.1, 0.8, 0.8]])
    # ana: ben and cy say 1, her own clips would say 0; ben: the mean of ana, ana and cy is 0.77 against 0.33
    assert choose_steps(certainty, ["a/ana", "a/ana", "a/ben", "a/cy"]).tolist() == [1, 1, 0, 0]


def test_somebody_who_is_alone_counts():
    assert choose_steps(np.array([[0.5, 0.6], [0.9, 0.8]]), ["a/dee", "a/dee"]).tolist() == [1, 1]


def test_maps_stay_where_they_are_unless_much_is_gained():
    certainty = np.array([[0.80, 0.80], [0.815, 0.815]])
    assert choose_steps(certainty, ["a/1", "a/2"]).tolist() == [0, 0]


@pytest.fixture
def model(tmp_path):
    return create_model("ststnet").save_pretrained(tmp_path / "model", labels=CLASSES)


def test_the_moved_maps_are_a_map_set_of_the_same_clips(tmp_path, model, monkeypatch):
    clips = [Clip("theirs", f"{n % 4}", f"{n}", CLASSES[n % 3], extra={"action_units": "12"}) for n in range(8)]
    maps = maps_with_motion_in([16] * 8).numpy()
    save_maps(tmp_path / "theirs", maps, clips, recipe={"name": "theirs"})
    monkeypatch.setattr(alignment, "load_network", lambda folder: Expecting())
    aligned = align(tmp_path / "theirs", tmp_path / "aligned", weights=model)
    written = load_maps(tmp_path / "aligned")
    assert written.clips == tuple(clips) and np.array_equal(written.maps, maps_with_motion_in([12] * 8).numpy())
    assert aligned.moves == {-2: 4}
    assert written.meta["recipe"] == {"name": "theirs", "moved_down": {"-2": 4}}
    assert aligned.before == pytest.approx(1 / 3) and aligned.after > 0.99


def test_weights_for_other_maps_are_refused(tmp_path):
    save_maps(tmp_path / "theirs", np.zeros((1, 3, 28, 28), np.float32), [Clip("c", "1", "1", "")], recipe={})
    model = create_model("ststnet", map_size=12).save_pretrained(tmp_path / "model", labels=CLASSES)
    with pytest.raises(CheckpointError, match=r"for 12 px maps, but the map set has 28 px\n  fix: prepare the maps"):
        align(tmp_path / "theirs", tmp_path / "aligned", weights=model)
