import io
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.image import imread

from epir.core.errors import MapSetError
from epir.maps.mapset import load_maps, save_maps
from epir.reports.pictures import (
    apex_face,
    centred,
    find_sources,
    flow_picture,
    grey_picture,
    integrated_picture,
    jpeg,
    png,
    positive_picture,
    signed_picture,
    wheel_picture,
)


def test_png_keeps_every_pixel():
    picture = np.random.default_rng(0).integers(0, 256, (7, 5, 3), dtype=np.uint8)
    back = imread(io.BytesIO(png(picture)), format="png")
    assert np.array_equal((back * 255).round().astype(np.uint8), picture)
    assert png(picture) == png(picture.copy())


def test_jpeg_is_close():
    picture = np.full((16, 16, 3), (200, 120, 40), np.uint8)
    back = imread(io.BytesIO(jpeg(picture)), format="jpeg")
    assert np.abs(back.astype(int) - picture).max() < 12


def test_signs_have_their_colours_and_zero_is_white():
    picture = signed_picture(np.array([[-1.0, 0.0, 1.0, 9.0]]), 1.0)[0]
    assert picture[0, 2] > picture[0, 0]  # blue
    assert tuple(picture[1]) == (255, 255, 255)
    assert picture[2, 0] > picture[2, 2]  # orange
    assert tuple(picture[3]) == tuple(picture[2])


@pytest.mark.parametrize("draw", [positive_picture, grey_picture])
def test_a_flat_channel_is_white_and_more_is_darker(draw):
    assert (draw(np.full((3, 3), 0.4)) == 255).all()
    shades = draw(np.array([[0.0, 0.5, 1.0]])).sum(axis=-1)[0].astype(int)
    assert shades[0] > shades[1] > shades[2]


def test_a_channel_stretched_to_positive_values_is_centred_on_its_median():
    assert np.median(centred(np.array([0.0, 0.5, 0.5, 1.0]))) == 0
    signed = np.array([-0.2, 0.1])
    assert centred(signed) is signed


def test_still_maps_are_white_and_directions_differ():
    still = flow_picture(np.zeros((3, 4, 4), np.float32))
    assert (still == 255).all()
    field = np.zeros((3, 4, 4), np.float32)
    field[0], field[0, :2] = 1.0, -1.0
    moving = flow_picture(field)
    assert tuple(moving[0, 0]) != tuple(moving[3, 0])
    assert wheel_picture().shape == (112, 112, 3)


def test_integration_leaves_single_patches_alone_and_averages_groups():
    picture = np.random.default_rng(1).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    singles = [[patch] for patch in range(16)]
    assert np.array_equal(integrated_picture(picture, singles, 4), picture)
    merged = integrated_picture(picture, [[0, 5], *([p] for p in range(16) if p not in (0, 5))], 4)
    assert np.array_equal(merged[:2, :2], merged[2:4, 2:4])
    mean = (picture[:2, :2].astype(float) + picture[2:4, 2:4]) / 2
    assert np.abs(merged[:2, :2] - mean).max() <= 0.5
    assert np.array_equal(merged[:2, 2:], picture[:2, 2:])


def test_maps_are_found_where_the_run_recorded_them(small):
    run = small()
    sources = find_sources(run)
    mapset = load_maps(run.folder.parent / "maps")
    assert sources.note == ""
    key = mapset.clips[3].key
    assert np.array_equal(sources.map_of(key), mapset.maps[3])
    assert sources.map_of("nobody/x/y") is None
    assert sources.face_of("nobody/x/y") is None


def test_maps_that_are_gone_leave_a_note(fresh, tmp_path):
    run = fresh(epochs=1)
    (tmp_path / "maps").rename(tmp_path / "elsewhere")
    sources = find_sources(run)
    assert sources.places == {}
    assert sources.note == "The map set was not found, so pictures are left out; give it with --maps."
    assert find_sources(run, [tmp_path / "elsewhere"]).places


def test_recorded_maps_that_have_changed_are_not_used_and_others_are_refused(fresh, tmp_path):
    run = fresh(epochs=1)
    mapset = load_maps(tmp_path / "maps")
    save_maps(tmp_path / "maps", np.array(mapset.maps) + 1, mapset.clips, recipe={}, force=True)
    assert find_sources(run).places == {}
    with pytest.raises(MapSetError, match=r"maps does not hold the maps of .*run\n  fix: give the map sets"):
        find_sources(run, [tmp_path / "maps"])


def test_a_face_is_cut_out_where_there_are_frames(with_faces):
    run, drawn = with_faces
    sources = find_sources(run)
    face = sources.face_of(drawn.key)
    assert face.shape == (168, 168, 3)
    assert face.dtype == np.uint8
    assert face.std() > 10


def test_a_clip_without_a_crop_or_readable_frames_has_no_face(with_faces, tmp_path):
    _, drawn = with_faces
    (tmp_path / "img30.png").write_bytes(b"not a picture")
    assert apex_face(drawn, None) is not None
    for extra in ({}, {**drawn.extra, "frames": str(tmp_path)}):
        assert apex_face(replace(drawn, extra=extra), None) is None
