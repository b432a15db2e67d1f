"""What README and docs say holds: commands parse, links and files exist, Python runs, the reference is complete."""

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
sys.path.insert(0, str(ROOT / "docs"))
import reference  # noqa: E402

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
        generated = reference.PAGES.get(target.removeprefix("docs/"))
        assert generated or file.exists(), f"{page.name} links to {target}, which does not exist"
        if anchor:
            text = generated() if generated else file.read_text(encoding="utf-8")
            headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in slugs, f"{page.name} links to {target}#{anchor}: no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page):
    homes = (ROOT, ROOT / "src/epir", ROOT / "tests", ROOT / "docs")
    for name in re.findall(
        r"`((?:src|tests|docs|examples|\w+)/[\w./-]+\.(?:py|csv|toml|md|ipynb))\b", page.read_text("utf-8")
    ):
        assert (
            name.startswith(("OUT/", "mine/", "my/")) or "NAME" in name or any((home / name).exists() for home in homes)
        ), name


# ------------------------------------------------------------------------------------ reference and glossary


def test_the_page_of_commands_has_every_verb_and_option():
    page = reference.commands()
    for verb, options in options_by_verb().items():
        assert f"### epir {verb}\n" in page
        assert all(f"`{name}`" in page for name in options - {"--help", "-h", "--json"} if name.startswith("--"))


def test_the_page_of_settings_has_every_setting_and_recipe():
    from epir.cli.listing import _settings
    from epir.training.recipe import RECIPES

    page = reference.settings()
    assert all(f"| `{name}` |" in page for name in (*_settings(), *RECIPES))


def test_every_public_name_is_under_a_topic():
    homes = reference.public_names()
    page = reference.api()
    assert all(f"::: {home}.{name}\n" in page for name, home in homes.items())
    assert {name for names in reference.TOPICS.values() for name in names} <= set(homes)


def test_the_page_of_corpora_has_every_corpus_protocol_and_correction():
    from epir.datasets.base import all_corrections
    from epir.datasets.protocols import list_protocols
    from epir.datasets.registry import list_corpora

    page = reference.corpora()
    assert all(f"| `{name}` |" in page for name in (*list_corpora(), *list_protocols()))
    assert all(f"| `{one.clip}` | {one.field} | {one.old} | {one.new} |" in page for one in all_corrections())


def test_every_column_of_the_tables_is_explained():
    assert not re.findall(r"^\| `(\w+)` \|  \|$", reference.files(), re.MULTILINE)


def test_the_page_of_models_counts_and_names_source_and_departures(monkeypatch):
    from epir.models.registry import BASELINES, about_models

    counted = []
    monkeypatch.setattr(reference, "count_model", lambda name: counted.append(name) or ("1", "1 M"))
    page = reference.models()
    assert all(f"| `{name}` |" in page for name in about_models())
    assert "epir" in counted and "bi-woof" not in counted
    assert all(f"### {name}\n" in page for name in BASELINES)
    assert page.count("Source: [") == page.count("Departs from [") == len(BASELINES)


def test_counts_of_a_model_are_those_of_its_paper():
    assert reference.count_model("ststnet") == ("1,683", "0.34 M")


def test_every_printed_method_is_a_model_or_says_why_not():
    own = {"Baseline", "MDMO", *reference.PRINTED.values()}
    methods = {row["method"].replace("μ", "u") for row in reference.published_rows()}
    assert {name for name in methods if name not in own and not name.startswith("+")} == set(reference.NOT_HERE)


def test_every_term_of_the_glossary_is_used_elsewhere():
    glossary = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^\| ([^|]+) \| ", glossary, re.MULTILINE)[1:]
    assert terms == sorted(terms, key=str.casefold)
    texts = [page.read_text(encoding="utf-8") for page in PAGES if page.name != "glossary.md"]
    texts += [path.read_text(encoding="utf-8") for path in sorted((ROOT / "src/epir").rglob("*.py"))]
    everything = re.sub(r"\s+", " ", "\n".join(texts)).casefold()
    assert not [term for term in terms if term.casefold() not in everything]


def test_the_log_is_outside_of_the_navigation_and_no_page_speaks_private_words():
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "log.md" in site.partition("\nnav:")[0] and "log.md" not in site.partition("\nnav:")[2]
    private = re.compile(r"part 0|the man who talks|old unit 7|\bdraws and\b", re.IGNORECASE)
    assert not [page.name for page in PAGES if private.search(page.read_text(encoding="utf-8"))]


def test_the_page_on_spotting_has_the_table_of_what_is_seen():
    page = (ROOT / "docs/spotting.md").read_text(encoding="utf-8")
    lines = (ROOT / "src/epir/spotting/visibility.csv").read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if not line.startswith("#")][1:]
    for condition, _, movements, reported, _ in (line.split(",") for line in rows):
        row = next(line for line in page.splitlines() if line.startswith((f"| {condition} |", f"| {condition} (")))
        assert f"| {reported} of {movements} |" in row


# --------------------------------------------------------------------------------------------- Python and commands


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
PYTHON = {  # every page with Python but those of ELSEWHERE
    "README.md": [('protocol="sde"', f'protocol="sde", {QUICK}')],
    "synthetic.md": [("6000", "8"), ("workers=2", "workers=1")],
    "your-network.md": [('out=f"{folder}/run"', 'out=f"{folder}/run", engine=epir.Engine(workers=1)')],
    "video.md": [],
    "bring-maps.md": [],
    "train.md": [],
}


ELSEWHERE = {"datasets.md", "own-corpus.md", "spotting_protocol.md", "web.md"}  # run where their corpora and server are


def python_of(page):
    return "\n".join(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL))


def test_every_page_with_python_is_run():
    assert {page.name for page in PAGES if python_of(page)} == {*PYTHON, *ELSEWHERE}
    assert not [page.name for page in PAGES if re.search(r"^    (import|from) ", page.read_text("utf-8"), re.MULTILINE)]


@pytest.mark.slow
@pytest.mark.parametrize("name", [page.name for page in PAGES if page.name in PYTHON])
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
    """Every door as it stands, on a smaller demo and with little training."""
    monkeypatch.chdir(workplace)
    (workplace / "examples").symlink_to(ROOT / "examples")
    little = " --set training.epochs=1 --workers 1"
    ran = []
    for line in re.findall(r"^    epir ([a-z].+)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE):
        command = line.split(" # ")[0].strip()
        verb = command.split()[0]
        if verb == "serve":  # it has tests of its own
            continue
        little_training = little if verb == "evaluate" and "--zero-shot" not in command else ""
        done = CliRunner().invoke(app, shlex.split(command + little_training))
        assert done.exit_code == 0, f"epir {command}: {done.output}"
        ran.append(verb)
    assert ran == ["predict", "predict", "check", "evaluate", "report", "evaluate", "compare", "report"]
    for path in ("why/001_01", "events.csv", "runs/first/report.html", "runs/mine/report.html"):
        assert (workplace / path).exists()


@pytest.mark.skipif(HADOLINT is None, reason="hadolint is not installed")
def test_the_dockerfile_passes_hadolint():
    done = subprocess.run([HADOLINT, ROOT / "Dockerfile"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
