"""What README and docs say holds: every command parses, every link leads somewhere, and the Python block runs."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from epir.cli.main import app
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


EVERY_COMMAND = [each for page in PAGES for each in commands(page)]


@pytest.mark.parametrize("text", EVERY_COMMAND)
def test_a_command_in_the_docs_has_a_verb_and_options_that_exist(text):
    verb, *arguments = shlex.split(text)[1:]
    known = typer.main.get_command(app).commands
    assert verb in known, f"epir has no verb {verb!r}"
    options = {name for parameter in known[verb].params for name in (*parameter.opts, *parameter.secondary_opts)}
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


@pytest.mark.slow
def test_the_python_block_of_the_readme_runs(tmp_path):
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    write_corpus(tmp_path / "demo/corpus", override(CorpusSettings(), ["people=3", "clips=3", "idle=0", "fps=50"]))
    quick = block.replace('protocol="sde"', 'protocol="sde", training="scratch", changes=["training.epochs=1"]')
    program = f"import torch\nsome_maps = torch.zeros(2, 3, 28, 28)\n{quick}"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    strict, best_epoch = map(float, done.stdout.split())
    assert 0 <= strict <= best_epoch <= 1


@pytest.mark.skipif(HADOLINT is None, reason="hadolint is not installed")
def test_the_dockerfile_passes_hadolint():
    done = subprocess.run([HADOLINT, ROOT / "Dockerfile"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
