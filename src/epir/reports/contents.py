"""What stands on the page, in which order."""

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from string import Template

from epir import __version__
from epir.core.progress import Progress
from epir.evaluation.store import Run
from epir.reports import evidence
from epir.reports.charts import chart_figure
from epir.reports.cost import cost_table
from epir.reports.htmltable import html_table
from epir.reports.making import making_part
from epir.reports.markup import Markup, element, join
from epir.reports.sections import glossary_part, headline, scores_part
from epir.reports.series import run_titles, series_title, sweep_of
from epir.reports.sources import Sources, find_sources
from epir.reports.sweeps import integration_part, sweep_charts
from epir.reports.wording import PAPER, STRICT, score

MOST_PICTURED = 3  # runs whose token pictures are shown: each set of them is a third of a megabyte

Part = tuple[str, str, Markup]  # ident, title, content


def page(runs: Sequence[Run], *, maps: Sequence[str | Path], faces: bool, progress: Progress) -> str:
    """The whole page as HTML."""
    progress.start("report", len(runs))
    titles = run_titles(runs)
    sources = [find_sources(run, maps) for run in runs]
    first: list[Part] = [("scores", "Scores", scores_part(runs)), *series_parts(runs, sources[0], faces=faces)]
    alone = len(runs) == 1
    last: list[Part] = [("cost", "Cost", html_table(cost_table(runs)))]
    last += [made_part(runs[0], 1)] if alone else []
    last.append(("words", "What the words mean", glossary_part()))
    links = [(ident, title) for ident, title, _ in first]
    body = [section(*part) for part in first]
    for number, (run, title, source) in enumerate(zip(runs, titles, sources, strict=True), start=1):
        parts = run_parts(run, source, faces=faces, number=number)
        parts += [] if alone else [made_part(run, number)]
        body += [section(*part) for part in parts] if alone else [run_block(run, title, parts, number)]
        links += [(ident, name) for ident, name, _ in parts] if alone else [(f"run-{number}", title)]
        progress.advance(note=title)
    progress.finish()
    body += [section(*part) for part in last]
    links += [(ident, title) for ident, title, _ in last]
    contents = element("nav", *(element("a", title, href=f"#{ident}") for ident, title in links), aria_label="Contents")
    here = files("epir.reports")
    return Template((here / "page.html").read_text(encoding="utf-8")).substitute(
        version=__version__,
        paper=PAPER,
        title=join(f"{series_title(runs)} on {runs[0].experiment.protocol}: EPIR report"),
        style=(here / "style.css").read_text(encoding="utf-8"),
        body=join(headline(runs), contents, *body),
    )


def section(ident: str, title: str, content: Markup) -> Markup:
    """A part of the page under its own heading."""
    return element("section", element("h2", title), content, id=ident)


def series_parts(runs: Sequence[Run], sources: Sources, *, faces: bool) -> list[Part]:
    """What the points of a sweep show together."""
    parts: list[Part] = []
    charts = sweep_charts(runs) if len(runs) > 1 else []
    if charts:
        parts.append(("sweep", "Sweep", element("div", *map(chart_figure, charts), class_="charts")))
    if charts and sweep_of(runs) == "integration":
        pictures = integration_part(runs, sources, faces=faces)
        if pictures:
            lead = "Each token is drawn as the mean of its patches: what is left to see at each rate of integration."
            parts.append(("rates", "Token integration", join(element("p", lead, class_="lead"), pictures)))
    return parts


def run_parts(run: Run, sources: Sources, *, faces: bool, number: int) -> list[Part]:
    """What the page says about one run alone; `number` keeps the parts of several runs apart."""
    end = ending(number)
    parts = [
        (f"confusions{end}", "Confusions", evidence.confusion_part(run)),
        (f"people{end}", "People", evidence.people_part(run)),
        (f"learning{end}", "Learning", evidence.curves_part(run)),
        (f"hardest{end}", "Hardest clips", evidence.hardest_part(run)),
    ]
    if number <= MOST_PICTURED:
        pictures = evidence.tokens_part(run, sources, faces=faces, prefix=f"r{number}p")
    else:
        note = f"Pictures of {MOST_PICTURED} runs are shown; epir report {run.folder.name} shows those of this one."
        pictures = element("p", note, class_="note")
    return [*parts, (f"tokens{end}", "What the model looked at", pictures)]


def made_part(run: Run, number: int) -> Part:
    """How one run was made."""
    return f"made{ending(number)}", "How it was made", making_part(run)


def ending(number: int) -> str:
    """What is added to the names of the parts of a further run."""
    return "" if number == 1 else f"-{number}"


def run_block(run: Run, title: str, parts: Sequence[Part], number: int) -> Markup:
    """All parts of one of several runs, folded away but for the first."""
    about = element("span", f"UF1 {score(run.scores['strict']['uf1'])}, {STRICT}", class_="soft")
    summary = element("summary", title, " ", about)
    return element(
        "details", summary, *(section(*part) for part in parts), class_="run", id=f"run-{number}", open=number == 1
    )
