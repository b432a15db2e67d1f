from dataclasses import replace

import numpy as np
import pytest

from epir.core.errors import MapSetError
from epir.maps.mapset import load_maps, save_maps
from epir.reports.sources import find_sources


def test_maps_are_found_where_the_run_remembers_them(small, tmp_path):
    run = small(epochs=1)
    sources = find_sources(run)
    mapset = load_maps(tmp_path / "maps")
    assert sources.note == ""
    key = mapset.clips[3].key
    assert np.array_equal(sources.map_of(key), mapset.maps[3])
    assert sources.map_of("nobody/x/y") is None
    assert sources.face_of("nobody/x/y") is None


def test_maps_that_are_gone_leave_a_note(small, tmp_path):
    run = small(epochs=1)
    (tmp_path / "maps").rename(tmp_path / "elsewhere")
    sources = find_sources(run)
    assert sources.places == {}
    assert sources.note == "The map set is not at hand, so pictures are left out; give it with --maps."
    assert find_sources(run, [tmp_path / "elsewhere"]).places


def test_remembered_maps_that_have_changed_are_not_used(small, tmp_path):
    run = small(epochs=1)
    mapset = load_maps(tmp_path / "maps")
    save_maps(tmp_path / "maps", np.array(mapset.maps) + 1, mapset.clips, recipe={}, force=True)
    assert find_sources(run).places == {}


def test_other_maps_are_refused(small, tmp_path):
    run = small(epochs=1)
    mapset = load_maps(tmp_path / "maps")
    save_maps(tmp_path / "others", np.array(mapset.maps) * 2, mapset.clips, recipe={})
    with pytest.raises(
        MapSetError, match=r"others does not hold the maps that .*run was made with\n  fix: give the map sets"
    ):
        find_sources(run, [tmp_path / "others"])


def test_a_face_is_cut_out_where_the_frames_are_at_hand(with_faces):
    run, drawn = with_faces
    sources = find_sources(run)
    face = sources.face_of(drawn.key)
    assert face.shape == (168, 168, 3)
    assert face.dtype == np.uint8
    assert face.std() > 10


def test_frames_that_cannot_be_read_cost_a_picture_only(with_faces, tmp_path):
    run, drawn = with_faces
    for picture in (tmp_path / "frames").rglob("*.png"):
        picture.write_bytes(b"not a picture")
    assert find_sources(run).face_of(drawn.key) is None


def test_a_clip_without_a_crop_has_no_face(with_faces, tmp_path):
    run, drawn = with_faces
    sources = find_sources(run)
    mapset, row = sources.places[drawn.key]
    bare = tuple(replace(clip, extra={}) for clip in mapset.clips)
    sources.places[drawn.key] = (replace(mapset, clips=bare), row)
    assert sources.face_of(drawn.key) is None
