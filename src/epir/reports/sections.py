"""The parts of the page that are about all its runs: headline, scores, words."""

from collections.abc import Sequence

from epir.core.config import differences
from epir.datasets.survey import expected_composite
from epir.evaluation.published import Printed
from epir.evaluation.store import Run
from epir.reports.bars import Mark, Strip, strips
from epir.reports.htmltable import html_table, tag
from epir.reports.markup import Markup, element, join
from epir.reports.scoretables import PAPERS_OWN, comparison_table, data_table, printed_beside, score_table
from epir.reports.series import run_titles, series_title
from epir.reports.wording import (
    COLUMNS,
    GLOSSARY,
    LEAKS,
    PROTOCOLS,
    STRICT,
    corpus_title,
    count,
    interval,
    score,
)

MOST_CARDS = 2  # more runs than this are seen better on one scale, which comes next
FOLDS = {"loso": "leave one person out", "loco": "leave one corpus out", "zero-shot": "no training (zero-shot)"}


def headline(runs: Sequence[Run]) -> Markup:
    """What came out, on what, by what: strict large, best epoch smaller and marked as leaking."""
    run = runs[0]
    protocol = run.experiment.protocol
    about = PROTOCOLS.get(protocol, "")
    cards = [
        _score_card(each, name, is_alone=len(runs) == 1) for each, name in zip(runs, run_titles(runs), strict=True)
    ]
    return element(
        "header",
        element("p", "EPIR report", class_="eyebrow"),
        element("h1", f"{series_title(runs)} on {protocol}"),
        element(
            "p",
            f"Micro-expression recognition; {about}. " if about else "Micro-expression recognition. ",
            _facts(runs),
            class_="lead",
        ),
        *warnings(runs),
        element("div", *cards, class_="headline") if len(runs) <= MOST_CARDS else Markup(),
    )


def warnings(runs: Sequence[Run]) -> list[str]:
    """What a reader must know before the numbers."""
    texts = []
    if any(each.corpus == "synthetic" for run in runs for each in run.predictions):
        texts.append(
            "These are drawn faces of the synthetic corpus. The numbers say that the machinery works, not how well "
            "people are recognised."
        )
    if any(run.experiment.is_zero_shot for run in runs):
        texts.append(
            f"A zero-shot run trains nothing: its two columns, {STRICT} and {LEAKS}, are the same single prediction."
        )
    without = [run.name for run in runs if not run.experiment.is_zero_shot and not any(fold.loss for fold in run.folds)]
    if without:
        texts.append(f"{', '.join(without)}: learnt without epochs, so {STRICT} and {LEAKS} are the same answers.")
    if printed_beside(runs):
        texts += _incomplete(runs[0])
    return [element("p", text, class_="warning") for text in texts]


def _incomplete(run: Run) -> list[str]:
    """A sentence if the run has not all clips of the composite, whose scores are printed beside it."""
    if run.experiment.protocol != "cde":
        return []
    whole = expected_composite("cde")
    if (run.scores["clips"], run.scores["people"]) == (whole.clips, whole.people):
        return []
    return [
        f"The whole composite has {whole.clips} clips of {whole.people} people, this run has {run.scores['clips']} of "
        f"{run.scores['people']}. Printed scores are of the whole."
    ]


def scores_part(runs: Sequence[Run]) -> Markup:
    """The table of scores, the same numbers on one scale, and the data they come from."""
    chance = 1 / len(runs[0].experiment.classes)
    lines = _part_strips(runs[0]) if len(runs) == 1 else _run_strips(runs)
    several = _comparison(runs) if len(runs) > 1 else Markup()
    lead = (
        "Everything comes from one confusion matrix pooled over all folds. "
        f"{STRICT.capitalize()} is the result; {LEAKS} looks at the answer."
    )
    return join(
        element("p", lead, class_="lead"),
        strips(lines, title="UF1", chance=chance),
        several,
        html_table(score_table(runs)),
        html_table(data_table(runs[0])),
    )


def glossary_part() -> Markup:
    """What the words mean."""
    entries = [join(element("dt", word), element("dd", meaning)) for word, meaning in GLOSSARY]
    return element("dl", *entries, class_="glossary")


def _facts(runs: Sequence[Run]) -> str:
    scores, experiment = runs[0].scores, runs[0].experiment
    folds = FOLDS.get(experiment.folds, f"{experiment.folds} folds, no person in two of them")
    clips, people = count(scores["clips"], "clip"), count(scores["people"], "person", "people")
    classes = f"{count(len(experiment.classes), 'class', 'classes')} ({', '.join(experiment.classes)})"
    times = f"{count(scores['folds'], 'fold')}, {count(scores['seeds'], 'seed')}"
    return f"{clips} of {people} in {classes}; {folds}; {times}."


def _score_card(run: Run, name: str, *, is_alone: bool) -> Markup:
    columns: list[str] = []
    for column, label in COLUMNS.items():
        values = run.scores[column]
        bounds = element("small", f"95 %: {interval(values.get('uf1_interval'))}")
        measures = [
            element("div", element("dt", "UF1"), element("dd", score(values["uf1"]), bounds), class_="main"),
            element("div", element("dt", "UAR"), element("dd", score(values["uar"]))),
            element("div", element("dt", "accuracy"), element("dd", score(values["accuracy"]))),
        ]
        columns.append(element("div", tag(label, column), element("dl", *measures), class_=f"column {column}"))
    title = Markup() if is_alone else element("h3", name)
    return element("div", title, *columns, class_="result")


def _strip(title: str, run: Run) -> Strip:
    """The pooled UF1 of a run in both columns, the strict one with its interval."""
    marks = []
    for column, label in COLUMNS.items():
        low, high = run.scores[column]["uf1_interval"]
        marks.append(Mark(label, run.scores[column]["uf1"], column, (low, high) if column == "strict" else None))
    return Strip(title, tuple(marks))


def _part_strips(run: Run) -> list[Strip]:
    """All clips and each corpus; the paper's own number beside each, if it has one."""
    printed = {each.part: each for each in printed_beside([run]) if each.method == PAPERS_OWN}
    whole = printed.get("full") or next(iter(printed.values()), None)
    lines = [_with_printed(_strip("all clips", run), whole)]
    parts = run.scores["strict"].get("parts", {})
    for part in parts if len(parts) > 1 else ():
        marks = tuple(
            Mark(label, run.scores[column]["parts"][part]["uf1"], column) for column, label in COLUMNS.items()
        )
        lines.append(_with_printed(Strip(corpus_title(part), marks), printed.get(part)))
    return lines


def _run_strips(runs: Sequence[Run]) -> list[Strip]:
    lines = [_strip(name, run) for name, run in zip(run_titles(runs), runs, strict=True)]
    printed = [each for each in printed_beside(runs) if each.method == PAPERS_OWN]
    whole = next((each for each in printed if each.part == "full"), printed[0] if printed else None)
    return [*lines, _with_printed(Strip("EPIR, printed", ()), whole)] if whole else lines


def _with_printed(line: Strip, printed: Printed | None) -> Strip:
    if printed is None:
        return line
    return Strip(line.title, (*line.marks, Mark(f"EPIR, printed: {printed.selection}", printed.uf1, "printed")))


def _comparison(runs: Sequence[Run]) -> Markup:
    """The paired tests, and what differs between the runs."""
    changed = dict.fromkeys(line for run in runs[1:] for line in differences(runs[0].experiment, run.experiment))
    lines = element(
        "details",
        element("summary", f"What differs from {run_titles(runs)[0]}: {count(len(changed), 'setting')}"),
        element("pre", "\n".join(changed)),
    )
    return join(html_table(comparison_table(runs)), lines if changed else Markup())
