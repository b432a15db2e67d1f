"""HTML that is safe by default (text is escaped unless it is `Markup` already), and the page around it."""

import base64
import re
from html import escape
from importlib.resources import files
from itertools import count
from string import Template

from epir import __version__
from epir.core.table import Kind, Table

PAPER = "https://doi.org/10.1145/3731715.3733270"
VOID = frozenset({"br", "col", "hr", "img", "input", "link", "meta", "wbr"})


class Markup(str):
    """Text that is HTML already and must not be escaped again."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str | int | float | bool | None) -> Markup:
    """One element with its children; `class_` and `aria_label` give `class` and `aria-label`.

    An attribute that is `None` or `False` is left out; one that is `True` has no value.

    >>> element("td", "a < b", class_="name")
    '<td class="name">a &lt; b</td>'
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        assert not children, f"<{name}> has no children"
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def join(*parts: str) -> Markup:
    """The parts one after the other, escaped where they are plain text."""
    return Markup("".join(part if isinstance(part, Markup) else escape(part) for part in parts))


def tag(text: str, kind: Kind) -> Markup:
    """A small label that says what kind of score a number is."""
    return element("span", text, class_=f"tag {kind}")


def html_table(table: Table) -> Markup:
    """A table with its caption and notes."""
    return Markup(table.html())


def data_url(content: bytes, kind: str) -> str:
    """A picture as a `data:` address, so that the page needs no other file."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def whole_page(title: str, body: Markup) -> str:
    """The page around a body, with its style inside."""
    here = files("epir.reports")
    return Template((here / "page.html").read_text(encoding="utf-8")).substitute(
        version=__version__,
        paper=PAPER,
        title=join(f"{title}: EPIR report"),
        style=(here / "style.css").read_text(encoding="utf-8"),
        body=with_unique_ids(body),
    )


def section(ident: str, title: str, content: Markup) -> Markup:
    """A part of the page under its own heading."""
    return element("section", element("h2", title), content, id=ident)


def with_unique_ids(page: str) -> Markup:
    """The page with the names inside its SVG numbered by figure, since each figure begins anew."""
    numbers = count(1)

    def each(match: re.Match[str]) -> str:
        number = next(numbers)
        return re.sub(r"( id=\"|url\(#|href=\"#)", rf"\1f{number}-", match[0])

    return Markup(re.sub(r"<svg .*?</svg>", each, page, flags=re.DOTALL))


def _attribute(key: str, value: str | int | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
