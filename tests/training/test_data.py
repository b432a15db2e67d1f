import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from epir.core.errors import ConfigError, TrainingError
from epir.training.data import LabelledMaps, shuffled, steps_per_epoch


@given(st.integers(2, 60), st.integers(1, 70))
def test_an_epoch_sees_every_clip_once_and_no_batch_has_a_single_clip(count, batch):
    parts = list(shuffled(count, batch, torch.Generator().manual_seed(3)))
    assert sorted(torch.cat(parts).tolist()) == list(range(count))
    sizes = [len(part) for part in parts]
    assert len(sizes) == steps_per_epoch(count, batch)
    assert all(size == batch for size in sizes[:-1]) and sizes[-1] <= batch + 1
    assert sizes[-1] > 1 or batch == 1


def test_full_batches_come_first_as_in_the_paper():
    assert [len(part) for part in shuffled(435, 256, torch.Generator())] == [256, 179]
    assert [len(part) for part in shuffled(65, 32, torch.Generator())] == [32, 33]  # no batch of one clip


def test_labels_become_the_numbers_of_their_classes():
    clips = LabelledMaps.of(np.zeros((3, 3, 2, 2)), ["b", "a", "b"], ("a", "b"))
    assert clips.labels.tolist() == [1, 0, 1] and clips.maps.dtype == torch.float32 and len(clips) == 3


def test_a_label_that_is_no_class_is_refused():
    with pytest.raises(ConfigError, match="there is no class 'surprize'\n  fix: did you mean 'surprise'"):
        LabelledMaps.of(np.zeros((1, 3, 2, 2)), ["surprize"], ("negative", "surprise"))


def test_class_weights_make_present_classes_count_the_same():
    clips = LabelledMaps.of(np.zeros((4, 3, 2, 2)), ["a", "a", "a", "b"], ("a", "b", "never"))
    weights = clips.class_weights()
    assert weights.tolist() == pytest.approx([2 / 3, 2, 0])
    assert weights[clips.labels].mean() == pytest.approx(1)


def test_the_file_behind_the_maps_is_not_touched():
    maps = np.zeros((1, 3, 2, 2), dtype=np.float32)
    LabelledMaps.of(maps, ["a"], ("a", "b")).maps.add_(1)
    assert not maps.any()


def test_one_clip_is_too_few():
    with pytest.raises(TrainingError, match="1 clips are too few to train on\n  fix: give two clips or more"):
        LabelledMaps.of(np.zeros((1, 3, 2, 2)), ["a"], ("a", "b")).check_enough()
