from pathlib import Path

import numpy as np
import pytest

from epir.core.errors import MapSetError, ProtocolError
from epir.evaluation.folds import make_folds
from epir.evaluation.samples import gather, read_maps
from epir.maps.mapset import load_maps, save_maps


def test_clips_are_in_the_order_of_their_names_with_their_own_maps(make_maps):
    sets = [load_maps(make_maps("b", corpora=("samm",))), load_maps(make_maps("a", corpora=("casme2",), seed=1))]
    found = gather(sets, "cde")
    keys = [clip.key for clip in found.clips]
    assert keys == sorted(keys) and len(keys) == 48 and found.size == 12
    assert found.classes == ("negative", "positive", "surprise")
    whole = {clip.key: place for mapset in sets for clip, place in zip(mapset.clips, mapset.maps, strict=True)}
    for sample, place in zip(found.samples, read_maps(found.samples), strict=True):
        assert np.array_equal(place, whole[sample.clip.key])
        assert sample.label == sample.clip.emotion == found.labels[sample.clip.key]


def test_a_map_set_written_anew_is_refused(make_maps):
    """Half of the folds would be of one data set and half of another."""
    found = gather([load_maps(make_maps())], "cde")
    read_maps(found.samples)
    maps, clips = load_maps(make_maps("other", seed=5)).maps, load_maps(make_maps("third")).clips
    folder = found.samples[0].folder
    save_maps(folder, maps, clips, recipe={}, force=True)
    with pytest.raises(MapSetError, match=r"was replaced or changed while it was used\n  fix: run the same command"):
        read_maps(found.samples)
    assert read_maps(gather([load_maps(folder)], "cde").samples).shape == maps.shape  # asked for anew, it is taken


def test_maps_changed_in_place_are_refused(make_maps):
    found = gather([load_maps(make_maps())], "cde")
    path = Path(found.samples[0].folder) / "maps.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(MapSetError, match="was changed or only half written"):
        read_maps(found.samples)
    path.unlink()
    with pytest.raises(MapSetError, match="was replaced or changed"):
        read_maps(found.samples)


def test_the_digest_knows_labels_but_not_the_order_of_map_sets(make_maps):
    a, b = (load_maps(make_maps(name, corpora=(name,))) for name in ("samm", "casme2"))
    other = load_maps(make_maps("other", corpora=("samm",), labels=("surprise", "negative", "positive")))
    assert gather([a, b], "cde").digest == gather([b, a], "cde").digest
    assert gather([a], "cde").digest != gather([other], "cde").digest


def test_clips_outside_the_protocol_are_counted(make_maps):
    folder = make_maps(corpora=("casme2",), labels=("disgust", "happiness", "surprise", "others"))
    found = gather([load_maps(folder)], "cde")
    assert set(found.labels.values()) == {"negative", "positive", "surprise"}
    assert found.left_out == 6 and len(found.clips) == 18


def test_map_sets_of_two_sizes_are_refused(make_maps):
    sets = [load_maps(make_maps("a", corpora=("samm",))), load_maps(make_maps("b", size=14))]
    with pytest.raises(MapSetError, match=r"differ in size: .* has 12 px maps, .* has 14 px\n  fix: prepare both"):
        gather(sets, "cde")


def test_a_map_set_without_any_clip_of_the_protocol_is_refused(make_maps):
    sets = [load_maps(make_maps(corpora=("samm",)))]
    words = "none of 24 clips takes part in the protocol sde-casme2: .*'negative'.*\n  fix: choose the protocol .* sde"
    with pytest.raises(ProtocolError, match=words):
        gather(sets, "sde-casme2")


def test_a_class_without_clips_is_refused(make_maps):
    sets = [load_maps(make_maps(labels=("negative", "surprise")))]
    with pytest.raises(ProtocolError, match=r"but no clip is positive\n  fix: give all map sets .* --protocol sde"):
        gather(sets, "cde")


def test_a_single_class_is_refused(make_maps):
    sets = [load_maps(make_maps(labels=("happy",)))]
    with pytest.raises(
        ProtocolError, match=r"all clips have the same class, 'happy'.*\n  fix: give maps of at least two classes"
    ):
        gather(sets, "sde")


def test_a_label_unknown_to_the_protocol_is_refused(make_maps):
    sets = [load_maps(make_maps(labels=("negative", "positive", "suprise")))]
    with pytest.raises(ProtocolError, match="labelled 'suprise', which the protocol cde does not know\n  fix: use"):
        gather(sets, "cde")


SPLIT = """
classes = ["negative", "positive", "surprise"]
[split]
train = ["samm/*"]
test = ["casme2/*"]
"""


def test_a_protocol_file_brings_its_split_and_its_digest(make_maps, tmp_path):
    sets = [load_maps(make_maps(name, corpora=(name,))) for name in ("samm", "casme2")]
    path = tmp_path / "mine.toml"
    path.write_text(SPLIT)
    clips = gather(sets, str(path))
    assert (clips.protocol, clips.folds) == ("mine", "split")
    (fold,) = make_folds(clips.clips, clips.labels, clips.folds)
    assert fold.name == "test" and {clip.corpus for clip in fold.test} == {"casme2"}
    path.write_text(SPLIT + "# the same\n")
    assert gather(sets, str(path)).digest == clips.digest
    path.write_text(SPLIT.replace("[split]", '[leave_out]\nwords = ["others"]\n[split]'))
    assert gather(sets, str(path)).digest != clips.digest != gather(sets, "cde").digest
    path.write_text(SPLIT.replace("casme2/*", "casme/*"))
    with pytest.raises(ProtocolError, match=r"'casme/\*' in the part test, and no clip is of that person\n  fix: "):
        gather(sets, str(path))
