from pathlib import Path

import numpy as np
import pytest

from epir.core.errors import MapSetError, ProtocolError
from epir.evaluation.folds import make_folds
from epir.evaluation.samples import gather, read_maps
from epir.maps.mapset import load_maps, save_maps


def test_clips_are_in_the_order_of_their_names_with_their_own_maps(make_maps):
    sets = [load_maps(make_maps("b", corpora=("samm",))), load_maps(make_maps("a", corpora=("casme2",), seed=1))]
    clips = gather(sets, "cde")
    keys = [clip.key for clip in clips.clips]
    assert keys == sorted(keys) and len(keys) == 48 and clips.size == 12
    assert clips.classes == ("negative", "positive", "surprise")
    whole = {clip.key: place for mapset in sets for clip, place in zip(mapset.clips, mapset.maps, strict=True)}
    for sample, place in zip(clips.samples, read_maps(clips.samples), strict=True):
        assert np.array_equal(place, whole[sample.clip.key])
        assert sample.label == sample.clip.emotion == clips.labels[sample.clip.key]


def test_a_map_set_written_anew_is_refused(make_maps):
    """Half of the folds would be of one data set and half of another."""
    gathered = gather([load_maps(make_maps())], "cde")
    read_maps(gathered.samples)
    maps, clips = load_maps(make_maps("other", seed=5)).maps, load_maps(make_maps("third")).clips
    folder = gathered.samples[0].folder
    save_maps(folder, maps, clips, recipe={}, force=True)
    with pytest.raises(MapSetError, match=r"was replaced or changed while it was in use\n  fix: restore"):
        read_maps(gathered.samples)
    assert read_maps(gather([load_maps(folder)], "cde").samples).shape == maps.shape  # asked for anew, it is taken


def test_maps_changed_in_place_are_refused(make_maps):
    clips = gather([load_maps(make_maps())], "cde")
    path = Path(clips.samples[0].folder) / "maps.npy"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(MapSetError, match="was changed or only half written"):
        read_maps(clips.samples)
    path.unlink()
    with pytest.raises(MapSetError, match="was replaced or changed"):
        read_maps(clips.samples)


def test_the_digest_knows_labels_but_not_the_order_of_map_sets(make_maps):
    a, b = (load_maps(make_maps(name, corpora=(name,))) for name in ("samm", "casme2"))
    other = load_maps(make_maps("other", corpora=("samm",), labels=("surprise", "negative", "positive")))
    assert gather([a, b], "cde").digest == gather([b, a], "cde").digest
    assert gather([a], "cde").digest != gather([other], "cde").digest


def test_clips_outside_the_protocol_are_counted(make_maps):
    folder = make_maps(corpora=("casme2",), labels=("disgust", "happiness", "surprise", "others"))
    clips = gather([load_maps(folder)], "cde")
    assert set(clips.labels.values()) == {"negative", "positive", "surprise"}
    assert clips.left_out == 6 and len(clips.clips) == 18


def test_map_sets_of_two_sizes_are_refused(make_maps):
    sets = [load_maps(make_maps("a", corpora=("samm",))), load_maps(make_maps("b", size=14))]
    with pytest.raises(MapSetError, match=r"differ in size: .* has 12 px maps, .* has 14 px\n  fix: prepare both"):
        gather(sets, "cde")


@pytest.mark.parametrize(
    ("choices", "protocol", "words"),
    [
        (
            {"corpora": ("samm",)},
            "sde-casme2",
            "none of 24 clips takes part in the protocol sde-casme2: .*'negative'.*\n  fix: choose the protocol .* sde",
        ),
        (
            {"labels": ("negative", "surprise")},
            "cde",
            "no clip is positive\n  fix: give all map sets .* sde",
        ),
        ({"labels": ("happy",)}, "sde", "all clips have the same class, 'happy'.*\n  fix: give maps of at least two"),
        (
            {"labels": ("negative", "positive", "suprise")},
            "cde",
            "labelled 'suprise', which the protocol cde does not know\n  fix: use",
        ),
    ],
)
def test_labels_that_the_protocol_cannot_use_are_refused(make_maps, choices, protocol, words):
    with pytest.raises(ProtocolError, match=words):
        gather([load_maps(make_maps(**choices))], protocol)


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
    with pytest.raises(ProtocolError, match=r"'casme/\*' in the part test, but no clip shows that person\n  fix: "):
        gather(sets, str(path))
