from dataclasses import replace

import cv2
import numpy as np
import pytest

from epir.core.seeds import generator
from epir.synthetic.drawing.canvas import Canvas
from epir.synthetic.drawing.eyes import Lids
from epir.synthetic.drawing.portrait import draw_portrait
from epir.synthetic.expressions import ActiveUnit
from epir.synthetic.identity import Geometry, draw_identity
from epir.synthetic.movement import draw_movement
from epir.synthetic.moving import LAYERS, SHUT, MovingFace, State, close_lids, interpolate, open_lids

SMILE = (ActiveUnit(12, 1.0, 1.0), ActiveUnit(6, 0.5, 0.5))


@pytest.fixture(scope="module")
def face(portrait, person):
    return MovingFace(portrait, person.geometry, draw_movement(SMILE, person.geometry, generator(0, "smile")))


def test_at_rest_the_portrait_is_unchanged(face, portrait):
    np.testing.assert_allclose(face.render(State()), portrait.flat(), atol=2e-3)


def test_without_change_there_is_no_flow(face):
    state = State(intensity=0.5, shift_x=0.4, roll=0.03, size=1.02, yaw=0.05, closure=0.3, gaze_x=0.3)
    assert np.abs(face.true_flow(state, state)).max() < 0.01


def test_a_shift_of_the_head_is_a_shift_of_the_flow_and_the_body_stays(face):
    flow = face.true_flow(State(), State(shift_x=0.7, shift_y=-0.4))
    seen = face.visible(State())
    scale = face.canvas.scale
    np.testing.assert_allclose(
        flow[seen == LAYERS["head"]], np.broadcast_to([0.7 * scale, -0.4 * scale], ((seen == 2).sum(), 2)), atol=1e-3
    )
    assert np.abs(flow[seen == LAYERS["body"]]).max() == 0


def test_a_roll_turns_every_point_of_the_head_about_the_neck(face):
    flow = face.true_flow(State(), State(roll=0.1))
    row, column = round(face.canvas.row(27.0)), round(face.canvas.column(0.0))
    up = 100  # pixels above the pivot
    u, v = flow[row - up, column]
    assert u == pytest.approx(up * np.sin(0.1), abs=0.2) and v == pytest.approx(up * (1 - np.cos(0.1)), abs=0.2)


def test_forward_inverts_the_backward_look_up(face):
    state = State(intensity=0.6, shift_x=0.5, roll=-0.04, size=0.98, yaw=0.08, pitch=-0.03, closure=0.6)
    grid = np.stack(np.meshgrid(np.arange(192.0), np.arange(192.0)), axis=-1)
    still = face._head_back(state, grid)
    origin = face._lids(open_lids, state, still - interpolate(face._field(state), still))
    inside = (slice(20, 150), slice(45, 147))
    np.testing.assert_allclose(face.forward(state, origin)[inside], grid[inside], atol=0.02)


def test_flows_follow_one_another(face):
    a, b, c = State(), State(intensity=0.3, shift_x=0.3, roll=0.02), State(intensity=0.6, yaw=0.04)
    first, whole = face.true_flow(a, b), face.true_flow(a, c)
    grid = np.stack(np.meshgrid(np.arange(192.0), np.arange(192.0)), axis=-1)
    second = interpolate(face.true_flow(b, c), grid + first)
    well_inside = cv2.erode((face.visible(a) == LAYERS["head"]).astype(np.uint8), np.ones((9, 9))) > 0
    error = np.linalg.norm(first + second - whole, axis=-1)[well_inside]
    assert error.mean() < 0.01 and np.quantile(error, 0.99) < 0.1


def test_the_second_picture_looked_up_along_the_true_flow_is_the_first(face):
    onset, apex = State(roll=0.01), State(intensity=0.7, roll=0.02, shift_x=0.3, yaw=0.03)
    flow = face.true_flow(onset, apex)
    grid = np.stack(np.meshgrid(np.arange(192.0), np.arange(192.0)), axis=-1)
    first, second = face.render(onset), face.render(apex)
    back = cv2.remap(second, (grid + flow).astype(np.float32), None, cv2.INTER_CUBIC)
    skin = cv2.erode((face.visible(onset) == LAYERS["head"]).astype(np.uint8), np.ones((3, 3))) > 0
    error, moved = np.abs(back - first)[skin].mean(), np.abs(second - first)[skin].mean()
    assert error < 0.2 * moved


def test_a_blink_covers_the_iris_and_opens_again(face, person):
    g, canvas = person.geometry, face.canvas
    row, column = round(canvas.row(g.eye_y)), round(canvas.column(g.eye_x))
    assert face.visible(State())[row, column] == LAYERS["eyes"]
    assert face.visible(State(closure=1.0))[row, column] == LAYERS["head"]
    window = (slice(row - 2, row + 2), slice(column - 8, column + 9))
    opened, shut = face.render(State())[window], face.render(State(closure=1.0))[window]
    assert np.abs(opened - shut).mean() > 0.15, "a shut eye looks different"
    cheek = face.render(State())[canvas_point(canvas, 8.0, 13.0)]
    assert np.abs(shut.mean(axis=(0, 1)) - cheek).max() < 0.3, "it shows skin"


def canvas_point(canvas, x, y):
    return round(canvas.row(y)), round(canvas.column(x))


def test_the_gaze_moves_the_eyes_and_not_the_skin(face, person):
    flow = face.true_flow(State(), State(gaze_x=0.5))
    seen = face.visible(State())
    np.testing.assert_allclose(flow[seen == LAYERS["eyes"]][:, 0], 0.5 * face.canvas.scale, atol=1e-3)
    assert np.abs(flow[seen == LAYERS["head"]]).max() < 1e-3


@pytest.mark.parametrize("pose", [State(shift_y=3.0), State(size=0.92, shift_y=1.6), State(roll=0.1, pitch=-0.15)])
def test_the_eyes_follow_the_head_however_far_it_moves(face, pose):
    flow, seen = face.true_flow(State(), pose), face.visible(State())
    grid = np.stack(np.meshgrid(np.arange(192.0), np.arange(192.0)), axis=-1)
    back = cv2.remap(face.render(pose), (grid + flow).astype(np.float32), None, cv2.INTER_LINEAR)
    eyes = cv2.erode((seen == LAYERS["eyes"]).astype(np.uint8), np.ones((3, 3))) > 0
    assert eyes.sum() > 20 and np.abs(back - face.render(State()))[eyes].mean() < 0.1


def test_glasses_stay_on_the_head_when_the_skin_moves():
    person = draw_identity(0, "glasses")
    person = replace(person, looks=replace(person.looks, glasses="round"))
    movement = draw_movement((ActiveUnit(6, 1.0, 1.0),), person.geometry, generator(0, "cheeks"))
    face = MovingFace(draw_portrait(person, Canvas.frame(192)), person.geometry, movement)
    flow, seen = face.true_flow(State(), State(intensity=0.8)), face.visible(State())
    assert (seen == LAYERS["glasses"]).sum() > 100
    assert np.abs(flow[seen == LAYERS["glasses"]]).max() == 0
    assert np.abs(flow[seen == LAYERS["head"]]).max() > 1


def test_the_picture_of_the_mirrored_movement_has_the_mirrored_flow(portrait, person):
    movement = draw_movement((ActiveUnit(12, 1.0, 0.1),), person.geometry, generator(0, "half"))
    state = State(intensity=0.6)
    flow = MovingFace(portrait, person.geometry, movement).true_flow(State(), state)
    mirrored = MovingFace(portrait, person.geometry, movement.mirrored()).true_flow(State(), state)
    crop = (slice(75, 148), slice(62, 130))  # skin on both sides, below the hair, which need not be even
    np.testing.assert_allclose(mirrored[crop], flow[:, ::-1][crop] * np.float32([-1, 1]), atol=0.02)


def test_linear_look_ups_are_exact_for_linear_fields():
    field = np.stack(np.meshgrid(np.arange(8.0), 2 * np.arange(6.0)), axis=-1)
    points = np.array([[2.25, 3.5], [0.0, 0.0], [6.9, 4.99]])
    np.testing.assert_allclose(interpolate(field, points), points * [1, 2])


LIDS = Lids.of(Geometry())
X, Y = np.meshgrid(np.linspace(-11, 11, 180), np.linspace(1, 12, 150))


@pytest.mark.parametrize("closure", [0.1, 0.5, 0.9, 1.0])
def test_opening_inverts_closing(closure):
    np.testing.assert_allclose(open_lids(LIDS, X, close_lids(LIDS, X, Y, closure), closure), Y, atol=1e-5)


def test_a_shut_eye_has_hardly_any_opening_left():
    a = np.array([6.8])
    upper, lower = LIDS.upper(a), LIDS.lower(a)
    shut = close_lids(LIDS, a, lower, 1.0) - close_lids(LIDS, a, upper, 1.0)
    np.testing.assert_allclose(shut, (1 - SHUT) * (lower - upper), rtol=1e-4)
    assert (close_lids(LIDS, a, upper, 1.0) - upper) > 0.8 * SHUT * (lower - upper), "the upper lid does the work"


def test_only_the_eyes_move_and_both_alike():
    moved = close_lids(LIDS, X, Y, 1.0) - Y
    assert np.abs(moved[:, np.abs(X[0]) < LIDS.inner]).max() == 0
    assert np.abs(moved[Y[:, 0] > 10.5]).max() == 0
    np.testing.assert_allclose(moved, moved[:, ::-1], atol=1e-5)
    assert moved.max() > 1.5
