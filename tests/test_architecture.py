"""Imports go one way, heavy parts stay where they belong, and `import epir` is light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import epir

SRC = Path(epir.__file__).parent

MAY_IMPORT = {
    "core": "",
    "datasets": "",
    "frames": "",
    "faces": "frames",
    "flow": "frames faces",
    "maps": "datasets frames faces flow",
    "synthetic": "datasets frames flow maps",
    "models": "frames faces",
    "training": "models",
    "evaluation": "datasets maps models training",
    "spotting": "datasets frames faces flow synthetic",
    "reports": "datasets frames faces flow maps spotting models training evaluation",
    "final": "maps models training evaluation",
    "recognition": "datasets frames faces flow spotting models reports",
    "web": "frames faces flow synthetic spotting reports final recognition",
    "annotation": "datasets frames faces flow spotting reports recognition web",
    "bench": "*",
    "cli": "*",
}

# Third-party weight, and the only folders that may carry it.
AT_HOME = {
    "simplejpeg": "frames",
    "cv2": "frames faces flow maps synthetic spotting recognition bench",
    "torch": "maps models training reports final bench",
    "matplotlib": "reports recognition",
    "pandas": "maps recognition",
    "pympi": "datasets",
    "praatio": "datasets",
    "openpyxl": "datasets",
    "sklearn": "models evaluation spotting",
    "ray": "core",
    "fastapi": "web annotation",
    "starlette": "web",
    "uvicorn": "web",
    "python_multipart": "web",
    "typer": "cli",
    "rich": "cli",
}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            yield node.module or "", node.level
        elif isinstance(node, ast.Import):
            yield from ((name.name, 0) for name in node.names)


def files():
    return [path for path in sorted(SRC.rglob("*.py")) if path.parent != SRC]


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(SRC)))
def test_imports_go_one_way(path):
    folder = path.relative_to(SRC).parts[0]
    lower = MAY_IMPORT[folder].split() if MAY_IMPORT[folder] != "*" else [name for name in MAY_IMPORT if name != "cli"]
    allowed = {folder, "core", *lower}
    for module, level in imports(path):
        assert level == 0, f"{path} has a relative import"
        if module.startswith("epir."):
            assert module.split(".")[1] in allowed, f"{folder} may not import {module}"
        third_party = module.split(".")[0]
        assert folder in AT_HOME.get(third_party, folder).split(), f"{third_party} does not belong in {folder}"


def used_by(folder):
    """The folders of epir and the packages that a folder imports from."""
    modules = [module for path in (SRC / folder).rglob("*.py") for module, _ in imports(path)]
    return {module.split(".")[1 if module.startswith("epir.") else 0] for module in modules}


@pytest.mark.parametrize("folder", [name for name in MAY_IMPORT if MAY_IMPORT[name] != "*"])
def test_no_folder_may_import_more_than_it_does(folder):
    packages = {name for name, homes in AT_HOME.items() if folder in homes.split()}
    assert {*MAY_IMPORT[folder].split(), *packages} - used_by(folder) == set(), "these permissions are not needed"


def test_links_are_followed_by_one_function():
    """`Path.resolve` ends in a traceback at a loop of links; `epir.core.output.resolved` does not."""
    assert [path for path in files() if ".resolve()" in path.read_text(encoding="utf-8")] == []


def test_every_folder_is_named():
    folders = {path.name for path in SRC.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    assert folders <= set(MAY_IMPORT), "add the new folder to MAY_IMPORT"


def loaded_after(statement, check="pass"):
    code = f"import sys, os; before = dict(os.environ); {statement}; {check}; print(*sys.modules)"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_epir_is_light_and_silent():
    output = loaded_after("import epir", check="assert dict(os.environ) == before")
    assert "\n" not in output.strip()
    for heavy in ("torch", "cv2", "numpy", "pandas", "matplotlib", "typer"):
        assert heavy not in output.split()


def test_the_command_line_loads_nothing_heavy_before_a_verb_runs():
    loaded = loaded_after("import epir.cli.usage, epir.cli.verbs", check="assert dict(os.environ) == before").split()
    for heavy in ("torch", "cv2", "numpy", "pandas", "matplotlib", "sklearn", "joblib"):
        assert heavy not in loaded


def test_signals_are_heeded_before_even_typer_is_imported():
    assert not {"typer", "rich", "epir.cli.verbs"} & set(loaded_after("import epir.cli.main").split())


@pytest.mark.parametrize(("folders", "heavy"), [("datasets", "torch cv2"), ("frames faces flow", "torch")])
def test_reading_a_corpus_needs_no_torch(folders, heavy):
    paths = (path for folder in folders.split() for path in (SRC / folder).glob("[!_]*.py"))
    loaded = loaded_after("; ".join(f"import epir.{path.parent.name}.{path.stem}" for path in paths)).split()
    assert not set(heavy.split()) & set(loaded)


def test_the_model_needs_no_opencv():
    assert "cv2" not in loaded_after("import epir.models.epir").split()


@pytest.mark.parametrize("name", epir.__all__)
def test_every_public_name_is_there_and_shows_its_use(name):
    public = getattr(epir, name)
    assert public.__name__ == name
    assert ">>> " in public.__doc__ or f"epir.{name}(" in public.__doc__  # an example that runs, or a call


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        epir.nothing  # noqa: B018


@pytest.mark.slow
def test_a_user_s_type_checker_sees_the_real_signatures(tmp_path, monkeypatch):
    """With the settings and the cache of `make check`, after which it takes seconds."""
    from mypy import api

    assert (SRC / "py.typed").exists()
    monkeypatch.chdir(SRC.parent.parent)
    monkeypatch.setenv("MYPYPATH", "src")
    uses = "\n".join(f"reveal_type(epir.{name})" for name in epir.__all__)
    (tmp_path / "user.py").write_text(f"import epir\n{uses}\n")
    output, errors, _ = api.run([str(tmp_path / "user.py")])
    revealed = [line.split("Revealed type is ")[1] for line in output.splitlines() if "Revealed type" in line]
    assert not errors and len(revealed) == len(epir.__all__), output
    vague = [f"{name}: {kind}" for name, kind in zip(epir.__all__, revealed, strict=True) if kind.strip('"') == "Any"]
    assert vague == []
