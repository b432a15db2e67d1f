"""A tiny trained model, and an invented face that smiles."""

import cv2
import numpy as np
import pytest
import torch

from epir.core.seeds import generator
from epir.maps.mapset import save_maps
from epir.recognition.final import train
from epir.recognition.recognizer import Recognizer
from epir.synthetic.clip import Course, expose
from epir.synthetic.corpus import portrait_of
from epir.synthetic.expressions import Action
from epir.synthetic.identity import draw_identity
from epir.synthetic.maps import synthetic_maps
from epir.synthetic.movement import draw_movement
from epir.synthetic.moving import MovingFace, State

SIZE, FPS, FRAMES = 260, 60, 48
SMILE = Course(onset=12, apex=20, offset=34)
TINY = ("model.width=32", "model.feed_forward=48", "model.blocks=4", "model.heads=2")
QUICK = ("training.epochs=12", "training.lr=2e-3")


@pytest.fixture(scope="session", autouse=True)
def one_torch_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def maps(tmp_path_factory):
    made = synthetic_maps(120, "direct", seed=3)
    folder = tmp_path_factory.mktemp("maps") / "synthetic"
    save_maps(folder, made.maps, made.clips, recipe=made.meta["recipe"])
    return folder


@pytest.fixture(scope="session")
def trained(maps, tmp_path_factory):
    """What `train` gives back; its folder is a tiny model."""
    out = tmp_path_factory.mktemp("models") / "tiny"
    return train(maps, protocol="sde", out=out, folds=2, changes=[*TINY, *QUICK], workers=1)


@pytest.fixture(scope="session")
def recognizer(trained):
    return Recognizer.from_pretrained(trained.folder)


@pytest.fixture(scope="session")
def with_units(maps, tmp_path_factory):
    """The folder of a tiny model with a head for action units, calibrated on other people."""
    out = tmp_path_factory.mktemp("models") / "units"
    changes = [*TINY, *QUICK, "training.action_units=1", "training.shift_at_prediction=1"]
    others = synthetic_maps(96, "direct", seed=8)
    return train(maps, protocol="sde", out=out, changes=changes, calibrate_on=[others]).folder


@pytest.fixture(scope="session")
def smile():
    """A face that smiles for a quarter of a second, (T, H, W, 3) uint8."""
    return film(lambda number: SMILE.intensity(number))


@pytest.fixture(scope="session")
def still():
    return film(lambda number: 0.0)[:20]


@pytest.fixture(scope="session")
def video(smile, tmp_path_factory):
    return write_video(tmp_path_factory.mktemp("video") / "smile.mp4", smile)


@pytest.fixture(scope="session")
def folder(smile, tmp_path_factory):
    """The same as pictures, numbered from 101."""
    place = tmp_path_factory.mktemp("frames") / "smile"
    place.mkdir()
    for number, frame in enumerate(smile, start=101):
        cv2.imwrite(str(place / f"img{number}.png"), frame[..., ::-1])
    return place


def film(share):
    identity, portrait = draw_identity(4, "a"), portrait_of(4, "a", SIZE)
    random = generator(4, "film")
    movement = draw_movement((Action(12, 1.0, 1.0), Action(6, 0.6, 0.6)), identity.geometry, random)
    face = MovingFace(portrait, identity.geometry, movement)
    light = np.zeros(3, np.float32)
    return np.stack(
        [
            expose(face.render(State(intensity=0.7 * share(n))), light, 1.0, portrait.canvas, random)
            for n in range(FRAMES)
        ]
    )


def write_video(path, frames, fps=FPS):
    height, width = frames.shape[1:3]
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"mp4v"), fps, (width, height))
    for frame in frames:
        writer.write(np.ascontiguousarray(frame[..., ::-1]))
    writer.release()
    return path
