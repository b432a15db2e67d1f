"""Token pictures on the page, as SVG: cards of example clips, and the same clips at every rate of integration.

Every tile is a square of 100 x 100 units.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count as counting

import numpy as np

from epir.evaluation.scores import Column
from epir.evaluation.store import Run
from epir.evaluation.table import COLUMN_NAMES, kind_of
from epir.reports.markup import Markup, data_url, element, join, tag
from epir.reports.pictures import Sources, flow_picture, integrated_picture, jpeg, map_pictures, motion_picture, png
from epir.reports.results import Example
from epir.reports.series import rate_tokens
from epir.reports.tokens import (
    Mark,
    Overlay,
    Tokens,
    borders,
    head_overlays,
    heat_overlay,
    heat_range,
    merged_overlay,
    outline_overlay,
    selected_overlay,
)

SIDE = 100


@dataclass(frozen=True)
class Picture:
    """A picture that is embedded in the page once, however often it is shown."""

    ident: str
    url: str
    style: str = ""

    @classmethod
    def of_map(cls, names: Iterator[str], pixels: np.ndarray) -> "Picture":
        """A small map, every pixel of which is kept."""
        return cls(next(names), data_url(png(pixels), "image/png"), style="image-rendering:pixelated")

    @classmethod
    def of_face(cls, names: Iterator[str], pixels: np.ndarray) -> "Picture":
        """A face, compressed as a photograph."""
        return cls(next(names), data_url(jpeg(pixels), "image/jpeg"))

    @property
    def first(self) -> Markup:
        """The picture itself."""
        return element("image", id=self.ident, href=self.url, width=SIDE, height=SIDE, style=self.style or None)

    @property
    def again(self) -> Markup:
        """The same picture once more."""
        return element("use", href=f"#{self.ident}")


def gallery(
    examples: tuple[Example, ...],
    sources: Sources,
    classes: tuple[str, ...],
    *,
    faces: Mapping[str, np.ndarray],
    prefix: str,
    column: Column = "strict",
) -> Markup:
    """The right answers, then the wrong ones; `faces` are by clip, `prefix` makes the pictures' names unique."""
    names = (f"{prefix}{number}" for number in counting())
    parts: list[str] = []
    for title, right in (("Right answers", True), ("Wrong answers", False)):
        cards = [
            card(each, sources.map_of(each.prediction.key), faces.get(each.prediction.key), classes, names, column)
            for each in examples
            if each.is_right == right
        ]
        if cards:
            parts.append(element("h3", title, " ", tag(COLUMN_NAMES[column], kind_of(column))))
            parts.append(element("div", *cards, class_="cards"))
    return join(*parts)


def card(
    example: Example,
    flow_map: np.ndarray | None,
    face: np.ndarray | None,
    classes: tuple[str, ...],
    names: Iterator[str],
    column: Column = "strict",
) -> Markup:
    """One clip: its name, the truth, the answer, and the pictures that are available."""
    prediction, tokens = example.prediction, example.tokens
    score = prediction.scores[classes.index(prediction.strict)]
    answer = element(
        "p",
        *("truth ", element("b", prediction.truth)),
        *("; answer ", element("b", prediction.strict, class_="right" if example.is_right else "wrong")),
        *(f", score {score:.2f} ", tag(COLUMN_NAMES[column], kind_of(column))),
        class_="answer",
    )
    moved = moved_words(flow_map)
    tiles: list[str] = []
    if flow_map is not None:
        shown = map_pictures(flow_map).items()
        tiles += [tile(Picture.of_map(names, pixels).first, caption=caption) for caption, pixels in shown]
    if tokens is not None:
        tiles += token_tiles(tokens, None if flow_map is None else Picture.of_map(names, motion_picture(flow_map)))
    if face is not None:
        tiles += face_tiles(Picture.of_face(names, face), tokens)
    words = [element("p", moved, class_="answer")] if moved else []
    return element(
        "article", element("h4", prediction.key), answer, *words, element("div", *tiles, class_="tiles"), class_="card"
    )


def moved_words(flow_map: np.ndarray | None) -> str:
    """What moved in a map (3, S, S), in a sentence; nothing for maps that were stretched to 0..1: they have no sign."""
    if flow_map is None or flow_map[:2].min() >= 0:
        return ""
    from epir.spotting.words import describe, moving_regions

    return describe(moving_regions(np.moveaxis(flow_map[:2], 0, -1)), None)


def token_tiles(tokens: Tokens, ground: Picture | None) -> list[str]:
    """The merged tokens, then the attention and the selected token of each head."""
    first, again = (ground.first, ground.again) if ground else (Markup(), Markup())
    caption = f"merged to {len(tokens.groups)}" if tokens.merged else f"{len(tokens.groups)} tokens"
    tiles: list[str] = [tile(first, merged_overlay(tokens), caption=caption)]
    for head, weights in enumerate(tokens.rollout):
        tiles.append(tile(again, *head_overlays(tokens, head), caption=f"head {head + 1}, {heat_range(weights)}"))
    return tiles


def face_tiles(face: Picture, tokens: Tokens | None) -> list[str]:
    """The face at the apex; over it the merged tokens, the attention of all heads and the selected tokens."""
    tiles: list[str] = [tile(face.first, caption="apex")]
    if tokens is not None:
        tiles.append(tile(face.again, merged_overlay(tokens), caption="merged" if tokens.merged else "tokens"))
        if tokens.rollout:
            heat = heat_overlay(tokens.attention, tokens.grid)
            tiles.append(tile(face.again, heat, caption=f"all, {heat_range(tokens.attention)}"))
        if tokens.selected:
            tiles.append(tile(face.again, selected_overlay(tokens), caption="selected"))
    return tiles


def integration_gallery(runs: Sequence[Run], sources: Sources, *, faces: bool = True, clips: int = 2) -> Markup:
    """The same clips at every rate of a sweep: on the face and on the map, each token as the mean of its patches."""
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
                        outline_overlay(each),
                        caption=f"{100 * each.rate:.0f} %",
                    )
                    for each in tokens
                ]
                rows.append(element("div", *tiles, class_="tiles rates"))
    return join(*rows)


def tile(picture: Markup, *overlays: Overlay, caption: str) -> Markup:
    """A picture with overlays and a caption."""
    drawn = map(svg_overlay, overlays)
    drawing = element("svg", picture, *drawn, viewbox=f"0 0 {SIDE} {SIDE}", role="img", aria_label=caption)
    return element("figure", drawing, element("figcaption", caption), class_="tile")


def svg_overlay(overlay: Overlay) -> Markup:
    """An overlay as SVG."""
    parts: list[str] = []
    if overlay.lattice:
        places = [f"{SIDE * n / overlay.grid:g}" for n in range(1, overlay.grid)]
        parts.append(element("path", d="".join(f"M{at} 0V{SIDE}M0 {at}H{SIDE}" for at in places), class_="lattice"))
    size = SIDE / overlay.grid
    for mark in overlay.marks:
        if mark.tint >= 0.005:
            corners = ((patch % overlay.grid * size, patch // overlay.grid * size) for patch in mark.patches)
            area = "".join(f"M{x:g} {y:g}h{size:g}v{size:g}h-{size:g}z" for x, y in corners)
            title = [element("title", mark.title)] if mark.title else []
            parts.append(element("path", *title, d=area, fill=mark.colour, fill_opacity=f"{mark.tint:.2f}"))
        if mark.line:
            path = outline_path(mark.patches, overlay.grid)
            if mark.halo:
                parts.append(element("path", d=path, class_="outline", stroke="#fff", stroke_width=mark.line + 2.5))
            parts.append(element("path", d=path, class_="outline", stroke=mark.colour, stroke_width=mark.line))
    parts += [word for mark in overlay.marks if mark.word for word in _svg_words(mark, overlay.grid)]
    return join(*parts)


def outline_path(patches: Sequence[int], grid: int) -> str:
    """The border around some patches as an SVG path."""
    size = SIDE / grid
    return "".join(f"M{a * size:g} {b * size:g}L{c * size:g} {d * size:g}" for (a, b), (c, d) in borders(patches, grid))


def _svg_words(mark: Mark, grid: int) -> list[str]:
    size = SIDE / grid
    places = [(patch % grid + 0.5, patch // grid + 0.5) for patch in mark.patches]
    if mark.in_corner:
        places = [(min(mark.patches) % grid + 0.2, min(mark.patches) // grid + 0.25)]
    look = "letter" if len(mark.word) < 4 else "letter many"
    return [element("text", mark.word, x=f"{x * size:g}", y=f"{y * size + 4:g}", class_=look) for x, y in places]
