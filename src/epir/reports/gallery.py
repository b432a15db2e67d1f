"""Cards of examples: the map of a clip, what was merged and what each head selected, on the map and on the face."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count as counting

import numpy as np

from epir.reports.examples import Example
from epir.reports.htmltable import tag
from epir.reports.markup import Markup, data_url, element, join
from epir.reports.pixels import centred, flow_picture, grey_picture, jpeg, png, positive_picture, signed_picture
from epir.reports.sources import Sources
from epir.reports.tokens import (
    SIDE,
    Tokens,
    head_overlay,
    heat_overlay,
    heat_range,
    merged_overlay,
    numbered_overlay,
    tile,
)
from epir.reports.wording import STRICT


@dataclass(frozen=True)
class Picture:
    """A picture that stands in the page once, however often it is shown."""

    ident: str
    url: str
    style: str = ""

    @classmethod
    def of_map(cls, names: Iterator[str], pixels: np.ndarray) -> "Picture":
        """A small map, every pixel of which is kept."""
        return cls(next(names), data_url(png(pixels), "image/png"), style="image-rendering:pixelated")

    @classmethod
    def of_face(cls, names: Iterator[str], pixels: np.ndarray) -> "Picture":
        """A face, packed as a photograph."""
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
) -> Markup:
    """The right answers, then the wrong ones.

    `faces` are by clip; `prefix` keeps the pictures of several galleries in one page apart.
    """
    names = (f"{prefix}{number}" for number in counting())
    parts: list[str] = []
    for title, right in (("Right answers", True), ("Wrong answers", False)):
        cards = [
            card(each, sources.map_of(each.prediction.key), faces.get(each.prediction.key), classes, names)
            for each in examples
            if each.is_right == right
        ]
        if cards:
            parts.append(element("h3", title, " ", tag(STRICT, "strict")))
            parts.append(element("div", *cards, class_="cards"))
    return join(*parts)


def card(
    example: Example,
    flow_map: np.ndarray | None,
    face: np.ndarray | None,
    classes: tuple[str, ...],
    names: Iterator[str],
) -> Markup:
    """One clip: its name, the truth and the strict answer, and the pictures that are at hand."""
    prediction, tokens = example.prediction, example.tokens
    score = prediction.scores[classes.index(prediction.strict)]
    answer = element(
        "p",
        *("truth ", element("b", prediction.truth)),
        *("; answer ", element("b", prediction.strict, class_="right" if example.is_right else "wrong")),
        *(f", score {score:.2f} ", tag(STRICT, "strict")),
        class_="answer",
    )
    tiles: list[str] = []
    if flow_map is not None:
        tiles += map_tiles(flow_map, tokens, names)
    elif tokens is not None:
        tiles += token_tiles(tokens, None)
    if face is not None:
        tiles += face_tiles(Picture.of_face(names, face), tokens)
    return element(
        "article", element("h4", prediction.key), answer, element("div", *tiles, class_="tiles"), class_="card"
    )


def map_tiles(flow_map: np.ndarray, tokens: Tokens | None, names: Iterator[str]) -> list[str]:
    """Flow as colour, the three channels, and the tokens over a quiet grey map."""
    u, v, strain = centred(flow_map[0]), centred(flow_map[1]), flow_map[2]
    limit = float(max(np.abs(u).max(), np.abs(v).max()))
    shown = (
        ("flow", flow_picture(flow_map)),
        (f"u, ±{limit:.2g}", signed_picture(u, limit)),
        (f"v, ±{limit:.2g}", signed_picture(v, limit)),
        ("strain", positive_picture(strain)),
    )
    tiles: list[str] = [tile(Picture.of_map(names, pixels).first, caption=caption) for caption, pixels in shown]
    if tokens is not None:
        tiles += token_tiles(tokens, Picture.of_map(names, grey_picture(np.hypot(u, v))))
    return tiles


def token_tiles(tokens: Tokens, ground: Picture | None) -> list[str]:
    """What was merged, then where each head looked and what it selected."""
    first, again = (ground.first, ground.again) if ground else (Markup(), Markup())
    caption = f"merged to {len(tokens.groups)}" if tokens.merged else f"{len(tokens.groups)} tokens"
    tiles: list[str] = [tile(first, merged_overlay(tokens), caption=caption)]
    for head in range(len(tokens.rollout)):
        tiles.append(
            tile(again, head_overlay(tokens, head), caption=f"head {head + 1}, {heat_range(tokens.rollout[head])}")
        )
    return tiles


def face_tiles(face: Picture, tokens: Tokens | None) -> list[str]:
    """The face at the apex; over it what was merged and what was selected."""
    tiles: list[str] = [tile(face.first, caption="apex")]
    if tokens is not None:
        tiles.append(tile(face.again, merged_overlay(tokens), caption="merged" if tokens.merged else "tokens"))
        if tokens.rollout:
            together = tuple(float(weight) for weight in np.mean(tokens.rollout, axis=0))
            tiles.append(tile(face.again, heat_overlay(together, tokens.grid), caption=f"all, {heat_range(together)}"))
        if tokens.selected:
            tiles.append(tile(face.again, numbered_overlay(tokens), caption="selected"))
    return tiles
