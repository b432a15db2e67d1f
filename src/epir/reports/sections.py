"""The sections of the page: headline, scores, confusions, people, learning, hardest clips, tokens."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from epir.core.table import Kind
from epir.core.words import counted
from epir.datasets.survey import expected_composite
from epir.evaluation.comparison import main_column, training_of
from epir.evaluation.experiment import setting_differences
from epir.evaluation.published import PublishedScores
from epir.evaluation.store import NOT_CHECKED, SEEN, Run
from epir.evaluation.table import (
    COLUMN_NAMES,
    FOLDS,
    LEVEL,
    OWN_METHOD,
    column_kind,
    corpus_title,
    interval_text,
    score_text,
)
from epir.models.seen import UNKNOWN
from epir.reports import figures, results, tables
from epir.reports.markup import Markup, data_url, element, html_table, join, tag
from epir.reports.pictures import Sources, png, wheel_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STRICT, LEAKS = COLUMN_NAMES["strict"], COLUMN_NAMES["best_epoch"]
MOST_CARDS = 2  # more runs are easier to read on the common scale below
TILES_IN_LINE = 4
PEOPLE_IN_COLUMN = 12  # more people are spread over three columns

FACES_NOTE = "Faces are shown. The licence of a corpus may forbid sharing them: epir report --no-faces leaves them out."
TOKENS_LEAD = (
    "Patches with the same colour and letter were merged into one token. Per head: the darker, the more attention on "
    "the patch, from the least to the most in the caption; the outline is the token that the head selected (on the "
    "face: with the numbers of the heads). In u and v, orange is to the right and down, blue to the left and up, on "
    "the same scale. The most confident answers of each class are shown."
)


def page_header(runs: Sequence[Run]) -> Markup:
    """Return the header: what was evaluated, warnings, and the scores, strict large and best epoch small."""
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
    """Return what a reader must know before the numbers."""
    texts = []
    if any(prediction.corpus == "synthetic" for run in runs for prediction in run.predictions):
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
            leaks = "; ".join(map(str, run.environment.get("seen_in_training", ())))
            texts.append(f"{run.name}: {SEEN}. People or clips of this evaluation were on both sides: {leaks}.")
        if run.experiment.unknown_weights:
            texts.append(f"{run.name}: {UNKNOWN}, so the scores are {main_name([run])} only if these are other people.")
        if run.experiment.is_imported:
            texts.append(f"{run.name}: {NOT_CHECKED}. How its epoch was chosen, and on whom, is not known.")
    has_best_epoch = [run for run in runs if "best_epoch" in run.experiment.columns]
    without_epochs = [run.name for run in has_best_epoch if not any(fold.loss for fold in run.folds)]
    if without_epochs:
        texts.append(
            f"{', '.join(without_epochs)}: trained without epochs, so {main_name(runs)} and {LEAKS} are the same."
        )
    if tables.published_beside(runs):
        texts += _incomplete(runs[0])
    return [element("p", text, class_="warning") for text in texts]


def main_name(runs: Sequence[Run]) -> str:
    """Name the main column: strict, unless people or clips were seen in training."""
    return COLUMN_NAMES[main_column(runs)]


def _lead(runs: Sequence[Run]) -> str:
    name = main_name(runs).capitalize()
    return f"{name} is the result" if main_column(runs) == "strict" else f"{name}: no result"


def scores_part(runs: Sequence[Run]) -> Markup:
    """Return the scores on a common scale and as a table, and the clips they come from."""
    lead = f"All scores come from one confusion matrix pooled over all folds. {_lead(runs)}"
    lead += f"; {LEAKS} uses the answers." if any("best_epoch" in run.experiment.columns for run in runs) else "."
    return join(
        element("p", lead, class_="lead"),
        _figure(figures.draw_strips(score_strips(runs), **scale(runs)), class_="strips"),
        _comparison(runs) if len(runs) > 1 else Markup(),
        html_table(tables.scores_table(runs)),
        html_table(tables.data_table(runs[0])),
    )


def scale(runs: Sequence[Run]) -> dict[str, Any]:
    """Return the title of the common scale, and the score of chance."""
    return {"title": "UF1", "chance": 1 / len(runs[0].experiment.classes)}


def confusion_part(run: Run) -> Markup:
    """Return the confusion matrices, pooled and per corpus."""
    classes = run.experiment.classes
    lines = [results.confusions(run.predictions, classes, column) for column in run.experiment.columns]
    if all(len(line) == 1 for line in lines):  # one corpus: both columns fit side by side
        lines = [[matrix for line in lines for matrix in line]]
    drawn = [[_figure(figures.draw_confusions([matrix])) for matrix in line] for line in lines]
    rows = [element("div", *line, class_="matrices") for line in drawn]
    lead = (
        "Each row is a true class: the share of its clips that got the answer at the top of the column, and below it "
        "the number of clips (mean over seeds)."
    )
    return join(element("p", lead, class_="lead"), *rows, html_table(tables.class_table(run)))


def people_part(run: Run) -> Markup:
    """Return the accuracy on each person, highest first."""
    scores = results.person_scores(run.predictions, run.experiment.columns)
    columns = np.array_split(np.arange(len(scores)), 3 if len(scores) > PEOPLE_IN_COLUMN else 1)
    drawn = (figures.draw_people([scores[n] for n in column], main_name([run])) for column in columns)
    lead = "Accuracy, since UF1 is not defined for a person who does not show every class."
    return join(element("p", lead, class_="lead"), element("div", *map(_figure, drawn), class_="people"))


def chart_figures(charts: Sequence[results.Chart]) -> Markup:
    """Return charts side by side, each with its note."""
    return element("div", *(_figure(figures.draw_chart(chart), chart.note) for chart in charts), class_="charts")


def learning_part(run: Run) -> Markup:
    """Return training loss and held-out accuracy by epoch, and each seed alone."""
    experiment, folds = run.experiment, run.folds
    both = results.loss_chart(folds), results.epoch_chart(folds, experiment.classes, experiment.columns[0])
    charts = [chart for chart in both if chart]
    without = _note("Nothing was trained over epochs, so there are no curves.")
    seeds = tables.seed_table(run)
    return join(chart_figures(charts) if charts else without, html_table(seeds) if seeds else Markup())


def hardest_part(run: Run) -> Markup:
    """Return the misclassified clips whose true class got the lowest score."""
    table = tables.hardest_table(run)
    if table is None:
        return _note(f"Every seed classified every clip correctly ({main_name([run])}).")
    return html_table(table)


def tokens_part(run: Run, sources: Sources, *, faces: bool) -> Markup:
    """Return pictures of right and wrong examples, as far as maps, tokens and frames are available."""
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
    if by_clip and any(prediction.corpus != "synthetic" for prediction in run.predictions):
        parts.append(_note(FACES_NOTE))
    column = tag(main_name([run]), column_kind(run.experiment.columns[0]))
    for title, is_right in (("Right answers", True), ("Wrong answers", False)):
        shown = [example for example in examples if example.is_right == is_right]
        cards = [_card(example, run, sources, by_clip.get(example.prediction.key)) for example in shown]
        parts += [element("h3", title, " ", column), element("div", *cards, class_="cards")] if cards else []
    return join(*parts)


def integration_part(runs: Sequence[Run], sources: Sources, *, faces: bool) -> Markup:
    """Return the same clips at every rate of a sweep; empty without maps or tokens."""
    rows = figures.integration_tiles(results.rate_tokens(runs, clips=2), sources, faces=faces)
    return _figure(figures.draw_tiles(rows), pictures=True, class_="rates") if rows else Markup()


def moved_words(flow_map: np.ndarray | None) -> str:
    """Describe what moved in a map (3, S, S); empty for a map stretched to 0..1, which has lost the sign."""
    if flow_map is None or flow_map[:2].min() >= 0:
        return ""
    from epir.spotting.words import describe, moving_regions

    return describe(moving_regions(np.moveaxis(flow_map[:2], 0, -1)), None)


def score_strips(runs: Sequence[Run]) -> list[results.Strip]:
    """Return UF1 on a common scale: for one run pooled and per corpus, for several runs pooled."""
    return _part_strips(runs[0]) if len(runs) == 1 else _run_strips(runs)


def _card(example: results.ExamplePrediction, run: Run, sources: Sources, face: np.ndarray | None) -> Markup:
    """Return one clip: its name, the truth, the answer, and the available pictures."""
    prediction, flow_map = example.prediction, sources.map_of(example.prediction.key)
    score = prediction.scores[run.experiment.classes.index(prediction.strict)]
    answer = element(
        "p",
        *("truth ", element("b", prediction.truth)),
        *("; answer ", element("b", prediction.strict, class_="right" if example.is_right else "wrong")),
        *(f", score {score:.2f} ", tag(main_name([run]), column_kind(run.experiment.columns[0]))),
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
    """Name the corpora of a run as their authors write them; empty for the protocol `sde`, which takes any."""
    corpora = dict.fromkeys(prediction.corpus for prediction in run.predictions)
    return "" if run.experiment.protocol == "sde" else ", ".join(map(corpus_title, corpora))


def _units_card(run: Run) -> Markup:
    """Return the mean F1 of the action units, to show before the classes."""
    measures: dict[str, str] = {}
    for name, title in (("all", "mean F1, all units"), ("cd6me", "mean F1, units of CD6ME")):
        mean = run.scores["units"]["mean"][name]
        bounds = element("small", f"{LEVEL}: {interval_text(mean['interval'])}; {mean['units']} units")
        measures[title] = join(score_text(mean["f1"]), bounds)
    return element("div", _measures(f"action units, {STRICT}", "strict", measures), class_="result")


def _measures(label: str, kind: Kind, measures: dict[str, str]) -> Markup:
    """Return titles and values under a label of their kind, the first one large."""
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
    """Return a sentence if the run lacks clips of the composite that the published scores next to it cover."""
    if run.experiment.protocol != "cde":
        return []
    whole = expected_composite("cde")
    if (run.scores["clips"], run.scores["people"]) == (whole.clips, whole.people):
        return []
    return [
        f"The whole composite has {whole.clips} clips of {whole.people} people, this run has {run.scores['clips']} of "
        f"{run.scores['people']}. Published scores cover the whole."
    ]


def _score_card(run: Run, name: str, *, is_alone: bool) -> Markup:
    columns: list[str] = []
    for column in run.experiment.columns:
        values = run.scores[column]
        bounds = element("small", f"{LEVEL}: {interval_text(values.get('uf1_interval'))}")
        measures: dict[str, str] = {"UF1": join(score_text(values["uf1"]), bounds)}
        measures |= {name: score_text(values[name.lower()]) for name in ("UAR", "accuracy")}
        columns.append(_measures(COLUMN_NAMES[column], column_kind(column), measures))
    about = element("span", str(training_of(run.experiment)), class_="soft")
    title = Markup() if is_alone else element("h3", name, " ", about)
    return element("div", title, *columns, class_="result")


def _strip(title: str, run: Run) -> results.Strip:
    """Return the pooled UF1 of a run, strict with its interval."""
    dots = []
    for column in run.experiment.columns:
        low, high = run.scores[column]["uf1_interval"]
        bounds = (low, high) if column != "best_epoch" else None
        dots.append(results.Dot(COLUMN_NAMES[column], run.scores[column]["uf1"], column_kind(column), bounds))
    return results.Strip(title, tuple(dots))


def _part_strips(run: Run) -> list[results.Strip]:
    """Return all clips and each corpus, each with the paper's own score if published."""
    published = {each.part: each for each in tables.published_beside([run]) if each.method == OWN_METHOD}
    whole = published.get("full") or next(iter(published.values()), None)
    lines = [_with_published(_strip("all clips", run), whole)]
    parts = run.main.get("parts", {})
    for part in parts if len(parts) > 1 else ():
        dots = tuple(
            results.Dot(COLUMN_NAMES[column], run.scores[column]["parts"][part]["uf1"], column_kind(column))
            for column in run.experiment.columns
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
    """Return the paired tests, and the settings that differ."""
    changed = dict.fromkeys(
        line for run in runs[1:] for line in setting_differences(runs[0].experiment, run.experiment)
    )
    lines = element(
        "details",
        element("summary", f"Settings that differ from {results.run_titles(runs)[0]}"),
        element("pre", "\n".join(changed)),
    )
    return join(html_table(tables.paired_table(runs)), lines if changed else Markup())
