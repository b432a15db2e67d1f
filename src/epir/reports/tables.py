"""The tables of a report that `evaluation/table.py` does not have: classes, seeds, data, hardest clips, cost."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from epir.core.records import Prediction
from epir.core.table import MISSING, Column, Row, Table, numbers, words
from epir.core.words import duration
from epir.evaluation.comparison import compare, training_of
from epir.evaluation.conventions import convention_table
from epir.evaluation.experiment import ForeignModel
from epir.evaluation.published import PublishedScores, comparisons, ladder
from epir.evaluation.store import Run
from epir.evaluation.table import (
    COLUMN_NAMES,
    EVALUATION,
    OWN_METHOD,
    TRAINING_COLUMNS,
    choices_text,
    comparison_table,
    corpus_title,
    score_row,
    score_table,
    score_text,
    units_table,
)
from epir.models.registry import Source
from epir.reports.results import confusions, is_ladder, run_titles, sweep_of

HARDEST_SHOWN = 15  # clips


@dataclass(frozen=True)
class Cost:
    """The size of a network, and its work for one clip."""

    parameters: int
    multiply_accumulates: int


def published_beside(runs: Sequence[Run]) -> tuple[PublishedScores, ...]:
    """Return the paper's scores for the runs' protocol: for a ladder its rungs, for a sweep only its own method.

    Empty if the runs have corpora that the paper does not use.
    """
    protocol = runs[0].experiment.protocol
    published = ladder(protocol) if is_ladder(runs) else comparisons(protocol)
    if len(runs) > 1 and sweep_of(runs):
        published = tuple(each for each in published if each.method == OWN_METHOD)
    corpora = {each.corpus for run in runs for each in run.predictions}
    return published if corpora <= {each.part for each in published} else ()


def all_tables(runs: Sequence[Run]) -> list[Table]:
    """Return every table of the page; tables about a single run only if there is one run."""
    tables: list[Table | None] = [scores_table(runs)]
    tables += [paired_table(runs)] if len(runs) > 1 else []
    tables.append(data_table(runs[0]))
    tables += [class_table(runs[0]), seed_table(runs[0]), hardest_table(runs[0])] if len(runs) == 1 else []
    tables += [make(run) for _, _, make in TABLE_SECTIONS for run in runs]
    tables.append(cost_table(runs))
    return [table for table in tables if table is not None]


def scores_table(runs: Sequence[Run]) -> Table:
    """Tabulate the scores of all runs, next to the published ones."""
    return score_table(runs, published_beside(runs), names=run_titles(runs))


def paired_table(runs: Sequence[Run]) -> Table:
    """Tabulate the paired test of every run against the first."""
    names = {str(run.folder): title for run, title in zip(runs, run_titles(runs), strict=True)}
    return comparison_table([compare(runs[0], run) for run in runs[1:]], names=names)


def class_table(run: Run) -> Table:
    """Tabulate precision, recall and F1 of each class in the pooled matrix."""
    columns = (Column("class"), *TRAINING_COLUMNS, EVALUATION, *numbers("clips", "precision", "recall", "F1"))
    training = training_of(run.experiment)
    rows = []
    for column in run.experiment.columns:
        counts = confusions(run.predictions, run.experiment.classes, column)[0].counts
        for number, name in enumerate(run.experiment.classes):
            hits, truths, answers = counts[number, number], counts[number].sum(), counts[:, number].sum()
            cells = [score_text(hits / answers if answers else None), score_text(hits / truths if truths else None)]
            f1 = score_text(2 * hits / (truths + answers) if truths + answers else None)
            rows.append(score_row((name,), training, column, (f"{truths:g}", *cells, f1)))
    note = "Computed from counts averaged over seeds, so the mean F1 can differ slightly from UF1, a mean over seeds."
    return Table("classes", "Each class", columns, tuple(rows), (note,) if run.experiment.seeds > 1 else ())


def seed_table(run: Run) -> Table | None:
    """Tabulate each seed alone; None for a single seed."""
    seeds: dict[str, Any] = run.scores.get("by_seed", {})
    if len(seeds) < 2:
        return None
    titles = ("UF1", "UAR", "accuracy")
    columns = (Column("seed"), *TRAINING_COLUMNS, EVALUATION, *numbers(*titles))
    training = training_of(run.experiment)
    rows = [
        score_row((seed,), training, column, [score_text(values[column][title.lower()]) for title in titles])
        for column in run.experiment.columns
        for seed, values in seeds.items()
    ]
    return Table("seeds", "Each seed alone", columns, tuple(rows))


def data_table(run: Run) -> Table:
    """Tabulate the clips of each class and the people in each corpus."""
    classes = run.experiment.classes
    clips = {each.key: each for each in run.predictions}.values()
    counts = Counter((each.corpus, each.truth) for each in clips)
    people = Counter(corpus for corpus, _ in {(each.corpus, each.person) for each in clips})
    rows = []
    for corpus in sorted(people):
        clips_of = [counts[corpus, name] for name in classes]
        rows.append(Row((corpus_title(corpus), *map(str, clips_of), str(sum(clips_of)), str(people[corpus]))))
    if len(people) > 1:
        totals = [sum(counts[corpus, name] for corpus in people) for name in classes]
        everybody = len({each.person for each in clips})  # who may be in two corpora
        rows.append(Row(("all clips", *map(str, totals), str(len(clips)), str(everybody)), strong=True))
    columns = (Column("corpus"), *numbers(*classes, "clips", "people"))
    return Table("data", "Clips and people", columns, tuple(rows))


def hardest_table(run: Run) -> Table | None:
    """Tabulate the misclassified clips whose true class got the lowest score; None if all are right."""
    strict = COLUMN_NAMES[run.experiment.columns[0]]
    columns = (
        *words("clip", "corpus", "person", "truth", f"answer, {strict}"),
        *numbers(f"score of the truth, {strict}", "seeds wrong"),
    )
    by_clip: dict[str, list[Prediction]] = {}
    for each in run.predictions:
        by_clip.setdefault(each.key, []).append(each)
    scored: list[tuple[float, str, Row]] = []
    for key, seeds in by_clip.items():
        clip, wrong = seeds[0], sum(each.strict != each.truth for each in seeds)
        if wrong:
            answers = Counter(each.strict for each in seeds)
            answer = min(answers, key=lambda name: (-answers[name], name == clip.truth, name))
            place = run.experiment.classes.index(clip.truth)
            score = sum(each.scores[place] for each in seeds) / len(seeds)
            names = (clip.clip, corpus_title(clip.corpus), clip.subject, clip.truth, answer)
            scored.append((score, key, Row((*names, f"{score:.3f}", f"{wrong} of {len(seeds)}"))))
    rows = tuple(row for _, _, row in sorted(scored, key=lambda each: each[:2])[:HARDEST_SHOWN])
    caption = f"Clips whose true class got the lowest score ({run.name}, {training_of(run.experiment)})"
    return Table("hardest", caption, columns, rows) if rows else None


def choices_table(run: Run) -> Table | None:
    """Tabulate what each fold of a nested run chose, and the inner UF1 of every choice; None if not nested."""
    folds = [fold for fold in run.folds if fold.chosen]
    if not folds:
        return None
    choices = run.experiment.choices
    columns = (*words("fold", "seed", "chosen"), *numbers(*choices, group="inner UF1"))
    rows = [
        Row((fold.fold, str(fold.seed), fold.chosen, *(score_text(fold.inner.get(name)) for name in choices)))
        for fold in folds
    ]
    note = "UF1 over inner folds of the training people of each fold; it does not use the held-out people."
    return Table("choices", f"What each fold chose: {choices_text(run)}", columns, tuple(rows), (note,))


def _conventions(run: Run) -> Table | None:
    """Tabulate a run by every convention; None if only one applies."""
    table = convention_table(run)
    return table if len(table.rows) > 1 else None


TABLE_SECTIONS: Final[tuple[tuple[str, str, Callable[[Run], Table | None]], ...]] = (
    ("conventions", "As others would print it", _conventions),
    ("choices", "Nested choices", choices_table),
    ("units", "Action units", units_table),
)  # sections with one table per run: a line here adds a table to the page, to LaTeX and to Markdown


def cost_table(runs: Sequence[Run]) -> Table:
    """Tabulate size, work and time of each run."""
    titles = ("parameters (M)", "multiply-accumulates (M)", "folds × seeds", "training a fold", "all folds in sequence")
    rows = []
    for title, run in zip(run_titles(runs), runs, strict=True):
        trained = [fold.training_seconds for fold in run.folds]
        mean = duration(sum(trained) / len(trained)) if trained else MISSING
        rows.append(Row((title, *size_cells(run), str(len(run.folds)), mean, duration(float(run.scores["seconds"])))))
    notes = (
        "Multiply-accumulates for one clip: a multiplication and its addition count once. Papers often say FLOPs.",
        "Times were measured on the machine under Provenance, with one fold per worker in parallel.",
    )
    return Table("cost", "Size, work and time", (Column("method"), *numbers(*titles)), tuple(rows), notes)


def size_cells(run: Run) -> tuple[str, str]:
    """Return the parameters and multiply-accumulates of a run's network, in millions."""
    cost = run_cost(run)
    return (f"{cost.parameters / 1e6:.2f}", f"{cost.multiply_accumulates / 1e6:.2f}") if cost else (MISSING, MISSING)


def run_cost(run: Run) -> Cost | None:
    """Return the cost of a run's network."""
    return model_cost(run.experiment.model, run.experiment.source)


@cache
def model_cost(settings: Any, source: Source | None = None) -> Cost | None:
    """Count the cost of a network with these settings on one clip; None for estimators and code that is not loaded.

    Norms, softmax and other elementwise operations are not counted.
    """
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from epir.models.network import Network
    from epir.models.registry import build, is_estimator, named_method

    method = None if source is None else named_method(source)
    is_unavailable = isinstance(settings, ForeignModel) or (source is not None and method is None)
    if is_unavailable or is_estimator(settings, source):
        return None
    network = build(settings, method)
    assert isinstance(network, Network)
    network.eval()
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        network(torch.zeros(1, 3, settings.map_size, settings.map_size))
    weights = sum(weight.numel() for weight in network.parameters())
    return Cost(weights, counter.get_total_flops() // 2)
