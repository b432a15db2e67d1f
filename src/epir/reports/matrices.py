"""Confusion matrices as HTML tables, shaded by the share of each row."""

import numpy as np

from epir.reports.htmltable import tag
from epir.reports.markup import Markup, element
from epir.reports.results import Confusion
from epir.reports.wording import COLUMNS, clips, corpus_title

DARK_FROM = 0.72  # from this share on, light letters are easier to read


def matrix(confusion: Confusion) -> Markup:
    """One matrix: rows are the truth, columns the answers; share of the row large, clips small."""
    title = corpus_title(confusion.part)
    label = COLUMNS[confusion.column]
    head = element("tr", element("td"), *(element("th", name, scope="col") for name in confusion.classes))
    rows = [
        element("tr", element("th", name, scope="row"), *map(_cell, confusion.rates[number], confusion.counts[number]))
        for number, name in enumerate(confusion.classes)
    ]
    caption = element("caption", element("b", title), " ", tag(label, confusion.column))
    table = element(
        "table", caption, element("thead", head), element("tbody", *rows), class_=f"matrix {confusion.column}"
    )
    return element(
        "div", table, class_="scroll", tabindex=0, role="region", aria_label=f"Confusion matrix, {title}, {label}"
    )


def _cell(rate: float, count: float) -> Markup:
    if np.isnan(rate):
        return element("td", "–", title="this class has no clips here", class_="empty")
    return element(
        "td",
        element("b", f"{100 * rate:.0f} %"),
        element("small", clips(count)),
        style=f"--share:{rate:.3f}",
        class_="full" if rate >= DARK_FROM else None,
    )
