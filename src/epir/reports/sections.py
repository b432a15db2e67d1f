"""The sections of the page: headline, scores, confusions, people, learning, hardest clips, tokens."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from epir.core.table import Kind
from epir.core.words import counted
from epir.datasets.survey import expected_composite
from epir.evaluation.comparison import main_column, score_columns, setting_differences, training_of
from epir.evaluation.published import PublishedScores
from epir.evaluation.store import NOT_CHECKED, SEEN, Run
from epir.evaluation.table import (
    COLUMN_NAMES,
    FOLDS,
    LEVEL,
    OWN_METHOD,
    corpus_title,
    interval_text,
    kind_of,
    score_text,
)
from epir.models.seen import UNKNOWN
from epir.reports import figures, results, tables
from epir.reports.markup import Markup, data_url, element, html_table, join, tag
from epir.reports.pictures import Sources, png, wheel_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STRICT, LEAKS = COLUMN_NAMES["strict"], COLUMN_NAMES["best_epoch"]
MOST_CARDS = 2  # more runs than this are easier to read on one scale, which comes next
TILES_IN_LINE = 4
PEOPLE_IN_COLUMN = 12  # fewer stay in one column, more are spread over three

FACES_NOTE = "Faces are shown. The licence of a corpus may forbid sharing them: epir report --no-faces leaves them out."
TOKENS_LEAD = (
    "Patches with the same colour and letter were merged into one token. Per head: the darker, the more attention on "
    "the patch, from the least to the most in the caption; the outline is the token that the head selected (on the "
    "face: with the numbers of the heads). In u and v, orange is to the right and down, blue to the left and up, on "
    "the same scale. The most confident answers of each class are shown."
)


def headline(runs: Sequence[Run]) -> Markup:
    """The scores, and what they are of: strict large, best epoch smaller and marked as leaking."""
    titles = results.run_titles(runs)
    units = [_units_card(run) for run in runs if is_about_units(run)]
    cards = [_score_card(run, name, is_alone=len(runs) == 1) for run, name in zip(runs, titles, strict=True)]
    what = "Action units of micro-expressions" if units else "Micro-expression recognition"
    corpora = _corpora(runs[0])
    return element(
        "header",
        element("p", "EPIR report", class_="eyebrow"),
        element("h1", f"{results.series_title(runs)} on {runs[0].experiment.protocol}"),
        element("p", f"{what}; {corpora}. " if corpora else f"{what}. ", _facts(runs), class_="lead"),
        *warnings(runs),
        element("div", *units, *cards, class_="headline") if len(runs) <= MOST_CARDS else Markup(),
    )


def is_about_units(run: Run) -> bool:
    """Whether the run was evaluated with `--target units`."""
    return "clips_without_units" in run.environment and bool(run.scores.get("units"))


def warnings(runs: Sequence[Run]) -> list[str]:
    """What a reader must know before the numbers."""
    texts = []
    if any(each.corpus == "synthetic" for run in runs for each in run.predictions):
        texts.append(
            "These are synthetic faces. The scores show that the software works, not how well people are recognised."
        )
    if len({training_of(run.experiment) for run in runs}) > 1:
        texts.append(
            "These runs differ in their training or first weights, so their scores do not compare models only."
        )
    if any(run.experiment.is_zero_shot for run in runs):
        texts.append(f"A zero-shot run trains nothing: it has {main_name(runs)} scores and no best epoch.")
    for run in runs:
        if run.experiment.seen_in_training:
            told = "; ".join(map(str, run.environment.get("seen_in_training", ())))
            texts.append(f"{run.name}: {SEEN}. People or clips of this evaluation were on both sides: {told}.")
        if run.experiment.unknown_weights:
            texts.append(f"{run.name}: {UNKNOWN}, so that {main_name([run])} holds only if they are other people.")
    for run in runs:
        if run.experiment.is_imported:
            texts.append(f"{run.name}: {NOT_CHECKED}. How its epoch was chosen, and on whom, is not known.")
    without = [run.name for run in runs if "best_epoch" in score_columns(run) and not any(f.loss for f in run.folds)]
    if without:
        texts.append(
            f"{', '.join(without)}: trained without epochs, so {main_name(runs)} and {LEAKS} are the same answers."
        )
    if tables.published_beside(runs):
        texts += _incomplete(runs[0])
    return [element("p", text, class_="warning") for text in texts]


def main_name(runs: Sequence[Run]) -> str:
    """What the answers are: strict, unless people or clips were seen in training."""
    return COLUMN_NAMES[main_column(runs)]


def _lead(runs: Sequence[Run]) -> str:
    name = main_name(runs).capitalize()
    return f"{name} is the result" if main_column(runs) == "strict" else f"{name}: no result"


def scores_part(runs: Sequence[Run]) -> Markup:
    """The table of scores, the same numbers on one scale, and the data they come from."""
    lead = f"All scores come from one confusion matrix pooled over all folds. {_lead(runs)}"
    lead += f"; {LEAKS} uses the answers." if any("best_epoch" in score_columns(run) for run in runs) else "."
    return join(
        element("p", lead, class_="lead"),
        _figure(figures.draw_strips(score_strips(runs), **scale(runs)), class_="strips"),
        _comparison(runs) if len(runs) > 1 else Markup(),
        html_table(tables.scores_table(runs)),
        html_table(tables.data_table(runs[0])),
    )


def scale(runs: Sequence[Run]) -> dict[str, Any]:
    """What the scores on one scale are called, and where chance is."""
    return {"title": "UF1", "chance": 1 / len(runs[0].experiment.classes)}


def confusion_part(run: Run) -> Markup:
    """The confusion matrices, pooled and per corpus."""
    classes = run.experiment.classes
    lines = [results.confusions(run.predictions, classes, column) for column in score_columns(run)]
    if all(len(line) == 1 for line in lines):  # one corpus: both columns fit side by side
        lines = [[each for line in lines for each in line]]
    drawn = [[_figure(figures.draw_confusions([each])) for each in line] for line in lines]
    rows = [element("div", *line, class_="matrices") for line in drawn]
    lead = (
        "Each row is one true class: the share of its clips that got the answer above the column, and below it the "
        "number of clips (mean over seeds)."
    )
    return join(element("p", lead, class_="lead"), *rows, html_table(tables.class_table(run)))


def people_part(run: Run) -> Markup:
    """The accuracy on each person, the best recognised first."""
    scores = results.people(run.predictions, score_columns(run))
    columns = np.array_split(np.arange(len(scores)), 3 if len(scores) > PEOPLE_IN_COLUMN else 1)
    drawn = (figures.draw_people([scores[n] for n in column], main_name([run])) for column in columns)
    lead = "Accuracy, since UF1 is not defined for a person who does not show every class."
    return join(element("p", lead, class_="lead"), element("div", *map(_figure, drawn), class_="people"))


def chart_figures(charts: Sequence[results.Chart]) -> Markup:
    """Charts side by side, each with its note."""
    return element("div", *(_figure(figures.draw_chart(chart), chart.note) for chart in charts), class_="charts")


def learning_part(run: Run) -> Markup:
    """Training loss and held-out accuracy by epoch, and each seed alone."""
    experiment, folds = run.experiment, run.folds
    both = results.loss_chart(folds), results.epoch_chart(folds, experiment.classes, experiment.columns[0])
    charts = [chart for chart in both if chart]
    without = _note("Nothing was trained over epochs, so there are no curves.")
    seeds = tables.seed_table(run)
    return join(chart_figures(charts) if charts else without, html_table(seeds) if seeds else Markup())


def hardest_part(run: Run) -> Markup:
    """The wrong clips whose true class got the lowest score."""
    table = tables.hardest_table(run)
    if table is None:
        return _note(f"Every clip was answered right by every seed ({main_name([run])}).")
    return html_table(table)


def tokens_part(run: Run, sources: Sources, *, faces: bool) -> Markup:
    """Pictures of right and wrong examples, as far as maps, tokens and frames are available."""
    examples = results.choose_examples(run)
    has_tokens = any(example.tokens for example in examples)
    parts: list[str] = []
    if sources.places:
        wheel = element("img", src=data_url(png(wheel_picture()), "image/png"), alt="", width=56, height=56)
        parts.append(element("figure", wheel, element("figcaption", "Direction of flow"), class_="wheel"))
    parts.append(element("p", TOKENS_LEAD, class_="lead") if has_tokens else _note("This model records no tokens."))
    if sources.note:
        parts.append(_note(sources.note))
    if not has_tokens and not sources.places:
        return join(*parts)
    keys = [example.prediction.key for example in examples] if faces else []
    by_clip = {key: face for key in keys if (face := sources.face_of(key)) is not None}
    if by_clip and any(each.corpus != "synthetic" for each in run.predictions):
        parts.append(_note(FACES_NOTE))
    column = tag(main_name([run]), kind_of(score_columns(run)[0]))
    for title, is_right in (("Right answers", True), ("Wrong answers", False)):
        shown = [each for each in examples if each.is_right == is_right]
        cards = [_card(each, run, sources, by_clip.get(each.prediction.key)) for each in shown]
        parts += [element("h3", title, " ", column), element("div", *cards, class_="cards")] if cards else []
    return join(*parts)


def integration_part(runs: Sequence[Run], sources: Sources, *, faces: bool) -> Markup:
    """The same clips at every rate of a sweep; nothing without maps or tokens."""
    rows = figures.integration_tiles(results.rate_tokens(runs, clips=2), sources, faces=faces)
    return _figure(figures.draw_tiles(rows), pictures=True, class_="rates") if rows else Markup()


def moved_words(flow_map: np.ndarray | None) -> str:
    """What moved in a map (3, S, S), in a sentence; nothing for maps that were stretched to 0..1: they have no sign."""
    if flow_map is None or flow_map[:2].min() >= 0:
        return ""
    from epir.spotting.words import describe, moving_regions

    return describe(moving_regions(np.moveaxis(flow_map[:2], 0, -1)), None)


def score_strips(runs: Sequence[Run]) -> list[results.Strip]:
    """UF1 on one scale: of one run all clips and each corpus, of several runs all clips of each."""
    return _part_strips(runs[0]) if len(runs) == 1 else _run_strips(runs)


def _card(example: results.Example, run: Run, sources: Sources, face: np.ndarray | None) -> Markup:
    """One clip: its name, the truth, the answer, and the pictures that are available."""
    prediction, flow_map = example.prediction, sources.map_of(example.prediction.key)
    score = prediction.scores[run.experiment.classes.index(prediction.strict)]
    answer = element(
        "p",
        *("truth ", element("b", prediction.truth)),
        *("; answer ", element("b", prediction.strict, class_="right" if example.is_right else "wrong")),
        *(f", score {score:.2f} ", tag(main_name([run]), kind_of(score_columns(run)[0]))),
        class_="answer",
    )
    moved = moved_words(flow_map)
    tiles = figures.example_tiles(example, flow_map, face)
    rows = [tiles[start : start + TILES_IN_LINE] for start in range(0, len(tiles), TILES_IN_LINE)]
    parts = [element("p", moved, class_="answer")] if moved else []
    parts += [_figure(figures.draw_tiles(rows), pictures=True)] if rows else []
    return element("article", element("h4", prediction.key), answer, *parts, class_="card")


def _figure(figure: "Figure", note: str = "", *, pictures: bool = False, class_: str | None = None) -> Markup:
    below = _note(note) if note else Markup()
    return element("figure", figures.svg(figure, pictures=pictures), below, class_=class_)


def _note(text: str) -> Markup:
    return element("p", text, class_="note")


def _corpora(run: Run) -> str:
    """The corpora of a run as their authors write them; the protocol `sde` takes any."""
    corpora = dict.fromkeys(each.corpus for each in run.predictions)
    return "" if run.experiment.protocol == "sde" else ", ".join(map(corpus_title, corpora))


def _units_card(run: Run) -> Markup:
    """The mean F1 of the action units, in front of the classes."""
    measures: dict[str, str] = {}
    for name, title in (("all", "mean F1, all units"), ("cd6me", "mean F1, units of CD6ME")):
        mean = run.scores["units"]["mean"][name]
        bounds = element("small", f"{LEVEL}: {interval_text(mean['interval'])}; {mean['units']} units")
        measures[title] = join(score_text(mean["f1"]), bounds)
    return element("div", _measures(f"action units, {STRICT}", "strict", measures), class_="result")


def _measures(label: str, kind: Kind, measures: dict[str, str]) -> Markup:
    """Titles and values under a label that says of what kind they are, the first one large."""
    entries: list[str] = []
    for title, value in measures.items():
        size = None if entries else "main"
        entries.append(element("div", element("dt", title), element("dd", value), class_=size))
    return element("div", tag(label, kind), element("dl", *entries), class_=f"column {kind}")


def _facts(runs: Sequence[Run]) -> str:
    scores, experiment = runs[0].scores, runs[0].experiment
    folds = {**FOLDS, "zero-shot": "no training (zero-shot)"}.get(
        experiment.folds, f"{experiment.folds} folds, no person in two of them"
    )
    clips, persons = counted(scores["clips"], "clip"), counted(scores["people"], "person", "people")
    classes = f"{counted(len(experiment.classes), 'class', 'classes')} ({', '.join(experiment.classes)})"
    times = f"{counted(scores['folds'], 'fold')}, {counted(scores['seeds'], 'seed')}"
    recipe, weights = training_of(experiment).cells
    trained = f" Training: {recipe}; first weights: {weights}." if len(runs) == 1 else ""
    return f"{clips} of {persons} in {classes}; {folds}; {times}.{trained}"


def _incomplete(run: Run) -> list[str]:
    """A sentence if the run has not all clips of the composite, whose published scores are beside it."""
    if run.experiment.protocol != "cde":
        return []
    whole = expected_composite("cde")
    if (run.scores["clips"], run.scores["people"]) == (whole.clips, whole.people):
        return []
    return [
        f"The whole composite has {whole.clips} clips of {whole.people} people, this run has {run.scores['clips']} of "
        f"{run.scores['people']}. Published scores are of the whole."
    ]


def _score_card(run: Run, name: str, *, is_alone: bool) -> Markup:
    columns: list[str] = []
    for column in score_columns(run):
        values = run.scores[column]
        bounds = element("small", f"{LEVEL}: {interval_text(values.get('uf1_interval'))}")
        measures: dict[str, str] = {"UF1": join(score_text(values["uf1"]), bounds)}
        measures |= {name: score_text(values[name.lower()]) for name in ("UAR", "accuracy")}
        columns.append(_measures(COLUMN_NAMES[column], kind_of(column), measures))
    about = element("span", str(training_of(run.experiment)), class_="soft")
    title = Markup() if is_alone else element("h3", name, " ", about)
    return element("div", title, *columns, class_="result")


def _strip(title: str, run: Run) -> results.Strip:
    """The pooled UF1 of a run, the strict one with its interval."""
    dots = []
    for column in score_columns(run):
        low, high = run.scores[column]["uf1_interval"]
        bounds = (low, high) if column != "best_epoch" else None
        dots.append(results.Dot(COLUMN_NAMES[column], run.scores[column]["uf1"], kind_of(column), bounds))
    return results.Strip(title, tuple(dots))


def _part_strips(run: Run) -> list[results.Strip]:
    """All clips and each corpus; the paper's own score beside each, if it has one."""
    published = {each.part: each for each in tables.published_beside([run]) if each.method == OWN_METHOD}
    whole = published.get("full") or next(iter(published.values()), None)
    lines = [_with_published(_strip("all clips", run), whole)]
    parts = run.main.get("parts", {})
    for part in parts if len(parts) > 1 else ():
        dots = tuple(
            results.Dot(COLUMN_NAMES[column], run.scores[column]["parts"][part]["uf1"], kind_of(column))
            for column in score_columns(run)
        )
        lines.append(_with_published(results.Strip(corpus_title(part), dots), published.get(part)))
    return lines


def _run_strips(runs: Sequence[Run]) -> list[results.Strip]:
    lines = [_strip(name, run) for name, run in zip(results.run_titles(runs), runs, strict=True)]
    published = [each for each in tables.published_beside(runs) if each.method == OWN_METHOD]
    whole = next((each for each in published if each.part == "full"), published[0] if published else None)
    return [*lines, _with_published(results.Strip("EPIR, published", ()), whole)] if whole else lines


def _with_published(line: results.Strip, published: PublishedScores | None) -> results.Strip:
    if published is None:
        return line
    dot = results.Dot(f"EPIR, published: {published.selection}", published.uf1, "published")
    return results.Strip(line.title, (*line.dots, dot))


def _comparison(runs: Sequence[Run]) -> Markup:
    """The paired tests, and the settings that differ."""
    changed = dict.fromkeys(
        line for run in runs[1:] for line in setting_differences(runs[0].experiment, run.experiment)
    )
    lines = element(
        "details",
        element("summary", f"Settings that differ from {results.run_titles(runs)[0]}"),
        element("pre", "\n".join(changed)),
    )
    return join(html_table(tables.paired_table(runs)), lines if changed else Markup())
