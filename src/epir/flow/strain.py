"""Optical strain: how much the skin is stretched or sheared, from the first derivatives of the flow.

[EPIR] the paper, Eq. 2

Axes: h, w pixels of the flow; u to the right, v downwards
"""

import numpy as np


def optical_strain(flow: np.ndarray, kind: str = "paper") -> np.ndarray:
    """The strain of an (h, w, 2) flow, (h, w) float32; without unit, so the same at every resolution.

    `paper` squares each first derivative: sqrt(u_x^2 + v_y^2 + (u_y^2 + v_x^2) / 2). A turning head has some.
    `tensor` is the norm of the strain tensor: sqrt(u_x^2 + v_y^2 + (u_y + v_x)^2 / 2). A turning head has none.
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
