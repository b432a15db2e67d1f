"""Two faces -> a map of u, v and strain.

u and v are displacements in pixels of the map, at whatever size the flow was computed; strain has no unit. So the scale
of a map does not depend on `flow.size`, and strain is the derivative of u and v.

[EPIR] the paper; its strain is Eq. 2

Axes: h, w pixels of the flow; u to the right, v downwards; S map size
"""

import cv2
import numpy as np

from epir.core.errors import ShapeError
from epir.faces.align import Crop
from epir.flow.head_motion import without_head_motion
from epir.flow.optical import flow_between
from epir.flow.recipe import FlowRecipe


def cut_face(frame: np.ndarray, crop: Crop, recipe: FlowRecipe) -> np.ndarray:
    """The face of a frame as `face_map` takes it: at `flow.size`, with the recipe's context around it."""
    size, border = recipe.flow.size, recipe.flow.border
    return crop.widen((size + 2 * border) / size).apply(frame, size + 2 * border)


def face_map(onset_face: np.ndarray, apex_face: np.ndarray, recipe: FlowRecipe, size: int = 28) -> np.ndarray:
    """The map of two faces (h, h, 3) uint8 cut out by `cut_face`, as (3, S, S) float32.

    Square faces of another size are resized to that of the recipe.
    """
    face_size = recipe.flow.size + 2 * recipe.flow.border
    onset, apex = (_resized(face, face_size) for face in (onset_face, apex_face))
    return flow_to_map(without_border(flow_between(onset, apex, recipe), recipe), recipe, size)


def without_border(flow: np.ndarray, recipe: FlowRecipe) -> np.ndarray:
    """The flow of the face alone, without the context around it."""
    border = recipe.flow.border
    return flow[border : flow.shape[0] - border, border : flow.shape[1] - border]


def flow_to_map(flow: np.ndarray, recipe: FlowRecipe, size: int = 28) -> np.ndarray:
    """The map of an (h, h, 2) flow, as (3, S, S) float32: u, v, strain."""
    if flow.ndim != 3 or flow.shape[0] != flow.shape[1] or flow.shape[2] != 2:
        raise ShapeError(f"a flow of shape {flow.shape} cannot be made into a map", fix="give a square flow (h, h, 2)")
    flow = without_head_motion(flow.astype(np.float32), recipe.head_motion)
    scale = size / flow.shape[0]
    motion = area_average(flow, size) * scale  # (S, S, 2), in pixels of the map
    if recipe.strain_at == "map":
        strain = optical_strain(motion, recipe.strain)  # (S, S)
    else:
        strain = area_average(optical_strain(flow, recipe.strain), size)  # (S, S)
        strain = strain * scale if recipe.strain == "magnitude" else strain
    channels = np.stack([motion[..., 0], motion[..., 1], strain]).astype(np.float32)  # (3, S, S)
    return minmax(channels) if recipe.normalise == "minmax" else channels


def area_average(field: np.ndarray, size: int) -> np.ndarray:
    """The mean over each cell of a size x size grid; cell borders may divide pixels."""
    if field.shape[0] < size:  # the field is coarser than the map: nothing to average
        return cv2.resize(field, (size, size), interpolation=cv2.INTER_LINEAR)
    return cv2.resize(field, (size, size), interpolation=cv2.INTER_AREA)


def minmax(channels: np.ndarray) -> np.ndarray:
    """Each (S, S) channel scaled to 0..1; a constant channel becomes 0."""
    low = channels.min(axis=(1, 2), keepdims=True)
    reach = channels.max(axis=(1, 2), keepdims=True) - low
    return ((channels - low) / np.where(reach > 0, reach, 1)).astype(np.float32)


def _resized(face: np.ndarray, size: int) -> np.ndarray:
    if face.shape[0] != face.shape[1]:
        raise ShapeError(f"a face of shape {face.shape} is not square", fix="cut it out with Crop.apply")
    if face.shape[0] == size:
        return face
    shrink = face.shape[0] > size
    return cv2.resize(face, (size, size), interpolation=cv2.INTER_AREA if shrink else cv2.INTER_CUBIC)


def optical_strain(flow: np.ndarray, kind: str = "paper") -> np.ndarray:
    """The strain of an (h, w, 2) flow, (h, w) float32; it has no unit and does not depend on the resolution.

    `paper` squares each first derivative: sqrt(u_x^2 + v_y^2 + (u_y^2 + v_x^2) / 2). A rotating head has strain.
    `tensor` is the norm of the strain tensor: sqrt(u_x^2 + v_y^2 + (u_y + v_x)^2 / 2). A rotating head has none.
    `magnitude` is not strain but the length of the flow, which some published maps hold instead.
    """
    if kind == "magnitude":
        return np.hypot(flow[..., 0], flow[..., 1]).astype(np.float32)
    u_x, u_y = derivatives(flow[..., 0])
    v_x, v_y = derivatives(flow[..., 1])
    shear = u_y**2 + v_x**2 if kind == "paper" else (u_y + v_x) ** 2
    return np.sqrt(u_x**2 + v_y**2 + shear / 2).astype(np.float32)


def derivatives(field: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The x and y derivatives of an (h, w) field: central differences, second order at the border too."""
    across = np.gradient(field, axis=1, edge_order=2)
    down = np.gradient(field, axis=0, edge_order=2)
    return across, down
