import pytest
import torch
from safetensors.torch import save_file

from epir.core.errors import CheckpointError
from epir.models.presets import preset
from epir.models.transformer import Epir
from epir.training.recipe import SHIPPED
from epir.training.start import can_start, shipped_weights, start_folder, start_from

TWO = ("calm", "moved")


def saved(model, folder, labels=TWO, **changes):
    model.save_pretrained(folder / "model", labels=labels)
    if changes:
        save_file(model.state_dict() | changes, folder / "model" / "model.safetensors")
    return folder / "model"


def test_weights_are_copied(make_tiny, tmp_path):
    source, model = make_tiny(), make_tiny()
    torch.nn.init.constant_(source.head.weight, 0.25)
    assert start_from(model, saved(source, tmp_path), TWO)
    assert all(
        torch.equal(a, b) for a, b in zip(model.state_dict().values(), source.state_dict().values(), strict=True)
    )


def test_half_precision_becomes_single(make_tiny, tmp_path):
    source, model = make_tiny(), make_tiny()
    start_from(model, saved(source.half(), tmp_path), TWO)
    assert model.head.weight.dtype == torch.float32
    torch.testing.assert_close(model.head.weight, source.head.weight.float())


@pytest.mark.parametrize("classes", [tuple("abcde"), ("moved", "calm"), ("joy", "fear")])
def test_a_head_of_other_classes_keeps_its_random_start(make_tiny, tmp_path, classes):
    """Others in number, in order, or in name alone: a weight for joy says nothing about calm."""
    source, model = make_tiny(), make_tiny(classes=len(classes))
    torch.nn.init.constant_(source.norm.weight, 3.0)
    before = model.head.weight.detach().clone()
    assert not start_from(model, saved(source, tmp_path), classes)
    assert torch.equal(model.head.weight, before) and float(model.norm.weight.detach()[0]) == 3


def test_a_head_without_names_is_known_by_its_number_of_classes(make_tiny, tmp_path):
    folder = saved(make_tiny(), tmp_path, labels=())
    assert start_from(make_tiny(), folder, ("joy", "fear"))
    assert not start_from(make_tiny(classes=3), folder, ("joy", "fear", "calm"))


@pytest.mark.parametrize("classes", [2, 5, 7])
def test_the_paper_s_model_starts_from_the_shipped_weights_with_any_classes(classes):
    model = Epir(preset("epir", classes=classes, normalise="squash"))
    before = model.head.weight.detach().clone()
    assert not start_from(model, SHIPPED, [str(number) for number in range(classes)])
    assert torch.equal(model.head.weight, before)
    shipped = Epir.from_pretrained(shipped_weights())
    maps = torch.randn(2, 3, 28, 28)
    torch.testing.assert_close(model.eval().represent(maps), shipped.represent(maps))


def test_a_head_of_another_shape_is_refused(make_tiny, tmp_path):
    folder = saved(make_tiny(), tmp_path, **{"head.weight": torch.zeros(3, 2)})
    with pytest.raises(
        CheckpointError, match=r"does not fit: head.weight is \(3, 2\) there and \(2, 12\) here\n  fix: use"
    ):
        start_from(make_tiny(), folder, TWO)


def test_weights_of_another_model_are_refused(make_tiny, tmp_path):
    save_file({"conv.weight": torch.zeros(2)}, tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"weights of another model: .*'conv.weight'\n  fix: .* of 'tiny'"):
        start_from(make_tiny(), tmp_path, TWO)


def test_weights_of_another_size_are_refused(make_tiny, tmp_path):
    folder = saved(make_tiny(), tmp_path, **{"norm.weight": torch.zeros(7)})
    with pytest.raises(
        CheckpointError, match=r"does not fit: norm.weight is \(7,\) there and \(12,\) here\n  fix: use"
    ):
        start_from(make_tiny(), folder, TWO)


def test_a_folder_without_weights_is_refused(make_tiny, tmp_path):
    with pytest.raises(CheckpointError, match=r"there are no weights .*model.safetensors\n  fix: give a model folder"):
        start_from(make_tiny(), tmp_path, TWO)


def test_a_damaged_file_is_refused(make_tiny, tmp_path):
    (tmp_path / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(CheckpointError, match=r"model.safetensors cannot be read: .*\n  fix: copy or train"):
        start_from(make_tiny(), tmp_path, TWO)


def test_shipped_names_the_folder_of_the_package():
    assert start_folder(SHIPPED) == shipped_weights() and shipped_weights().name == "weights"
    assert start_folder(shipped_weights()) == shipped_weights()


def test_weights_fit_a_model_that_differs_in_its_head_or_its_loss_only(make_tiny, tmp_path):
    make_tiny().save_pretrained(tmp_path / "mine")
    assert can_start(make_tiny(classes=5, normalise="none", dropout=0.0).settings, tmp_path / "mine")
    assert not can_start(make_tiny(map_size=8).settings, tmp_path / "mine")
    assert not can_start(make_tiny().settings, tmp_path / "nothing here")
