from dataclasses import replace

import numpy as np
import pytest

from epir.flow.map import cut_face
from epir.flow.recipe import get_recipe
from epir.frames.picture import read_picture
from epir.maps.contact_sheet import GAP, HEADER, TILE, TITLE, contact_sheet, contact_sheets, panels
from epir.maps.mapset import MapSet
from epir.maps.prepare import prepare_clip

RECIPE = get_recipe()


@pytest.fixture
def prepared(face_clips):
    done = [prepare_clip(clip, RECIPE) for clip in face_clips(2, 2)]
    return MapSet(np.stack([one.map for one in done]), tuple(one.clip for one in done), meta={})


def test_one_picture_per_person(prepared, tmp_path):
    files = contact_sheets(prepared, RECIPE, tmp_path / "sheets")
    assert [file.name for file in files] == ["drawn_s0.png", "drawn_s1.png"]
    assert sorted(path.name for path in (tmp_path / "sheets").iterdir()) == ["drawn_s0.png", "drawn_s1.png"]
    sheet = read_picture(files[0])
    assert np.array_equal(sheet, contact_sheet(prepared.clips[:2], RECIPE))


def test_a_row_shows_five_pictures(prepared):
    sheet = contact_sheet(prepared.clips[:2], RECIPE)
    assert sheet.shape == (HEADER + 2 * (TITLE + TILE + GAP) + GAP, 5 * (TILE + GAP) + GAP, 3)
    pictures, peak = panels(prepared.clips[1], RECIPE)
    top = HEADER + TITLE + TILE + GAP + TITLE
    for column, picture in enumerate(pictures):
        left = GAP + column * (TILE + GAP)
        assert np.array_equal(sheet[top : top + TILE, left : left + TILE], picture)
    assert 0.01 < peak < 0.05  # 3 px of an 84 px face, a good part of which farneback sees


def test_the_faces_are_those_that_the_flow_saw(prepared):
    from epir.faces.align import Crop

    clip = prepared.clips[0]
    frame = read_picture(f"{clip.extra['frames']}/img1.jpg")
    seen = cut_face(frame, Crop.from_text(clip.extra["crop"]), RECIPE)[21:-21, 21:-21]
    assert np.array_equal(panels(clip, RECIPE)[0][0], seen)


def test_frames_that_are_gone_leave_a_line_of_text(prepared):
    gone = replace(prepared.clips[0], extra={**prepared.clips[0].extra, "frames": "nowhere"})
    sheet = contact_sheet([gone], RECIPE)
    assert (sheet[HEADER + TITLE :] == 255).all()
    assert (sheet[HEADER : HEADER + TITLE] < 100).any()
