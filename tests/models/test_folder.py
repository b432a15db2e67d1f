import json
import os
import pickle

import pytest
import torch
from safetensors.torch import load_file, save_file

from epir.core.errors import CheckpointError
from epir.core.files import file_digest
from epir.models import folder as module
from epir.models.epir import Epir
from epir.models.folder import (
    can_start,
    check_fits,
    find_folder,
    load_network,
    read_config,
    shipped_folder,
    start_from,
    weights_digest,
    write_config,
)
from epir.models.network import ModuleNetwork, Network
from epir.models.registry import create_model, find_method, list_models
from epir.models.seen import Seen, write_seen
from epir.models.settings import SHIPPED, preset


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
    with pytest.raises(CheckpointError, match=r"not a complete safetensors file|as a pickle \(pytorch_model.bin\)"):
        Epir.from_pretrained(folder)
    assert not trace.exists()


def sign(folder):
    """Write the digest of the weights that are there now."""
    config = json.loads((folder / "config.json").read_text())
    config["weights"] = file_digest(folder / "model.safetensors")
    write_config(folder, config)


@pytest.mark.parametrize(
    "edit",
    [
        lambda config: config["labels"].reverse(),
        lambda config: config["notes"]["recipe"]["flow"].update(window=9),
        lambda config: config["notes"].pop("recipe"),
        lambda config: config["notes"].pop("temperature"),
        lambda config: config["model"].update(normalise=None),
        lambda config: config.pop("digest"),
    ],
    ids=["labels reversed", "flow.window", "no recipe", "no temperature", "normalise", "no digest"],
)
def test_a_config_that_was_edited_is_refused(model, tmp_path, edit):
    notes = {"temperature": 1.5, "recipe": {"name": "epir", "flow": {"window": 15}, "digest": "d5e40fc5b834d50c"}}
    folder = model.save_pretrained(tmp_path / "sealed", labels=("a", "b", "c"), notes=notes)
    assert read_config(folder).notes == notes
    config = json.loads((folder / "config.json").read_text())
    edit(config)
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match=r"config.json was changed after it was written\n  fix: restore it"):
        read_config(folder)


def test_a_forged_record_of_whom_the_weights_have_seen_is_refused(model, tmp_path):
    folder = model.save_pretrained(tmp_path / "m", seen=Seen(frozenset({"a"}), frozenset({1})))
    write_seen(folder, Seen())
    with pytest.raises(CheckpointError, match=r"seen.npy in .* do not match config.json\n  fix: copy"):
        load_network(folder)
    (folder / "seen.json").unlink()  # without a record, nothing is claimed, and evaluations say so
    assert load_network(folder).seen is None
    bare = model.save_pretrained(tmp_path / "bare")
    write_seen(bare, Seen())
    with pytest.raises(CheckpointError, match=r"do not match config.json"):
        load_network(bare)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda content: content[:-100], r"is not a complete safetensors file.*\n  fix: it may be truncated"),
        (  # a number that is still one
            lambda content: content[:-3] + bytes([content[-3] ^ 1]) + content[-2:],
            r"does not match config.json\n  fix: copy the whole folder again",
        ),
    ],
    ids=["cut short", "changed"],
)
def test_weights_that_were_changed_are_refused(folder, change, words):
    path = folder / "model.safetensors"
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(CheckpointError, match=f"model.safetensors {words}"):
        Epir.from_pretrained(folder)


@pytest.mark.parametrize("digest", ["", None, 3, ["a"]])
def test_a_digest_of_nothing_does_not_skip_the_check(folder, digest):
    config = json.loads((folder / "config.json").read_text()) | {"weights": digest}
    (folder / "config.json").write_text(json.dumps(config))
    words = r"config.json( lacks|: weights is .*, not) the digest of the weights\n  fix: restore it"
    with pytest.raises(CheckpointError, match=words):
        Epir.from_pretrained(folder)


def test_weights_of_another_size_are_named(folder, tmp_path):
    other = Epir(preset("epir", width=48, feed_forward=32)).save_pretrained(tmp_path / "other")
    (folder / "model.safetensors").write_bytes((other / "model.safetensors").read_bytes())
    sign(folder)
    with pytest.raises(CheckpointError, match=r"'class_token' is \(1, 1, 48\), the model needs \(1, 1, 24\)"):
        Epir.from_pretrained(folder)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "epir-model/9"}, r"has the format 'epir-model/9', but this version of epir reads 'epir-model/2'"),
        ({"model": {"name": "epir", "withd": 24}}, r"cannot be used: \[model\] has no setting 'withd'"),
        ({"model": None}, r"has no model settings"),
    ],
)
def test_a_config_that_does_not_fit_is_refused(folder, change, words):
    write_config(folder, json.loads((folder / "config.json").read_text()) | change)
    with pytest.raises(CheckpointError, match=words):
        Epir.from_pretrained(folder)


@pytest.mark.parametrize(
    "use",
    [Epir.from_pretrained, weights_digest, lambda folder: start_from(tiny(), folder, TWO)],
    ids=["load", "digest", "start"],
)
def test_missing_pieces_are_named(folder, tmp_path, use):
    with pytest.raises(CheckpointError, match=r"there is no model folder .*nowhere\n  fix: check the path"):
        use(tmp_path / "nowhere")
    (folder / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"has no model.safetensors\n  fix: give a model folder"):
        use(folder)
    (folder / "config.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"config.json is damaged"):
        use(folder)


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


# -------------------------------------------------------------------------------------------------------------- where


def test_every_registered_network_is_loaded_by_its_class_and_by_any(tmp_path):
    for name in list_models():
        if find_method(name).kind == "estimator" or name == "htnet":
            continue
        model = create_model(name, classes=4)
        folder = model.save_pretrained(tmp_path / name)
        for kind in (type(model), Network):
            again = kind.from_pretrained(folder)
            assert type(again) is type(model) and again.settings == model.settings and not again.training


def test_the_class_of_another_model_is_refused(folder):
    with pytest.raises(CheckpointError, match=r"of class Epir, not ModuleNetwork\n  fix: use Epir.from_pretrained"):
        ModuleNetwork.from_pretrained(folder)


def test_shipped_is_the_folder_of_the_package():
    assert find_folder() == find_folder("shipped") == find_folder(SHIPPED) == shipped_folder()
    assert shipped_folder().name == "weights"
    assert find_folder("some/where/else") == module.Path("some/where/else")  # no name on the hub has two slashes


def test_without_shipped_weights_a_folder_must_be_named(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "shipped_folder", lambda: tmp_path)
    with pytest.raises(CheckpointError, match=r"come with epir are missing\n  fix: install epir again, or name"):
        find_folder()


def test_a_name_on_the_hub_is_downloaded(folder, monkeypatch):
    import huggingface_hub

    asked = []

    def snapshot_download(name, **options):
        asked.append((name, sorted(options["allow_patterns"])))
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    assert isinstance(Network.from_pretrained("someone/epir"), Epir)
    assert asked == [
        ("someone/epir", ["README.md", "config.json", "model.safetensors", "seen.json", "seen.npy"])
    ]  # no pickle, no code


@pytest.mark.parametrize(
    ("error", "words"),
    [("LocalEntryNotFoundError", "hub cannot be reached"), ("RepositoryNotFoundError", "no public model of that name")],
)
def test_a_name_that_the_hub_does_not_give_is_an_error_with_a_fix(monkeypatch, error, words):
    import httpx
    import huggingface_hub
    from huggingface_hub import errors

    def fail(name, **options):
        if error == "LocalEntryNotFoundError":
            raise errors.LocalEntryNotFoundError("offline")
        raise errors.RepositoryNotFoundError(
            "404", response=httpx.Response(404, request=httpx.Request("GET", "http://x"))
        )

    monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
    with pytest.raises(CheckpointError, match=rf"no model folder someone/epir, and .*{words}\n  fix: check the path"):
        find_folder("someone/epir")


def test_views_and_classes_come_from_the_notes(model, tmp_path):
    folder = model.save_pretrained(tmp_path / "noted", notes={"mirror": False, "shift": 2})
    assert read_config(folder).views == {"mirror": False, "shift": 2}
    assert read_config(folder).classes == ("class 0", "class 1", "class 2")


# ----------------------------------------------------------------------------------------------------- start from one


TWO = ("calm", "moved")


def tiny(**changes):
    torch.manual_seed(0)
    return create_model("ststnet", **({"map_size": 12, "classes": 2} | changes))


def saved(model, folder, labels=TWO, **changes):
    model.save_pretrained(folder / "model", labels=labels)
    if changes:
        save_file(model.state_dict() | changes, folder / "model" / "model.safetensors")
        sign(folder / "model")
    return folder / "model"


def test_weights_are_copied(tmp_path):
    source, model = tiny(), tiny()
    torch.nn.init.constant_(source.module.head.weight, 0.25)
    assert start_from(model, saved(source, tmp_path), TWO)
    assert all(
        torch.equal(a, b) for a, b in zip(model.state_dict().values(), source.state_dict().values(), strict=True)
    )


def test_half_precision_becomes_single(tmp_path):
    source, model = tiny(), tiny()
    start_from(model, saved(source.half(), tmp_path), TWO)
    assert model.module.head.weight.dtype == torch.float32
    torch.testing.assert_close(model.module.head.weight, source.module.head.weight.float())


@pytest.mark.parametrize("classes", [tuple("abcde"), ("moved", "calm"), ("joy", "fear")])
def test_a_head_of_other_classes_keeps_its_random_start(tmp_path, classes):
    """Others in number, in order, or in name alone: a weight for joy says nothing about calm."""
    source, model = tiny(), tiny(classes=len(classes))
    torch.nn.init.constant_(source.module.streams[0][2].weight, 3.0)
    before = model.module.head.weight.detach().clone()
    assert not start_from(model, saved(source, tmp_path), classes)
    assert torch.equal(model.module.head.weight, before) and float(model.module.streams[0][2].weight.detach()[0]) == 3


def test_a_head_without_names_is_known_by_its_number_of_classes(tmp_path):
    folder = saved(tiny(), tmp_path, labels=())
    assert start_from(tiny(), folder, ("joy", "fear"))
    assert not start_from(tiny(classes=3), folder, ("joy", "fear", "calm"))


@pytest.mark.parametrize("classes", [2, 5, 7])
def test_the_paper_s_model_starts_from_the_shipped_weights_with_any_classes(classes):
    model = Epir(preset("epir", classes=classes, normalise="squash"))
    before = model.head.weight.detach().clone()
    assert not start_from(model, SHIPPED, [str(number) for number in range(classes)])
    assert torch.equal(model.head.weight, before)
    shipped = Epir.from_pretrained(shipped_folder())
    maps = torch.randn(2, 3, 28, 28)
    torch.testing.assert_close(model.eval().forward_features(maps), shipped.forward_features(maps))


def test_weights_of_another_model_are_refused(tmp_path):
    other = create_model("off-apexnet", classes=2).save_pretrained(tmp_path / "other")
    with pytest.raises(CheckpointError, match=r"weights of another model: .*\n  fix: start from .* of 'ststnet'"):
        start_from(tiny(), other, TWO)


@pytest.mark.parametrize(
    ("name", "shape", "words"),
    [
        ("module.streams.0.2.weight", (7,), r"is \(7,\), the model's is \(3,\)\n  fix: use"),
        ("module.head.weight", (3, 2), r"is \(3, 2\), the model's is .*\n  fix: use"),
    ],
)
def test_weights_of_another_size_are_refused(tmp_path, name, shape, words):
    folder = saved(tiny(), tmp_path, **{name: torch.zeros(shape)})
    with pytest.raises(CheckpointError, match=f"does not fit: its {name} {words}"):
        start_from(tiny(), folder, TWO)


def test_weights_fit_a_model_that_differs_in_its_head_or_its_loss_only(tmp_path):
    tiny().save_pretrained(tmp_path / "mine")
    assert can_start(tiny(classes=5, normalise="none", dropout=0.0).settings, tmp_path / "mine")
    assert not can_start(tiny(map_size=8).settings, tmp_path / "mine")
    assert not can_start(tiny().settings, tmp_path / "nothing here")


def test_weights_for_other_classes_are_refused(tmp_path):
    folder = saved(tiny(), tmp_path)
    words = "classify calm, moved, but the protocol has a, b\n  fix: choose the protocol"
    with pytest.raises(CheckpointError, match=words):
        check_fits(folder, classes=("a", "b"), map_size=12)
    with pytest.raises(CheckpointError, match=r"are for 12 px maps, but the map set has 28 px\n  fix: .*--size 12"):
        check_fits(folder, classes=TWO, map_size=28)


def test_weights_without_names_need_the_right_number_of_classes(tmp_path):
    folder = saved(tiny(), tmp_path, labels=())
    check_fits(folder, classes=("a", "b"), map_size=12)
    with pytest.raises(CheckpointError, match="classify 2 classes, but the protocol has a, b, c"):
        check_fits(folder, classes=("a", "b", "c"), map_size=12)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("half", [False, True])
def test_weights_that_are_no_numbers_are_refused(folder, value, half):
    weights = load_file(folder / "model.safetensors")
    name = sorted(weights)[3]
    weights[name].view(-1)[-1] = value
    save_file({key: each.half() if half else each for key, each in weights.items()}, folder / "model.safetensors")
    for use in (
        module.load_network,
        lambda place: start_from(Epir(preset("epir", width=24, feed_forward=32)), place, ()),
    ):
        with pytest.raises(CheckpointError, match=rf"the weights '{name}' hold NaN or infinity\n  fix: .*train again"):
            use(folder)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "device"])
def test_only_regular_files_are_opened(folder, name, kind):
    path = folder / name
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(path if kind == "loop" else "/dev/zero")
    words = {
        "pipe": "a pipe or a device",
        "device": "a pipe or a device",
        "folder": "a folder",
        "loop": "a loop of links",
    }
    with pytest.raises(CheckpointError, match=f"{name} is {words[kind]}"):
        module.load_network(folder)
