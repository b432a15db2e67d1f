"""Synthetic people who talk, nod, blink and so on, with micro-expressions mixed in, as H.264 keeps them.

The rejector of spotting learns from some of these scenes; on others the cost of a low frame rate is measured.
"""

import cv2
import numpy as np

from epir.bench.injection import compressed
from epir.core.seeds import generator
from epir.synthetic.behaviour import BEHAVIOURS, BehavingFace, Scene, plan_scene
from epir.synthetic.drawing.canvas import Canvas
from epir.synthetic.drawing.portrait import draw_portrait
from epir.synthetic.identity import draw_identity

SECONDS = 9.0
RATES = (25.0, 30.0, 30.0, 30.0, 60.0)
MICRO = 0.5  # micro-expressions a second
SIZE, MARGIN = 84, 14  # px
LIVELY = ("talk", "blink", "look", "nod")


def scene_of(number: int, fps: float | None = None) -> tuple[Scene, list[np.ndarray]]:
    """One scene and its small faces, (h, h) uint8; every second scene is lively. The rate is drawn if not given."""
    random = generator(0, "rejector", number)
    names = list(BEHAVIOURS)
    behaviours = list(LIVELY) if number % 2 else [names[number // 2 % len(names)]]
    behaviours += [str(each) for each in random.choice(names, int(random.integers(0, 2)), replace=False)]
    drawn = RATES[int(random.integers(len(RATES)))]
    fps = drawn if fps is None else fps
    person = draw_identity(number, "rejector")
    scene = plan_scene(list(dict.fromkeys(behaviours)), SECONDS, fps, person.geometry, number, micro=MICRO)
    face = BehavingFace(draw_portrait(person, Canvas.crop(SIZE, MARGIN)), person.geometry, scene)
    noise = float(random.uniform(0.5, 2.0))
    frames = (face.frame(place, noise, generator(number, "noise", place)) for place in range(len(scene.seconds)))
    kept = compressed(frames, fps, quality=int(random.integers(8, 21)))
    inner = slice(MARGIN, MARGIN + SIZE)
    return scene, [cv2.cvtColor(frame[inner, inner], cv2.COLOR_RGB2GRAY) for frame in kept]
