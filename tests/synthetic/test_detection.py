"""Drawn faces through the detector and the flow, against what was drawn."""

import numpy as np
import pytest

from epir.faces.mtcnn import find_faces
from epir.flow.optical import flow_between
from epir.flow.recipe import flow_recipe
from epir.synthetic.clip import draw_frame
from epir.synthetic.corpus import CorpusSettings, plan_corpus, portrait_of
from epir.synthetic.drawing.canvas import CROP_SIDE, CROP_TOP, Canvas
from epir.synthetic.drawing.portrait import draw_portrait
from epir.synthetic.identity import draw_identity
from epir.synthetic.moving import LAYERS, MovingFace

SIZE = 280  # px of a frame


def landmark_errors(name):
    """How far the detector's landmarks lie from where they were drawn, in face units."""
    identity, canvas = draw_identity(8, name), Canvas.frame(SIZE)
    g = identity.geometry
    (face,) = find_faces((np.clip(draw_portrait(identity, canvas).flat(), 0, 1) * 255).round().astype(np.uint8))
    drawn = [(-g.eye_x, g.eye_y), (g.eye_x, g.eye_y), (0.0, g.nose_y - 2)]
    drawn += [(-g.mouth_half, g.mouth_y), (g.mouth_half, g.mouth_y)]
    there = np.array([(canvas.column(x), canvas.row(y)) for x, y in drawn])
    return np.linalg.norm(np.array(face.landmarks) - there, axis=1) / canvas.scale


def flow_error(plan):
    """Mean error of the flow on the skin of the face crop and mean true motion, both in face units."""
    face = MovingFace(portrait_of(0, plan.subject, SIZE), draw_identity(0, plan.subject).geometry, plan.movement)
    canvas = face.canvas
    top, left = round(canvas.row(CROP_TOP)), round(canvas.column(-CROP_SIDE / 2))
    side = round(CROP_SIDE * canvas.scale)
    crop = (slice(top, top + side), slice(left, left + side))
    onset, apex = (np.ascontiguousarray(draw_frame(plan, face, n)[crop]) for n in (plan.course.onset, plan.course.apex))
    before, after = plan.state(plan.course.onset), plan.state(plan.course.apex)
    skin = face.visible(before)[crop] == LAYERS["head"]
    true = face.true_flow(before, after)[crop][skin]
    error = flow_between(onset, apex, flow_recipe("epir"))[skin] - true
    return [np.linalg.norm(each, axis=-1).mean() / canvas.scale for each in (error, true)]


def test_farneback_recovers_the_true_flow():
    errors, lengths = np.array(
        [flow_error(plan) for plan in plan_corpus(CorpusSettings(people=2, clips=2, idle=0, size=SIZE))]
    ).T
    assert errors.mean() < 0.07, "0.2 % of the face's width"
    assert errors.mean() < 0.6 * lengths.mean(), "far nearer than no flow at all"


@pytest.mark.parametrize("name", ["001", "007", "011"])
def test_the_detector_finds_one_face_with_accurate_landmarks(name):
    assert landmark_errors(name).max() < 2.5, "within a tenth of the face"
