"""The parts of the page that are about one run: confusions, people, curves, hardest clips, token pictures."""

from collections.abc import Sequence

from epir.evaluation.store import Run
from epir.reports.bars import person_bars
from epir.reports.charts import chart_figure
from epir.reports.examples import choose_examples
from epir.reports.gallery import gallery
from epir.reports.htmltable import html_table
from epir.reports.markup import Markup, data_url, element, join
from epir.reports.matrices import matrix
from epir.reports.pixels import png, wheel_picture
from epir.reports.results import HardClip, confusions, epoch_chart, hardest, loss_chart, people
from epir.reports.scoretables import class_table, seed_table
from epir.reports.sources import Sources
from epir.reports.tables import Column, Row, Table
from epir.reports.wording import COLUMNS, LEAKS, STRICT, corpus_title


def confusion_part(run: Run) -> Markup:
    """Both columns, pooled and per corpus."""
    classes = run.experiment.classes
    width = f"--least:{86 + 58 * len(classes)}px"
    lines = [list(map(matrix, confusions(run.predictions, classes, column))) for column in COLUMNS]
    if all(len(line) == 1 for line in lines):  # one corpus: both columns fit side by side
        lines = [[each for line in lines for each in line]]
    rows = [element("div", *line, class_="matrices", style=width) for line in lines]
    lead = (
        "Each row is one true class: the share of its clips that got the answer named above the column, and below it "
        "the number of clips (mean over seeds)."
    )
    return join(element("p", lead, class_="lead"), *rows, html_table(class_table(run)))


def people_part(run: Run) -> Markup:
    """The accuracy on each person, the best recognised first."""
    legend = element(
        "p",
        *(element("span", element("i", class_="swatch bar strict"), f"accuracy, {STRICT}"), " "),
        element("span", element("i", class_="tick"), f"accuracy, {LEAKS}"),
        class_="legend",
    )
    lead = "Accuracy, since UF1 is not defined for a person who does not show every class."
    return join(element("p", lead, class_="lead"), legend, person_bars(people(run.predictions)))


def curves_part(run: Run) -> Markup:
    """Training loss and held-out accuracy over the epochs, and each seed alone."""
    charts = [chart for chart in (loss_chart(run.folds), epoch_chart(run.folds, run.experiment.classes)) if chart]
    curves = element("div", *map(chart_figure, charts), class_="charts")
    without = element("p", "Nothing was learnt over epochs here, so there are no curves.", class_="note")
    seeds = seed_table(run)
    return join(curves if charts else without, html_table(seeds) if seeds else Markup())


def hardest_part(run: Run) -> Markup:
    """The clips whose truth the model believed least."""
    clips = hardest(run.predictions, run.experiment.classes)
    if not clips:
        return element("p", f"Every clip was answered right by every seed ({STRICT}).", class_="note")
    return html_table(hardest_table(clips))


def hardest_table(clips: Sequence[HardClip]) -> Table:
    """One row per clip, hardest first."""
    columns = (
        Column("clip"),
        Column("corpus"),
        Column("person"),
        Column("truth"),
        Column(f"answer, {STRICT}"),
        Column(f"score of the truth, {STRICT}", numeric=True),
        Column("seeds wrong", numeric=True),
    )
    rows = [
        Row(
            (
                clip.clip,
                corpus_title(clip.corpus),
                clip.subject,
                clip.truth,
                clip.guess,
                f"{clip.belief:.3f}",
                f"{clip.wrong} of {clip.seeds}",
            )
        )
        for clip in clips
    ]
    return Table("hardest", "The clips whose true class got the lowest score", columns, tuple(rows))


def tokens_part(run: Run, sources: Sources, *, faces: bool, prefix: str) -> Markup:
    """Pictures of right and wrong examples, as far as maps, tokens and frames are at hand."""
    examples = choose_examples(run)
    has_tokens = any(example.tokens for example in examples)
    parts: list[str] = []
    if sources.places:
        wheel = element("img", src=data_url(png(wheel_picture()), "image/png"), alt="", width=56, height=56)
        parts.append(element("figure", wheel, element("figcaption", "Direction of flow"), class_="wheel"))
    if has_tokens:
        parts.append(element("p", TOKENS_LEAD, class_="lead"))
    else:
        parts.append(element("p", "This model keeps no record of tokens.", class_="note"))
    if sources.note:
        parts.append(element("p", sources.note, class_="note"))
    if not has_tokens and not sources.places:
        return join(*parts)
    keys = [example.prediction.key for example in examples] if faces else []
    found = {key: face for key in keys if (face := sources.face_of(key)) is not None}
    if found and any(each.corpus != "synthetic" for each in run.predictions):
        parts.append(element("p", FACES_NOTE, class_="note"))
    return join(*parts, gallery(examples, sources, run.experiment.classes, faces=found, prefix=prefix))


FACES_NOTE = (
    "Faces are shown. The licence of a corpus may forbid passing them on: epir report --no-faces leaves them out."
)
TOKENS_LEAD = (
    "Patches with the same colour and letter were merged into one token. Per head: the darker, the more attention "
    "reaches the patch, from the least to the most that the caption names; the outline is the token that the head "
    "selected (on the face: with the numbers of the heads). In u and v, orange is to the right and down, blue to the "
    "left and up, at the same scale. The surest answers of each class are shown."
)
