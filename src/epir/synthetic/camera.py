"""The camera: light that flickers, noise, 8 bits."""

import numpy as np

from epir.synthetic.drawing.canvas import Canvas


def expose(
    picture: np.ndarray, light: np.ndarray, noise: float, canvas: Canvas, random: np.random.Generator
) -> np.ndarray:
    """The picture (H, W, 3), 0..1, as a camera takes it: uint8 RGB. `light` is gain and two slopes, relative."""
    gain, right, down = (np.float32(v) for v in light)
    x = canvas.x / np.float32(30)
    y = (canvas.y - np.float32(8)) / np.float32(30)
    exposed = picture * ((1 + gain + right * x + down * y) * np.float32(255))[..., None]
    exposed += np.float32(0.5)
    if noise:
        grain = random.standard_normal((picture.shape[0], picture.shape[1] + 2), dtype=np.float32)
        grain *= np.float32(0.8 * noise)
        for channel in range(3):  # grey noise with a little colour, from one draw
            exposed[..., channel] += grain[:, : picture.shape[1]]
            exposed[..., channel] += np.float32(0.75) * grain[::-1, channel : channel + picture.shape[1]]
    return np.clip(exposed, 0, 255, out=exposed).astype(np.uint8)
