import json
import pickle

import pytest
import torch
from safetensors.torch import load_file

from epir.core.errors import CheckpointError, EpirError
from epir.models.presets import preset
from epir.models.transformer import Epir


@pytest.fixture
def model():
    torch.manual_seed(0)
    return Epir(preset("epir", width=24, feed_forward=32)).eval()


@pytest.fixture
def folder(model, tmp_path):
    return model.save_pretrained(tmp_path / "model", labels=("negative", "positive", "surprise"))


def test_a_saved_model_answers_the_same(model, folder):
    maps = torch.randn(4, 3, 28, 28)
    assert torch.equal(Epir.from_pretrained(folder)(maps), model(maps))
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "config.json", "model.safetensors"]
    assert "negative, positive, surprise" in (folder / "README.md").read_text()


def test_half_precision_takes_half_the_space_and_answers_nearly_the_same(model, folder, tmp_path):
    half = model.save_pretrained(tmp_path / "half", half=True)
    maps = torch.randn(4, 3, 28, 28)
    assert torch.allclose(Epir.from_pretrained(half)(maps), model(maps), atol=1e-2)
    assert load_file(half / "model.safetensors")["head.weight"].dtype == torch.float16
    assert (half / "model.safetensors").stat().st_size < 0.6 * (folder / "model.safetensors").stat().st_size


def test_statistics_of_the_fold_are_saved_too(tmp_path):
    model = Epir(preset("epir", width=24, feed_forward=32, normalise="fold"))
    model.normalise.fit(torch.randn(10, 3, 28, 28) + 4)
    again = Epir.from_pretrained(model.save_pretrained(tmp_path / "model"))
    assert torch.equal(again.normalise.mean, model.normalise.mean)


def test_nothing_is_overwritten_without_force(model, folder):
    with pytest.raises(EpirError, match=r"exists already\n  fix: choose another name, or add --force"):
        model.save_pretrained(folder)
    model.save_pretrained(folder, force=True)


def test_force_never_replaces_a_folder_that_is_no_model(model, tmp_path):
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.jpg").write_bytes(b"")
    with pytest.raises(
        CheckpointError, match=r"pictures exists already and is not a model folder\n  fix: choose another"
    ):
        model.save_pretrained(tmp_path / "pictures", force=True)
    assert (tmp_path / "pictures" / "a.jpg").exists()


class Explosive:
    """A pickle that leaves a trace if anybody opens it."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return open, (str(self.trace), "w")


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
def test_a_pickle_is_refused_and_never_opened(folder, tmp_path, name):
    (folder / "model.safetensors").unlink()
    trace = tmp_path / "executed"
    (folder / name).write_bytes(pickle.dumps(Explosive(trace)))
    with pytest.raises(CheckpointError, match=r"not a whole safetensors file|as a pickle \(pytorch_model.bin\)"):
        Epir.from_pretrained(folder)
    assert not trace.exists()


def test_a_truncated_weights_file_is_named(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(
        CheckpointError, match=r"model.safetensors is not a whole safetensors file.*\n  fix: it may be cut short"
    ):
        Epir.from_pretrained(folder)


def test_weights_of_another_size_are_named(folder, tmp_path):
    other = Epir(preset("epir", width=48, feed_forward=32)).save_pretrained(tmp_path / "other")
    (folder / "model.safetensors").write_bytes((other / "model.safetensors").read_bytes())
    with pytest.raises(CheckpointError, match=r"'class_token' is \(1, 1, 48\), the model needs \(1, 1, 24\)"):
        Epir.from_pretrained(folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "epir-model/9"}, r"has the format 'epir-model/9', this version of epir reads 'epir-model/1'"),
        ({"model": {"withd": 24}}, r"cannot be used: \[model\] has no setting 'withd'"),
        ({"model": None}, r"has no settings of the model"),
    ],
)
def test_a_config_that_does_not_fit_is_refused(folder, change, words):
    config = json.loads((folder / "config.json").read_text()) | change
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match=words):
        Epir.from_pretrained(folder)


def test_missing_pieces_are_named(folder, tmp_path):
    with pytest.raises(CheckpointError, match=r"there is no model folder .*nowhere"):
        Epir.from_pretrained(tmp_path / "nowhere")
    (folder / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"has no model.safetensors"):
        Epir.from_pretrained(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"config.json is damaged"):
        Epir.from_pretrained(folder)


def test_pushing_uploads_the_whole_folder(model, monkeypatch):
    import huggingface_hub

    calls = []

    class Hub:
        def create_repo(self, name, exist_ok):
            calls.append(("create", name))

        def upload_folder(self, repo_id, folder_path):
            calls.append((repo_id, sorted(path.name for path in folder_path.iterdir())))

    monkeypatch.setattr(huggingface_hub, "HfApi", Hub)
    model.push_to_hub("someone/epir", labels=("a", "b", "c"))
    assert calls == [("create", "someone/epir"), ("someone/epir", ["README.md", "config.json", "model.safetensors"])]


def test_what_a_tutor_says_is_learnt_in_place_of_labels(model):
    maps = torch.randn(5, 3, 28, 28)
    told = torch.rand(5, 3).softmax(-1)
    expected = -(told * model(maps).log_softmax(-1)).sum(-1).mean()
    torch.testing.assert_close(model.loss(maps, told), expected)
    torch.testing.assert_close(model.loss(maps, told, smoothing=0.5, weights=torch.rand(3)), expected)
