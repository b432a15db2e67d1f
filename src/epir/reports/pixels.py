"""Maps and faces as small pictures, encoded for the page.

Axes: S map size; maps are (3, S, S) float32 u, v, strain; pictures are (H, W, 3) uint8 RGB
"""

import io
import struct
import zlib
from collections.abc import Sequence

import numpy as np

BLUE, ORANGE, PURPLE = (0, 114, 178), (213, 94, 0), (68, 1, 84)  # told apart by colour-blind eyes


def centred(channel: np.ndarray) -> np.ndarray:
    """A flow channel around its zero; a channel stretched to 0..1 has lost it, so its median stands in."""
    return channel if channel.min() < 0 else channel - np.median(channel)


def signed_picture(channel: np.ndarray, limit: float) -> np.ndarray:
    """A channel from blue (-limit) through white (0) to orange (+limit)."""
    share = np.clip(channel / max(limit, 1e-12), -1, 1)[..., None]  # (S, S, 1)
    ends = np.where(share < 0, np.array(BLUE), np.array(ORANGE))  # (S, S, 3)
    return _blend(np.abs(share), ends)


def flow_picture(flow_map: np.ndarray) -> np.ndarray:
    """The motion of a map as colour: hue is direction, strength is length."""
    from epir.flow.colour import flow_to_colour

    return flow_to_colour(np.stack([centred(flow_map[0]), centred(flow_map[1])], axis=-1))  # (S, S, 3)


def wheel_picture() -> np.ndarray:
    """The legend of `flow_picture`: each point has the colour of motion in its own direction."""
    from epir.flow.colour import colour_wheel

    return colour_wheel(112)  # (112, 112, 3)


def positive_picture(channel: np.ndarray) -> np.ndarray:
    """A channel from white (its smallest value) to dark purple (its largest)."""
    low, high = float(channel.min()), float(channel.max())
    share = (channel - low) / max(high - low, 1e-12)
    return _blend(share[..., None], np.array(PURPLE))


def grey_picture(channel: np.ndarray) -> np.ndarray:
    """A channel as light greys, a quiet ground for outlines and heat."""
    low, high = float(channel.min()), float(channel.max())
    share = (channel - low) / max(high - low, 1e-12)
    return np.repeat((255 - 150 * share)[..., None], 3, axis=-1).round().astype(np.uint8)


def integrated_picture(picture: np.ndarray, groups: Sequence[Sequence[int]], grid: int) -> np.ndarray:
    """The picture as the merged tokens hold it: the patches of one token share the mean of their pixels.

    A token of one patch keeps its pixels, so that at rate 0 the picture is unchanged.
    """
    height, width = picture.shape[0] // grid, picture.shape[1] // grid
    cut = picture[: height * grid, : width * grid].astype(np.float64)
    patches = cut.reshape(grid, height, grid, width, 3).swapaxes(1, 2).reshape(grid * grid, height, width, 3)
    for group in groups:
        if len(group) > 1:
            patches[list(group)] = patches[list(group)].mean(axis=0)
    joined = patches.reshape(grid, grid, height, width, 3).swapaxes(1, 2).reshape(cut.shape)
    return joined.round().astype(np.uint8)


def png(picture: np.ndarray) -> bytes:
    """The picture as PNG, the same bytes every time."""
    height, width, _ = picture.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), picture.reshape(height, -1)], axis=1)  # filter type 0

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)  # 8 bits, RGB
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def jpeg(picture: np.ndarray, *, quality: int = 82) -> bytes:
    """The picture as JPEG, for faces."""
    from matplotlib.image import imsave

    out = io.BytesIO()
    imsave(out, picture, format="jpeg", pil_kwargs={"quality": quality})
    return out.getvalue()


def _blend(share: np.ndarray, colour: np.ndarray) -> np.ndarray:
    return (255 + share * (colour - 255)).round().astype(np.uint8)
