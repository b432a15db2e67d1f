import sys
from hashlib import sha256

import pytest

from epir.core.errors import ConfigError, DatasetError
from epir.core.plugins import is_plugin_name, list_plugins, load_object

MODEL = {"group": "epir.models", "what": "model"}


@pytest.fixture
def write(tmp_path):
    def written(text, name="my_net.py"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return written


@pytest.fixture
def installed(write, tmp_path, monkeypatch):
    """A package `lab_nets` 1.2 with an entry point `deep`."""
    write("class Net:\n    pass\nsize = 3\n", "lab_nets.py")
    info = tmp_path / "lab_nets-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lab-nets\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[epir.models]\ndeep = lab_nets:Net\nlost = lab_nets:Nett\n")
    (info / "top_level.txt").write_text("lab_nets\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("lab_nets", None)


def test_a_file_is_imported_once_and_recorded_by_its_content(write):
    path = write("from dataclasses import dataclass\n@dataclass\nclass Net:\n    width: int = 3\n")
    net, record = load_object(f"{path}:Net", **MODEL)
    assert net().width == 3
    assert record.source == str(path) and record.digest == sha256(path.read_bytes()).hexdigest()[:16]
    assert record.to_dict() == {"name": f"{path}:Net", "digest": record.digest}
    assert load_object(f"{path}:Net", **MODEL)[0] is net
    path.write_text("class Net:\n    width = 4\n")
    changed, new = load_object(f"{path}:Net", **MODEL)
    assert changed.width == 4 and new.digest != record.digest


def test_a_relative_name_leads_there_from_any_folder(write, tmp_path, monkeypatch):
    write("def net():\n    return 7\n")
    monkeypatch.chdir(tmp_path)
    _, record = load_object("my_net.py:net", **MODEL)
    monkeypatch.chdir("/")
    assert load_object(record.reference, **MODEL)[0]() == 7


def test_a_file_may_import_its_neighbours_and_leaves_the_path_alone(write):
    write("answer = 7\n", "neighbour_of_my_net.py")
    path, before = write("from neighbour_of_my_net import answer\ndef net(): return answer\n"), list(sys.path)
    assert load_object(f"{path}:net", **MODEL)[0]() == 7
    assert sys.path == before
    del sys.modules["neighbour_of_my_net"]


def test_an_entry_point_carries_its_package_and_version(installed):
    assert list_plugins("epir.models") == ("deep", "lost")
    net, record = load_object("deep", **MODEL)
    assert net.__name__ == "Net" and (record.distribution, record.version) == ("lab-nets", "1.2")
    assert record.reference == "deep" and len(record.digest) == 16
    assert load_object("lab_nets:Net", **MODEL)[1].version == "1.2"
    with pytest.raises(
        ConfigError, match=r"^lost cannot be loaded: there is no 'Nett' in it\n  fix: did you mean 'Net'\?$"
    ):
        load_object("lost", **MODEL)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.py:net", r"there is no file nowhere\.py\n  fix: check the path; it should define the model$"),
        ("my_net.py", r"'my_net\.py' names no model\n  fix: write the name after a colon: my_net\.py:NAME$"),
        ("my_net.py:nett", r"my_net\.py:nett cannot be loaded: there is no 'nett' in it\n  fix: did you mean 'net'\?$"),
        ("my_net.py:zzz", r"there is no 'zzz' in it\n  fix: it has: net$"),
        ("my_net.py:size", r"my_net\.py:size is a value of type int, not a model\n  fix: name a function or a class$"),
        ("no_such_package.nets:Net", r"there is no module 'no_such_package\.nets' for .*\n  fix: install its package"),
        ("dep", r"there is no model 'dep'\n  fix: did you mean 'deep'\?$"),
    ],
)
def test_what_cannot_be_loaded_is_told_in_two_lines(write, installed, tmp_path, monkeypatch, name, message):
    write("def net():\n    return 7\nsize = 3\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=message):
        load_object(name, **MODEL, known=("epir",))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import os\nnet = undefined\n", "line 2, cannot be imported: NameError: name 'undefined' is not defined"),
        ("def net(:\n", "line 1, cannot be imported: SyntaxError: invalid syntax"),
        ("\n\nimport no_such_thing\n", "line 3, cannot be imported: ModuleNotFoundError: No module named"),
        ("raise SystemExit(3)\n", "line 1, cannot be imported: SystemExit: 3"),
        ("x = 1\x00\n", "cannot be imported: (SyntaxError|ValueError): source code"),  # ValueError before Python 3.11.4
    ],
)
def test_a_file_that_fails_to_import_names_the_line(write, text, words):
    path = write(text)
    with pytest.raises(DatasetError, match=words) as failed:
        load_object(f"{path}:net", group="epir.corpora", what="corpus", error=DatasetError)
    assert failed.value.problem.startswith("my_net.py") and len(str(failed.value).splitlines()) == 2


def test_names_of_code_and_other_names():
    assert is_plugin_name("a.py:b") and is_plugin_name("a.b:c") and is_plugin_name("a.py")
    assert not is_plugin_name("casme2")
