"""The onset frame does not reveal the class: only the motion does."""

import cv2
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from epir.synthetic.clip import draw_frame
from epir.synthetic.corpus import CorpusSettings, plan_corpus, portrait_of
from epir.synthetic.drawing.canvas import CROP_SIDE, CROP_TOP
from epir.synthetic.identity import draw_identity
from epir.synthetic.moving import MovingFace


def features(plan, number):
    face = MovingFace(portrait_of(0, plan.subject, 112), draw_identity(0, plan.subject).geometry, plan.movement)
    frame = cv2.cvtColor(draw_frame(plan, face, number), cv2.COLOR_RGB2GRAY).astype(np.float32)
    top, left = round(face.canvas.row(CROP_TOP)), round(face.canvas.column(-CROP_SIDE / 2))
    side = round(CROP_SIDE * face.canvas.scale)
    return cv2.resize(frame[top : top + side, left : left + side], (10, 10), interpolation=cv2.INTER_AREA).ravel()


def accuracy(rows, labels, people):
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=400))
    guesses = cross_val_predict(model, np.array(rows), labels, groups=people, cv=GroupKFold(5))
    return float(np.mean(guesses == labels))


@pytest.mark.slow
def test_a_classifier_of_onset_frames_stays_at_chance_and_one_of_the_motion_does_not():
    plans = plan_corpus(CorpusSettings(people=30, clips=6, idle=0, size=112))
    labels, people = np.array([p.emotion for p in plans]), np.array([p.subject for p in plans])
    onsets = [features(plan, plan.course.onset) for plan in plans]
    chance, spread = 1 / 3, (1 / 3 * 2 / 3 / len(plans)) ** 0.5
    assert abs(accuracy(onsets, labels, people) - chance) < 3.3 * spread  # 99.9 % of guessers
    moved = [features(plan, plan.course.apex) - onset for plan, onset in zip(plans, onsets, strict=True)]
    assert accuracy(moved, labels, people) > chance + 3.3 * spread, "the same classifier sees the motion"
