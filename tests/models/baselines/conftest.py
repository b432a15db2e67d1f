"""What the tests of the peers share: one thread, and a planted signal."""

from collections.abc import Callable

import numpy as np
import pytest
import torch


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def planted() -> Callable[..., tuple[np.ndarray, np.ndarray]]:
    """Maps (n, 3, S, S) in which each class moves a place of its own its own way, and the labels (n,)."""

    def plant(size: int = 28, clips: int = 48, classes: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
        random = np.random.default_rng(seed)
        labels = np.arange(clips) % classes
        maps = 0.1 * random.standard_normal((clips, 3, size, size))
        side = size // 3
        for clip, label in enumerate(labels):
            start = label * (size - side) // max(classes - 1, 1)
            place = (slice(start, start + side), slice(size - side - start, size - start))
            angle = 2 * np.pi * label / classes
            maps[clip, 0][place] += np.cos(angle)
            maps[clip, 1][place] += np.sin(angle)
        maps[:, 2] = np.hypot(maps[:, 0], maps[:, 1])
        return maps.astype(np.float32), labels

    return plant
