"""The files of the page, without a browser: complete, self-contained, and no markup from text."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "src" / "epir" / "web" / "page"
SCRIPTS = sorted(PAGE.glob("*.js"))
PAGES = sorted(PAGE.glob("*.html"))
DANGEROUS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|createContextualFragment"
)


def named(paths):
    return {"argvalues": paths, "ids": [path.name for path in paths]}


@pytest.mark.parametrize("path", **named(SCRIPTS))
def test_no_script_makes_markup_or_code_from_text(path):
    assert not DANGEROUS.search(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", **named(SCRIPTS))
def test_a_script_imports_what_exists_and_uses_it(path):
    text = path.read_text(encoding="utf-8")
    for names, module in re.findall(r'import \{([^}]+)\} from "\./([\w.]+)";', text):
        other = (PAGE / module).read_text(encoding="utf-8")
        for name in (each.strip() for each in names.split(",") if each.strip()):
            assert re.search(rf"export (async )?(function|const|class) {name}\b", other), f"{module} has no {name}"
            assert len(re.findall(rf"\b{name}\b", text)) > 1, f"{name} is not used"


@pytest.mark.parametrize("path", **named(PAGES))
def test_a_page_fits_its_policy_and_links_only_to_existing_files(path):
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"\s(style|on\w+)=|<style|<script(?![^>]*\bsrc=)", text)
    for address in re.findall(r'(?:src|href)="([^"]+)"', text):
        assert address.startswith(("/", "#"))
        if address.startswith("/static/"):
            assert (PAGE / address.removeprefix("/static/")).is_file()


@pytest.mark.parametrize("path", **named(sorted(set(PAGE.iterdir()) - {PAGE / "icon.svg"})))
def test_nothing_is_loaded_from_elsewhere(path):
    assert set(re.findall(r"https?://[^\"' )]+", path.read_text(encoding="utf-8"))) <= {"http://www.w3.org/2000/svg"}


def test_every_id_that_a_script_uses_is_in_the_page():
    page = "".join(path.read_text(encoding="utf-8") for path in PAGES)
    wanted = {name for path in SCRIPTS for name in re.findall(r'byId\("([\w-]+)"\)', path.read_text(encoding="utf-8"))}
    assert len(wanted) > 20
    assert sorted(name for name in wanted if f'id="{name}"' not in page) == []
