"""What the documentation site adds to the files of this folder: the README as its first page, and the reference.

A hook of MkDocs (`hooks:` in mkdocs.yml); nothing is written twice, and nothing into this folder.
"""

import re
import sys
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs"))

import reference  # noqa: E402

PAGES = {"index.md": "README.md", "CONTRIBUTING.md": "CONTRIBUTING.md", "CHANGELOG.md": "CHANGELOG.md"}
OTHERS = {
    "CITATION.cff": "CITATION.cff",
    "weights/card.md": "src/epir/weights/README.md",
    "examples/tour.ipynb": "examples/tour.ipynb",
}


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that lie outside of docs/, and those of the reference."""
    for page, source in (PAGES | OTHERS).items():
        files.append(File.generated(config, page, content=_without_header((ROOT / source).read_text(encoding="utf-8"))))
    for page, write in reference.PAGES.items():
        files.append(File.generated(config, page, content=write()))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Links lead to where the pages lie on the site."""
    if page.file.src_uri in PAGES:
        markdown = markdown.replace("](docs/", "](")
    for site, source in (PAGES | OTHERS).items():
        if site != page.file.src_uri:
            markdown = markdown.replace(f"](../{source})", f"]({site})").replace(f"]({source})", f"]({site})")
    return markdown


def _without_header(text: str) -> str:
    """A page without the YAML header of a model card."""
    return text.split("---\n", 2)[2] if text.startswith("---\n") else text


class Examples(griffe.Extension):
    """Puts the examples of docstrings into blocks of code: Markdown would take `>>>` for quotations."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Fence each run of lines that begins with `>>>`, up to the next empty line."""
        if obj.docstring:
            obj.docstring.value = re.sub(
                r"^>>> .*(?:\n(?!\n).+)*",
                lambda found: f"```pycon\n{found[0]}\n```",
                obj.docstring.value,
                flags=re.MULTILINE,
            )
