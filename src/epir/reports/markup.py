"""HTML that is safe by default (text is escaped unless it is `Markup`), and the page template."""

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
    """Text that is already HTML and must not be escaped again."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str | int | float | bool | None) -> Markup:
    """Return an element with its children; `class_` and `aria_label` become `class` and `aria-label`.

    Attributes that are `None` or `False` are omitted; `True` gives an attribute without a value.

    >>> element("td", "a < b", class_="name")
    '<td class="name">a &lt; b</td>'
    """
    written = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        assert not children, f"<{name}> has no children"
        return Markup(f"<{name}{written}>")
    return Markup(f"<{name}{written}>{join(*children)}</{name}>")


def join(*parts: str) -> Markup:
    """Concatenate the parts, escaping plain text."""
    return Markup("".join(part if isinstance(part, Markup) else escape(part) for part in parts))


def tag(text: str, kind: Kind) -> Markup:
    """Return a small label for the kind of a score."""
    return element("span", text, class_=f"tag {kind}")


def html_table(table: Table) -> Markup:
    """Return a table with its caption and notes."""
    return Markup(table.html())


def data_url(content: bytes, kind: str) -> str:
    """Return a picture as a `data:` URL, so that the page needs no other file."""
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def whole_page(title: str, body: Markup) -> str:
    """Return the complete page of a body, with the style inside."""
    here = files("epir.reports")
    return Template((here / "page.html").read_text(encoding="utf-8")).substitute(
        version=__version__,
        paper=PAPER,
        title=join(f"{title}: EPIR report"),
        style=(here / "style.css").read_text(encoding="utf-8"),
        body=with_unique_ids(body),
    )


def section(ident: str, title: str, content: Markup) -> Markup:
    """Return a section of the page with its heading."""
    return element("section", element("h2", title), content, id=ident)


def with_unique_ids(page: str) -> Markup:
    """Prefix the ids inside each SVG with the number of the figure, since every figure uses the same ids."""
    numbers = count(1)

    def prefix(match: re.Match[str]) -> str:
        number = next(numbers)
        return re.sub(r"( id=\"|url\(#|href=\"#)", rf"\1f{number}-", match[0])

    return Markup(re.sub(r"<svg .*?</svg>", prefix, page, flags=re.DOTALL))


def _attribute(key: str, value: str | int | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'
