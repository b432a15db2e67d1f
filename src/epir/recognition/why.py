"""Figures that explain an answer: one figure with everything, and single panels for the web page.

Axes: h pixels of the face, A arrows per side
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np

from epir.core.errors import EpirError
from epir.core.files import atomic_write
from epir.models.predict import Tokens
from epir.recognition.answer import Answer, Attribution, Evidence
from epir.reports.overlays import (
    INK,
    LEAST_FALL,
    PALE,
    SOFT,
    Overlay,
    attribution_overlay,
    draw_overlay,
    heat_overlay,
    merged_overlay,
    new_figure,
    selected_overlay,
    show_picture,
)
from epir.reports.pictures import map_pictures

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DOTS_PER_INCH = 110
ACCENT, QUIET, WARNING = "#0a5c9e", "#b8c4d0", "#a8480b"
PANEL = 3.6  # inches
ARROWS = 14  # per side
TITLE_STEP, LINE_STEP = 20, 16  # points from the title to the line below it, and from line to line
LEAST_ARROW = 0.08  # share of the longest arrow: shorter ones are not drawn


def draw_why(answer: Answer) -> "Figure":
    """Draw the attribution, onset, apex and scores; below them the flow and the tokens of the paper's method."""
    if answer.evidence is None or answer.map is None:
        raise EpirError(
            f"the pixels of this movement, frames {answer.onset} to {answer.offset}, were not kept: only the strongest "
            "reported movements of a video can be plotted",
            fix=f"call predict with onset={answer.onset} and apex={answer.apex}, and plot that answer",
        )
    lines = [answer.text, *([answer.unit_text] if answer.units else [])]
    figure = new_figure(11.2, 6.4 + 0.22 * len(lines) + 0.2 * len(answer.warnings))
    places = figure.subplots(2, 4)
    _draw_attribution(places[0, 0], answer.attribution, answer.evidence.onset)
    _draw_key_frames(places[0, 1:3], answer, answer.evidence)
    _draw_scores(places[0, 3], answer.scores, answer.label)
    _draw_flow(places[1, 0], answer.evidence)
    if answer.tokens is None:
        _, *channels = map_pictures(answer.map).values()
        captions = ("map: u, orange to the right", "map: v, orange down", "map: strain")
        for axes, picture, caption in zip(places[1, 1:], channels, captions, strict=False):
            show_picture(axes, picture, caption)
    else:
        _draw_tokens(places[1, 1:], answer.evidence.onset, answer.tokens)
    _draw_title(figure, headline(answer), lines)
    if answer.warnings:
        words = "\n".join(f"Note: {word}." for word in answer.warnings)
        figure.supxlabel(words, fontsize=8.5, color=WARNING, x=0.012, ha="left")
    figure.set_label(alt_text(answer))
    return figure


def alt_text(answer: Answer) -> str:
    """The figure of `draw_why` in words."""
    words = f"{headline(answer)}. {answer.text}"
    return f"{words} {answer.unit_text}." if answer.units else words


def headline(answer: Answer) -> str:
    """The answer in one line."""
    name = shorten(Path(answer.input).name or answer.input, 40, placeholder="...")
    if not answer.scores:
        return f"{name}: {answer.label}"
    leaning = "" if answer.label == answer.best else f"most likely {answer.best}, "
    label = f"{answer.label} ({leaning}{answer.confidence:.2f})"
    if answer.probability is not None:
        label = f"a micro-expression with probability {answer.probability:.2f}; if so, {label}"
    return f"{name}: {label}"


def draw_flow(face: np.ndarray, flow: np.ndarray) -> "Figure":
    """Draw a panel with the face in the colours of its motion, without head motion, and arrows."""
    from epir.flow.colour import flow_peak, flow_to_colour
    from epir.flow.head_motion import without_head_motion

    flow = without_head_motion(flow, "similarity")  # (h, h, 2)
    figure, axes = _panel(tinted(face, flow_to_colour(flow)), ARROWS)
    side = flow.shape[0] // ARROWS * ARROWS
    cells = flow[:side, :side].reshape(ARROWS, side // ARROWS, ARROWS, -1, 2).mean(axis=(1, 3))  # (A, A, 2)
    u, v = np.moveaxis(cells / max(flow_peak(flow), 1e-9), -1, 0)
    shown = np.hypot(u, v) > LEAST_ARROW
    rows, columns = np.nonzero(shown)
    look: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1, "width": 0.007, "headwidth": 4.2}
    axes.quiver(columns + 0.5, rows + 0.5, 1.3 * u[shown], 1.3 * v[shown], color=INK, **look)
    return figure


def draw_tokens(face: np.ndarray, tokens: Tokens) -> "Figure":
    """Draw a panel in which patches of one token share a colour and a letter; numbers mark each head's token."""
    return _token_panel(face, merged_overlay(tokens), selected_overlay(tokens, tinted=False, in_corner=True))


def draw_attribution(face: np.ndarray, attribution: Attribution) -> "Figure":
    """Draw a panel of the parts whose occlusion lowers the probability of the class most."""
    return _token_panel(face, attribution_overlay(attribution.patches.tolist()))


def draw_attention(face: np.ndarray, tokens: Tokens) -> "Figure":
    """Draw a panel of the attention on each patch, averaged over the heads."""
    return _token_panel(face, heat_overlay(tokens.attention, tokens.grid, scale="share", words=True))


def save_picture(figure: "Figure", path: Path) -> Path:
    """Write a figure in the format of the path's extension; PNG and SVG include its alt text."""
    kind = path.suffix.lstrip(".") or "png"
    words = str(figure.get_label())
    metadata = {"Description": words} if words and kind in ("png", "svg") else None
    with atomic_write(path) as temporary:
        figure.savefig(temporary, format=kind, dpi=DOTS_PER_INCH, metadata=metadata)
    return path


def paled(face: np.ndarray) -> np.ndarray:
    """The face in light grey, as a background for colours."""
    grey = face.mean(axis=2, keepdims=True)
    return np.repeat((grey * 0.75 + 255 * 0.25).round().astype(np.uint8), 3, axis=2)


def tinted(face: np.ndarray, colours: np.ndarray) -> np.ndarray:
    """The grey face multiplied by the colours of its flow; still skin stays grey."""
    grey = face.mean(axis=2, keepdims=True) / 255.0
    return ((0.5 + 0.5 * grey) * colours).clip(0, 255).astype(np.uint8)


def _draw_title(figure: "Figure", title: str, lines: Sequence[str]) -> None:
    """Draw a bold title and plain lines below it, and move the axes down."""
    height = 72 * figure.get_figheight()  # points
    figure.text(0.012, 1 - 6 / height, title, fontsize=13, color=INK, va="top", fontweight="bold").set_in_layout(False)
    for number, line in enumerate(lines):
        place = 1 - (6 + TITLE_STEP + number * LINE_STEP) / height
        figure.text(0.012, place, line, fontsize=10.5, color=INK, va="top").set_in_layout(False)
    engine = figure.get_layout_engine()
    assert engine is not None, "new_figure sets a layout engine"
    engine.set(rect=(0, 0, 1, 1 - (6 + TITLE_STEP + len(lines) * LINE_STEP) / height))  # type: ignore[call-arg]


def _draw_attribution(axes: "Axes", attribution: Attribution | None, face: np.ndarray) -> None:
    if attribution is None:
        show_picture(axes, paled(face), "")
        return
    caption = f"what {attribution.label} rests on (occlusion)"
    if float(attribution.patches.max()) < LEAST_FALL:
        caption = f"{attribution.label}: no single part decides"
    show_picture(axes, paled(face), caption, attribution_overlay(attribution.patches.tolist()))


def _draw_key_frames(places: Sequence["Axes"], answer: Answer, pixels: Evidence) -> None:
    for axes, key in zip(places, ("onset", "apex"), strict=True):
        seconds = getattr(answer, f"{key}_s")
        time = "" if seconds is None else f" ({seconds:.2f} s)"
        show_picture(axes, getattr(pixels, key), f"{key}, frame {getattr(answer, key)}{time}")


def _draw_flow(axes: "Axes", pixels: Evidence) -> None:
    from epir.flow.colour import colour_wheel, draw_arrows, flow_to_colour
    from epir.flow.head_motion import without_head_motion

    flow = without_head_motion(pixels.flow, "similarity")
    picture = draw_arrows(tinted(pixels.onset, flow_to_colour(flow)), flow)
    show_picture(axes, picture, "flow, without the motion of the head")
    wheel = axes.inset_axes((0.80, 0.02, 0.18, 0.18))
    wheel.imshow(np.dstack([colour_wheel(96), np.where(_disc(96), 255, 0).astype(np.uint8)]))
    wheel.set_axis_off()


def _draw_tokens(places: Sequence["Axes"], face: np.ndarray, tokens: Tokens) -> None:
    merged = f"paper's method: {tokens.patches} patches, {len(tokens.groups)} tokens"
    show_picture(places[0], paled(face), merged, merged_overlay(tokens))
    show_picture(places[1], paled(face), "paper's method: token of each head", selected_overlay(tokens))
    heat = heat_overlay(tokens.attention, tokens.grid, scale="share", words=True)
    show_picture(places[2], paled(face), "paper's method: attention, mean", heat)


def _draw_scores(axes: "Axes", scores: Mapping[str, float], label: str) -> None:
    names = list(scores)
    best = max(names, key=lambda name: scores[name])
    places = range(len(names))
    colours = [ACCENT if name == best else QUIET for name in names]
    axes.barh(places, [scores[name] for name in names], color=colours, height=0.55)
    for place, name in zip(places, names, strict=True):
        weight = "bold" if name == best else "normal"
        axes.text(min(scores[name] + 0.02, 1.02), place, f"{scores[name]:.2f}", va="center", fontsize=9, color=INK)
        axes.text(0, place - 0.42, name, va="bottom", fontsize=9, color=INK, weight=weight)
    title = "calibrated score" if label == best else f"calibrated score: {label}"
    axes.set_box_aspect(1)
    axes.set_xlim(0, 1.16)
    axes.set_ylim(len(names) - 0.4, -0.8)
    axes.set_title(title, fontsize=9.5, color=SOFT, pad=4)
    axes.set_xticks([0, 0.5, 1])
    axes.set_yticks([])
    axes.tick_params(length=0, labelsize=8.5, colors=SOFT)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.spines["left"].set_color(PALE)


def _token_panel(face: np.ndarray, *overlays: Overlay) -> "Figure":
    figure, axes = _panel(paled(face), 1)
    for overlay in overlays:
        draw_overlay(axes, overlay, lines=1.0, words=9)
    return figure


def _panel(picture: np.ndarray, grid: int) -> tuple["Figure", "Axes"]:
    """A square figure without margins or captions, with axes of `grid` cells per side."""
    figure = new_figure(PANEL, PANEL, fitted=False)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.imshow(picture, extent=(0, grid, grid, 0), interpolation="antialiased")
    axes.set_axis_off()
    return figure, axes


def _disc(size: int) -> np.ndarray:
    y, x = (np.mgrid[0:size, 0:size] - (size - 1) / 2) / (size / 2)
    return np.hypot(x, y) <= 1.0
