"""Parameters and multiply-accumulates against the numbers that papers and public code give."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from epir.models.registry import create_model


def parameters(model):
    return sum(weight.numel() for weight in model.parameters())


def multiply_accumulates(model):
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        model.eval()(torch.zeros(1, 3, model.settings.map_size, model.settings.map_size))
    return counter.get_total_flops() / 2  # the counter counts a multiplication and an addition


def test_htnet_has_the_size_of_its_public_code():
    model = create_model("htnet")
    assert parameters(model) / 1e6 == pytest.approx(139.58, abs=0.005)
    assert multiply_accumulates(model) / 1e6 == pytest.approx(214.3, abs=0.05)


def test_ststnet_by_hand():
    convolutions = sum(27 * kernels + kernels for kernels in (3, 5, 8))
    assert convolutions == 448
    classifier = 5 * 5 * 16 * 3 + 3
    batch_normalisation = 2 * 16
    assert parameters(create_model("ststnet")) == convolutions + classifier + batch_normalisation == 1683


@pytest.mark.parametrize(
    ("name", "millions", "operations"),
    [("off-apexnet", 2.66, 3.87), ("dual-inception", 6.45, 12.64)],
)
def test_counts_that_the_comparison_of_off_tanet_prints(name, millions, operations):
    model = create_model(name)
    assert parameters(model) / 1e6 == pytest.approx(millions, abs=0.005)
    # their counter adds biases and pooling to the products
    assert multiply_accumulates(model) / 1e6 == pytest.approx(operations, rel=0.03)


def test_resnet_is_resnet18_but_for_stem_and_classifier():
    known = 11_689_512  # ResNet-18 for 1000 classes
    stem = 3 * 64 * (7 * 7 - 3 * 3)
    classifier = 512 * 1000 + 1000 - (512 * 3 + 3)
    assert parameters(create_model("resnet18-flow")) == known - stem - classifier


def test_the_attention_of_rcn_has_no_parameters():
    width, classes = 32, 3
    stem = 3 * 25 * width + width + 2 * width
    recurrence = width * width + width + 2 * width + 9 * width * width + width + 2 * width
    assert parameters(create_model("rcn-a")) == stem + recurrence + width * 25 * classes + classes


def test_capsulenet_has_the_capsules_of_its_paper():
    assert create_model("capsulenet").module.head.shape == (
        3,
        32 * 6 * 6,
        8,
        16,
    )  # classes, primary capsules, their numbers
