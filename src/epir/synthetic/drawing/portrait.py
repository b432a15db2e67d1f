"""One person drawn in layers, from back to front: body, eyes, head, glasses.

The layers move differently: the body stays, the head turns, the skin of the head also moves with the expression, the
eyes look around behind the lids, the glasses sit on the head. `moving.py` warps each of them once per frame.
"""

from dataclasses import dataclass

import numpy as np

from epir.core.seeds import generator
from epir.synthetic.drawing.body import draw_body
from epir.synthetic.drawing.canvas import Canvas
from epir.synthetic.drawing.eyes import draw_balls
from epir.synthetic.drawing.glasses import draw_glasses
from epir.synthetic.drawing.hair import draw_hair
from epir.synthetic.drawing.head import draw_head
from epir.synthetic.drawing.scarf import draw_scarf
from epir.synthetic.drawing.shading import Light
from epir.synthetic.identity import Identity


@dataclass(frozen=True)
class Portrait:
    """The layers of one neutral face, displayed values 0..1, premultiplied where they have an alpha channel."""

    canvas: Canvas
    body: np.ndarray  # (H, W, 3)
    eyes: np.ndarray  # (H, W, 4)
    head: np.ndarray  # (H, W, 4) with a hole at each eye
    glasses: np.ndarray | None  # (H, W, 4)

    def flat(self) -> np.ndarray:
        """All layers on top of each other: the neutral face."""  # (H, W, 3)
        picture = self.body
        for layer in (self.eyes, self.head, self.glasses):
            if layer is not None:
                picture = picture * (1 - layer[..., 3:]) + layer[..., :3]
        return picture


def draw_portrait(identity: Identity, canvas: Canvas) -> Portrait:
    """A person on a canvas; the same person and canvas give the same picture."""
    g, looks, seed = identity.geometry, identity.looks, identity.seed
    light = Light.of(looks)
    dress = draw_scarf if looks.hair == "scarf" else draw_hair
    hair = dress(canvas, g, looks, light, generator(seed, "hair"))
    return Portrait(
        canvas=canvas,
        body=draw_body(canvas, g, looks, light, hair, generator(seed, "body")),
        eyes=draw_balls(canvas, g, looks, light, generator(seed, "eyes")),
        head=draw_head(canvas, identity, light, hair),
        glasses=draw_glasses(canvas, g, looks, light),
    )
