import json
import subprocess
import sys
from typing import get_args

import pytest
from typer.testing import CliRunner

from epir.cli.listing import What
from epir.cli.verbs import app
from epir.core.config import override
from epir.datasets.protocols import get_protocol, list_protocols
from epir.datasets.registry import list_corpora
from epir.evaluation.experiment import resolve_settings
from epir.models.registry import list_models
from epir.training.recipe import RECIPES, TrainingSettings


def listed(what):
    answer = CliRunner().invoke(app, ["list", what, "--json"])
    assert answer.exit_code == 0
    return {each["name"]: each["about"] for each in json.loads(answer.stdout)[what]}


@pytest.mark.parametrize(
    "what, names",
    [("models", list_models()), ("protocols", list_protocols()), ("recipes", RECIPES), ("corpora", list_corpora())],
)
def test_every_name_is_listed_with_a_line_about_it(what, names):
    listing = listed(what)
    assert list(listing) == list(names)
    assert all(about and "\n" not in about for about in listing.values())


def test_every_listed_setting_can_be_set_to_its_default():
    names = listed("settings")
    assert "rises" in names["training.warmup"]  # the comment beside it in the source
    for name, about in names.items():
        section, _, setting = name.partition(".")
        default = about.split("default ")[1].split(":")[0]
        if section == "training":
            assert override(TrainingSettings(), [f"{setting}={default}"]) == TrainingSettings()
        elif section == "model" and setting != "map_size":  # it follows from the maps
            resolve_settings("epir", training="scratch", changes=[f"{name}={default}"], classes=3, map_size=28)


def test_the_lines_are_aligned_text():
    lines = CliRunner().invoke(app, ["list", "recipes"]).stdout.splitlines()
    widest = max(map(len, RECIPES))
    assert [line[:widest].strip() for line in lines] == list(RECIPES)
    assert all(line[widest : widest + 2] == "  " and line[widest + 2] != " " for line in lines)


def test_lists_are_quick_because_they_do_not_import_torch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    for what in get_args(What):
        assert listed(what)


def test_an_unknown_list_is_refused_with_the_known_ones():
    answer = CliRunner().invoke(app, ["list", "weights"])
    assert answer.exit_code == 2
    assert "protocols" in answer.output


def test_a_protocol_is_printed_as_a_file_to_copy(tmp_path):
    shown = CliRunner().invoke(app, ["list", "protocols", "--show", "cde"]).stdout
    (tmp_path / "mine.toml").write_text(shown)
    assert get_protocol(str(tmp_path / "mine.toml")).maps == get_protocol("cde").maps
    answer = CliRunner().invoke(app, ["list", "protocols", "--show", "cde", "--json"])
    assert json.loads(answer.stdout) == {"protocol": "cde", "text": shown}
    refused = CliRunner().invoke(app, ["list", "models", "--show", "epir"])
    assert refused.exception.problem == "--show prints protocols, not models"


@pytest.fixture
def empty_folder(monkeypatch, tmp_path):
    """The current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_template_works_and_so_does_its_test(epir, empty_folder):
    code, out, _ = epir("new", "method", "my_net.py")
    assert code == 0 and "--model my_net.py:MyNet" in out
    assert "python -m pytest test_my_net.py (needs pytest: pip install -c constraints.txt pytest," in out
    assert 25 <= len((empty_folder / "my_net.py").read_text().splitlines()) <= 45
    test = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_net.py"],
        cwd=empty_folder,
        capture_output=True,
        text=True,
    )
    assert test.returncode == 0, test.stdout
    assert "2 passed" in test.stdout


def test_nothing_is_overwritten_without_force(epir, empty_folder):
    (empty_folder / "test_my_net.py").write_text("mine")
    code, _, err = epir("new", "method", "my_net.py")
    assert code == 2 and err == "test_my_net.py exists already\nfix: choose another name, or replace it with --force\n"
    assert not (empty_folder / "my_net.py").exists()
    assert epir("new", "method", "my_net.py", "--force")[0] == 0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("method", "my-net.py"), "my-net.py cannot be imported as a Python module"),
        (("method", "my_net"), "my_net cannot be imported as a Python module"),
        (("corpus", "my.py"), "there is no template 'corpus'"),
    ],
)
def test_names_that_cannot_be_used_are_refused(epir, empty_folder, words, problem):
    code, _, err = epir("new", *words)
    assert code == 2 and problem in err and "fix: " in err
    assert list(empty_folder.iterdir()) == []
