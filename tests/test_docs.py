"""What README and docs say holds: commands parse, links and files exist, and their Python runs."""

import re
import shlex
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from epir.cli.verbs import app
from epir.core.config import override
from epir.synthetic.corpus import CorpusSettings, write_corpus

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = re.compile(r"(?:^ {4}(?:\$ )?|`)(epir [a-z][a-z-]*\b(?:[^`\n\\]|\\\n)*)", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
HADOLINT = shutil.which("hadolint", path=Path(sys.executable).parent)


def commands(page):
    for found in COMMAND.finditer(page.read_text(encoding="utf-8")):
        text = found[1].replace("\\\n", " ").split(" # ")[0].replace("...", "").strip()
        yield pytest.param(text, id=f"{page.name}:{text}")


@cache
def options_by_verb():
    return {
        verb: {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        for verb, command in typer.main.get_command(app).commands.items()
    }


EVERY_COMMAND = [each for page in PAGES for each in commands(page)]


@pytest.mark.parametrize("text", EVERY_COMMAND)
def test_a_command_in_the_docs_has_a_verb_and_options_that_exist(text):
    verb, *arguments = shlex.split(text)[1:]
    options = options_by_verb().get(verb)
    assert options, f"epir has no verb {verb!r}"
    for argument in arguments:
        if argument.startswith("-") and not re.fullmatch(r"-?\d.*", argument):
            assert argument.split("=")[0] in options | {"-h", "--help"}, f"epir {verb} has no option {argument}"


def test_there_are_many_commands_to_check():
    assert len(EVERY_COMMAND) > 60


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files_and_headings_that_exist(page):
    for link, picture in LINK.findall(page.read_text(encoding="utf-8")):
        target, _, anchor = (link or picture).partition("#")
        if "://" in target or target.startswith("mailto:"):
            continue
        file = (page.parent / target) if target else page
        assert file.exists(), f"{page.name} links to {target}, which does not exist"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in slugs, f"{page.name} links to {target}#{anchor}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page):
    homes = (ROOT, ROOT / "src/epir", ROOT / "tests", ROOT / "docs")
    for name in re.findall(
        r"`((?:src|tests|docs|examples|\w+)/[\w./-]+\.(?:py|csv|toml|md|ipynb))\b", page.read_text("utf-8")
    ):
        assert name.startswith(("OUT/", "mine/", "my/")) or any((home / name).exists() for home in homes), name


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """A folder with what the pages read, under the names that they use: a small synthetic corpus, maps, videos."""
    from epir.frames.film import write_film
    from epir.frames.reader import open_frames
    from epir.maps.prepare import prepare

    folder = tmp_path_factory.mktemp("workplace")
    write_corpus(
        folder / "demo/corpus", override(CorpusSettings(), ["people=3", "clips=3", "idle=0", "fps=50", "size=240"])
    )
    prepare("synthetic", folder / "demo/corpus", folder / "demo/maps", workers=1)
    (folder / "corpus").symlink_to("demo/corpus")
    (folder / "videos").mkdir()
    with open_frames(folder / "demo/corpus/001/001_01") as frames:
        film = write_film(folder / "videos/a.mp4", [frames.read(number) for number in frames.numbers], 50)
    for name in ("a.mp4", "b.mp4", "interview.mp4"):
        shutil.copy(film, folder / name)
    return folder


QUICK = 'training="scratch", changes=["training.epochs=1", "model.blocks=3"], engine=epir.Engine(workers=1)'
PYTHON = {  # every page with Python but two: those of datasets.md and web.md run where their corpora and server are
    "README.md": [('protocol="sde"', f'protocol="sde", {QUICK}')],
    "peers.md": [],
    "recipes.md": [],
    "synthetic.md": [("6000", "8"), ("workers=2", "workers=1")],
    "video.md": [("corpora/few/001/001_04", "demo/corpus/001/001_01")],
}


def python_of(page):
    return "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))


def test_every_page_with_python_is_run():
    assert {page.name for page in PAGES if python_of(page)} == {*PYTHON, "datasets.md", "web.md"}
    assert not [page.name for page in PAGES if re.search(r"^    (import|from) ", page.read_text("utf-8"), re.MULTILINE)]


@pytest.mark.slow
@pytest.mark.parametrize("name", PYTHON)
def test_the_python_of_a_page_runs(name, workplace, monkeypatch):
    monkeypatch.chdir(workplace)
    program = python_of(next(page for page in PAGES if page.name == name))
    for old, new in PYTHON[name]:
        assert old in program
        program = program.replace(old, new)
    names = {}
    exec(compile(program, name, "exec"), names)
    if name == "README.md":
        strict, best_epoch = (names["run"].scores[column]["uf1"] for column in ("strict", "best_epoch"))
        assert 0 <= strict <= best_epoch <= 1 and names["answer"].text


@pytest.mark.slow
def test_the_commands_of_the_readme_run(workplace, monkeypatch):
    """Those of a corpus and of a video, on synthetic faces and with little training."""
    monkeypatch.chdir(workplace)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    known = [("casme2 /data/CASME2", "synthetic demo/corpus"), ("sde-casme2", "sde"), ("demo/maps", "maps/casme2")]
    little = " --training scratch --set training.epochs=1 --set model.blocks=3 --workers 1"
    ran = []
    for line in re.findall(r"^    epir (.+)$", text, re.MULTILINE):
        command = line.split(" # ")[0].strip()
        verb = command.split()[0]
        if verb == "serve":  # it has tests of its own
            continue
        for old, new in known:
            command = command.replace(old, new)
        done = CliRunner().invoke(app, shlex.split(command + (little if verb in ("evaluate", "train") else "")))
        assert done.exit_code == 0, f"epir {command}: {done.output}"
        ran.append(verb)
    assert ran == ["predict", "predict", "check", "prepare", "evaluate", "report", "train", "predict"]
    for path in ("why", "events.csv", "maps/casme2/maps.npy", "runs/casme2/report.html", "models/mine/config.json"):
        assert (workplace / path).exists()


@pytest.mark.skipif(HADOLINT is None, reason="hadolint is not installed")
def test_the_dockerfile_passes_hadolint():
    done = subprocess.run([HADOLINT, ROOT / "Dockerfile"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
