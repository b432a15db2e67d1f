"""Sweeps over blocks or integration, as charts and as pictures of the same clips at every rate."""

from collections.abc import Sequence
from itertools import count as counting

from epir.evaluation.store import Run
from epir.reports.charts import Chart, Line
from epir.reports.examples import choose_examples, clip_tokens
from epir.reports.gallery import Picture
from epir.reports.markup import Markup, element, join
from epir.reports.pixels import flow_picture, integrated_picture
from epir.reports.series import Sweep, place_of, sweep_of
from epir.reports.sources import Sources
from epir.reports.tokens import Tokens, merged_outlines, tile
from epir.reports.wording import COLUMNS

AXES: dict[Sweep, str] = {"blocks": "blocks", "integration": "integration rate (%)"}


def sweep_charts(runs: Sequence[Run]) -> list[Chart]:
    """UF1 and UAR against the setting of the sweep, both columns; the band is the interval of the strict UF1."""
    sweep = sweep_of(runs)
    if sweep is None:
        return []
    places = tuple(place_of(run, sweep) for run in runs)
    charts = []
    for name, title in (("uf1", "UF1"), ("uar", "UAR")):
        lines = []
        for column, label in COLUMNS.items():
            bounds = [run.scores[column]["uf1_interval"] for run in runs] if (name, column) == ("uf1", "strict") else []
            lines.append(
                Line(
                    label,
                    places,
                    tuple(run.scores[column][name] for run in runs),
                    low=tuple(low for low, _ in bounds),
                    high=tuple(high for _, high in bounds),
                    kind=column,
                    marked=True,
                )
            )
        note = "Band: 95 % interval of strict, bootstrap over people." if name == "uf1" else ""
        heading = f"{title} against {'blocks' if sweep == 'blocks' else 'the integration rate'}"
        charts.append(Chart(f"sweep-{sweep}-{name}", heading, AXES[sweep], title, tuple(lines), (0.0, 1.0), note))
    return charts


def integration_part(runs: Sequence[Run], sources: Sources, *, faces: bool = True, clips: int = 2) -> Markup:
    """The same clips at every rate of the sweep: on the face and on the map, each token as the mean of its patches."""
    names = (f"rate{number}" for number in counting())
    rows: list[str] = []
    for key, tokens in rate_tokens(runs, clips=clips):
        face, flow_map = sources.face_of(key) if faces else None, sources.map_of(key)
        rows.append(element("h4", key))
        grounds = ((Picture.of_face, face), (Picture.of_map, None if flow_map is None else flow_picture(flow_map)))
        for make, ground in grounds:
            if ground is not None:
                tiles = [
                    tile(
                        make(names, integrated_picture(ground, each.groups, each.grid)).first,
                        merged_outlines(each),
                        caption=f"{100 * each.rate:.0f} %",
                    )
                    for each in tokens
                ]
                rows.append(element("div", *tiles, class_="tiles rates"))
    return join(*rows)


def rate_tokens(runs: Sequence[Run], *, clips: int) -> list[tuple[str, list[Tokens]]]:
    """A few clips, each with its tokens in every run, if all runs kept them."""
    chosen = [each.prediction.key for each in choose_examples(runs[0], right=clips, wrong=0)]
    seed = min(each.seed for each in runs[0].predictions)
    found = [clip_tokens(run, set(chosen), seed) for run in runs]
    return [(key, [tokens[key] for tokens in found]) for key in chosen if all(key in tokens for tokens in found)]
