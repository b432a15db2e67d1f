"""One person drawn in layers, from back to front: body, eyes, head (with a hole at each eye), glasses.

The layers move differently: the body stays, the head turns, the skin of the head also moves with the expression, the
eyes look around behind the lids, the glasses sit on the head. `moving.py` warps each of them once per frame.
"""

from dataclasses import dataclass

import numpy as np

from epir.core.seeds import generator
from epir.synthetic.drawing.body import draw_body, lay
from epir.synthetic.drawing.canvas import Canvas
from epir.synthetic.drawing.eyes import Lids, draw_balls, draw_lashes, eye_opening, lid_height
from epir.synthetic.drawing.features import draw_beard, draw_brows, draw_ears, draw_glasses, model_lips, tint_lips
from epir.synthetic.drawing.hair import Coiffure, draw_hair, draw_scarf
from epir.synthetic.drawing.relief import Light, Relief, carve, illuminate, linear, model_head, to_display
from epir.synthetic.drawing.skin import fine_lines, gloss, nostrils, skin_albedo, skin_colour
from epir.synthetic.identity import Geometry, Identity, Looks

INK = np.array([0.07, 0.05, 0.045], dtype=np.float32)  # of lashes, as displayed


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


def draw_head(canvas: Canvas, identity: Identity, light: Light, hair: Coiffure) -> np.ndarray:
    """The head of this person as a layer, displayed values, premultiplied."""  # (H, W, 4)
    g, looks = identity.geometry, identity.looks
    skin, relief = _draw_skin(canvas, g, looks, light, identity.seed)
    shadow = (1 - 0.75 * hair.shadow)[..., None] ** np.array([0.85, 1.0, 1.05], np.float32)  # warm
    return _cut_eyes(canvas, g, looks, *_add_hair(canvas, g, looks, light, skin * shadow, relief.inside, hair))


def _draw_skin(canvas: Canvas, g: Geometry, looks: Looks, light: Light, seed: int) -> tuple[np.ndarray, Relief]:
    """Linear light from the skin with everything that grows on the face."""
    lips = model_lips(canvas, g)
    small = (
        lips.height + lid_height(canvas, g, Lids.of(g), looks) + fine_lines(canvas, g, looks, generator(seed, "lines"))
    )
    relief = carve(canvas, model_head(canvas, g, looks.age), small)
    albedo = skin_albedo(canvas, g, looks, generator(seed, "skin"))
    albedo *= tint_lips(canvas, lips, looks, generator(seed, "lips"))
    shine = gloss(canvas, g, looks, generator(seed, "gloss")) + 0.075 * lips.lower + 0.02 * lips.upper
    skin = illuminate(relief, albedo, light, shine) * nostrils(canvas, g)[..., None]
    hairs = linear(looks.hair_colour)
    lit = (0.32 + 0.60 * np.clip(relief.normal @ light.key, 0, 1))[..., None]
    skin = lay(skin, hairs * lit, draw_beard(canvas, g, looks, relief, lips, generator(seed, "beard")))
    dark = 0.75 * hairs + 0.03 * linear(skin_colour(looks))
    return lay(skin, dark, draw_brows(canvas, g, looks, generator(seed, "brows"))), relief


def _add_hair(
    canvas: Canvas, g: Geometry, looks: Looks, light: Light, skin: np.ndarray, cover: np.ndarray, hair: Coiffure
) -> tuple[np.ndarray, np.ndarray]:
    """Linear light from skin, ears and hair together, and what they cover."""
    light_out = skin * cover[..., None]  # premultiplied, so that no skin shines through at the edge of the hair
    if not hair.covers_ears:
        ears, ear_cover = draw_ears(canvas, g, looks, light)
        light_out += ears * (ear_cover * (1 - cover))[..., None]
        cover = cover + ear_cover * (1 - cover)
    light_out = lay(light_out, hair.colour, hair.front)
    cover = cover * (1 - hair.front) + hair.front
    return light_out / np.maximum(cover, 1e-3)[..., None], cover


def _cut_eyes(canvas: Canvas, g: Geometry, looks: Looks, light_out: np.ndarray, cover: np.ndarray) -> np.ndarray:
    """The layer: as displayed, with holes for the eyes, the shadow of the lids in them, and lashes at their edges."""
    lids = Lids.of(g)
    opening = eye_opening(canvas, lids)
    lashes, shadow = draw_lashes(canvas, lids, looks)
    head = np.empty((canvas.height, canvas.width, 4), np.float32)
    alpha = cover * (1 - opening)
    head[..., :3] = to_display(light_out) * alpha[..., None]
    head[..., 3] = alpha + shadow * opening * (1 - alpha)  # the shadow is black: only the alpha grows
    head[..., :3] = lay(head[..., :3], INK, lashes)
    head[..., 3] = head[..., 3] * (1 - lashes) + lashes
    return head
