from dataclasses import replace
from itertools import combinations
from typing import get_args

import cv2
import numpy as np
import pytest

from epir.synthetic.drawing.canvas import Canvas
from epir.synthetic.drawing.portrait import draw_portrait
from epir.synthetic.identity import Beard, Clothes, Glasses, Hair, draw_identity


def drawn(person, size):
    return draw_portrait(person, Canvas.frame(size)).flat()


def test_the_same_person_is_drawn_the_same(person):
    np.testing.assert_array_equal(drawn(person, 96), drawn(person, 96))


@pytest.mark.parametrize("size", [96, 200, 333])
def test_a_face_looks_the_same_at_any_size(person, size):
    large = cv2.resize(drawn(person, 400), (96, 96), interpolation=cv2.INTER_AREA)
    other = cv2.resize(drawn(person, size), (96, 96), interpolation=cv2.INTER_AREA)
    assert np.abs(large - other).mean() < 0.02


def test_different_people_look_different():
    faces = [drawn(draw_identity(0, f"{number:03d}"), 96)[20:80, 25:71] for number in range(1, 13)]
    nearest = min(np.abs(a - b).mean() for a, b in combinations(faces, 2))
    assert nearest > 0.03


STYLES = [("hair", one) for one in get_args(Hair)] + [("beard", one) for one in get_args(Beard)]
STYLES += [("glasses", one) for one in get_args(Glasses)] + [("clothes", one) for one in get_args(Clothes)]


@pytest.mark.parametrize(("what", "style"), STYLES)
def test_every_style_can_be_drawn(person, what, style):
    portrait = draw_portrait(replace(person, looks=replace(person.looks, **{what: style})), Canvas.frame(96))
    picture = portrait.flat()
    assert np.isfinite(picture).all() and picture.min() > -0.01 and picture.max() < 1.05
    for layer in (portrait.eyes, portrait.head, *([] if portrait.glasses is None else [portrait.glasses])):
        assert layer[..., 3].min() >= 0 and layer[..., 3].max() <= 1.0001
        assert (layer[..., :3] <= layer[..., 3:] * 1.05 + 0.02).all(), "premultiplied"


def test_styles_change_what_they_should(person):
    plain = replace(person, looks=replace(person.looks, beard="none", glasses="none", hair="short", tone=0.2))
    picture = drawn(plain, 192)
    canvas = Canvas.frame(192)
    chin = (
        slice(round(canvas.row(24)), round(canvas.row(27))),
        slice(round(canvas.column(-3)), round(canvas.column(3))),
    )
    bearded = drawn(replace(plain, looks=replace(plain.looks, beard="full", hair_colour=(0.1, 0.08, 0.07))), 192)
    assert bearded[chin].mean() < picture[chin].mean() - 0.1
    dark = drawn(replace(plain, looks=replace(plain.looks, tone=0.95)), 192)
    assert dark[chin].mean() < picture[chin].mean() - 0.2


def test_there_is_an_eye_in_each_hole(person, portrait):
    g, canvas = person.geometry, portrait.canvas
    for side in (-1, 1):
        row, column = round(canvas.row(g.eye_y + 0.3)), round(canvas.column(side * g.eye_x))
        assert portrait.head[row, column, 3] < 0.6 and portrait.eyes[row, column, 3] > 0.99


def test_the_crop_canvas_shows_the_same_face_as_the_frame(person):
    frame = Canvas.frame(528)  # 8 px per face unit
    left, top = round(frame.column(-14) + 0.5), round(frame.row(-0.5) + 0.5)
    cut = draw_portrait(person, frame).flat()[top : top + 224, left : left + 224]
    crop = draw_portrait(person, Canvas.crop(112)).flat()
    assert np.abs(cv2.resize(cut, (112, 112), interpolation=cv2.INTER_AREA) - crop).mean() < 0.03
