"""The picture of why an answer was given, and the timeline of the video it comes from.

Axes: S map size, h pixels of the face
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from epir.core.files import whole_file
from epir.reports.figures import INK, PALE, SOFT, new_figure
from epir.reports.timeline import seconds_of
from epir.reports.tokens import LETTERED_UP_TO, Tokens, borders, heat_limit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACCENT, HEAT, WARNING = "#0a5c9e", "#c2410c", "#a8480b"
GROUPS = ("#0072b2", "#d55e00", "#009e73", "#b0568d", "#8a6d00", "#3d4cc2", "#6b3e1d", "#4d4d4d")
HEADS = ("#0a5c9e", "#a8480b", "#00735a", "#8a3f7d", "#5a6673", "#8a6d00")
DOTS_PER_INCH = 110


class Pixels(Protocol):
    """Faces and flow behind an answer."""

    onset: np.ndarray  # (h, h, 3) uint8
    apex: np.ndarray  # (h, h, 3) uint8
    flow: np.ndarray  # (h, h, 2)


Told = Any  # an `epir.recognition.answer.Answer`: this folder does not import that one


def draw_why(answer: Told) -> "Figure":
    """Onset, apex, flow as colours and arrows, tokens merged and selected, rollout, and the scores."""
    assert answer.evidence is not None and answer.map is not None, "an answer with scores has pixels"
    figure = new_figure(11.2, 6.55 + 0.2 * len(answer.warnings))
    places = figure.subplots(2, 4)
    pixels: Pixels = answer.evidence
    _draw_motion(places[0], answer, pixels)
    if answer.tokens is None:
        _draw_channels(places[1, :3], answer.map)
    else:
        _draw_merged(places[1, 0], pixels.onset, answer.tokens)
        _draw_selected(places[1, 1], pixels.onset, answer.tokens)
        draw_rollout(places[1, 2], pixels.onset, answer.tokens)
    _draw_scores(places[1, 3], answer.scores, answer.label)
    figure.suptitle(headline(answer), fontsize=13, color=INK, x=0.012, ha="left", fontweight="bold")
    if answer.warnings:
        words = "\n".join(f"Note: {word}." for word in answer.warnings)
        figure.supxlabel(words, fontsize=8.5, color=WARNING, x=0.012, ha="left")
    return figure


def headline(answer: Told) -> str:
    """The answer in one line."""
    name = shorten(Path(answer.input).name or answer.input, 40, placeholder="...")
    if not answer.scores:
        return f"{name}: {answer.label}"
    best = max(answer.scores, key=lambda each: answer.scores[each])
    score = f"{answer.scores[best]:.2f}"
    said = f"{answer.label} ({score})" if answer.label == best else f"{answer.label} (most likely {best}, {score})"
    return f"{name}: {said}"


def save_picture(figure: "Figure", path: Path) -> Path:
    """Write a figure as a picture; the ending of the name says which kind."""
    with whole_file(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lstrip(".") or "png", dpi=DOTS_PER_INCH)
    return path


def _draw_motion(places: Sequence["Axes"], answer: Told, pixels: Pixels) -> None:
    from epir.flow.colour import colour_wheel, draw_arrows, flow_to_colour
    from epir.flow.head_motion import without_head_motion

    flow = without_head_motion(pixels.flow, "similarity")  # what the head does says nothing about the face
    for axes, face, name, number in (
        (places[0], pixels.onset, "onset", answer.onset),
        (places[1], pixels.apex, "apex", answer.apex),
    ):
        _show(axes, face, f"{name}, frame {number}{_at(number, answer)}")
    _show(places[2], tinted(pixels.onset, flow_to_colour(flow)), "flow: colour is direction")
    wheel = places[2].inset_axes((0.80, 0.02, 0.18, 0.18))
    shown = np.dstack([colour_wheel(96), np.where(_disc(96), 255, 0).astype(np.uint8)])
    wheel.imshow(shown)
    wheel.set_axis_off()
    longest = 100 * float(np.quantile(np.hypot(flow[..., 0], flow[..., 1]), 0.99)) / flow.shape[0]
    _show(places[3], draw_arrows(pixels.onset, flow), f"flow: longest {longest:.1f} % of the face")


def _draw_channels(places: Sequence["Axes"], flow_map: np.ndarray) -> None:
    from epir.reports.pixels import centred, positive_picture, signed_picture

    u, v = centred(flow_map[0]), centred(flow_map[1])
    limit = float(max(np.abs(u).max(), np.abs(v).max()))
    _show(places[0], signed_picture(u, limit), "map: u, orange to the right")
    _show(places[1], signed_picture(v, limit), "map: v, orange down")
    _show(places[2], positive_picture(flow_map[2]), "map: strain")


def _draw_merged(axes: "Axes", face: np.ndarray, tokens: Tokens) -> None:
    _show(axes, paled(face), f"{tokens.patches} patches merged to {len(tokens.groups)} tokens", tokens.grid)
    lattice(axes, tokens.grid)
    for number, group in enumerate(sorted(tokens.merged)):
        colour = GROUPS[number % len(GROUPS)]
        fill_patches(axes, group, tokens.grid, colour, 0.38)
        outline_patches(axes, group, tokens.grid, colour, 1.8)
        for patch in group:
            write_patch(axes, patch, tokens.grid, chr(ord("A") + number % 26))


def _draw_selected(axes: "Axes", face: np.ndarray, tokens: Tokens) -> None:
    _show(axes, paled(face), "token selected by each head", tokens.grid)
    lattice(axes, tokens.grid)
    for token in sorted(set(tokens.selected)):
        heads = [head for head, chosen in enumerate(tokens.selected) if chosen == token]
        colour = HEADS[heads[0] % len(HEADS)]
        fill_patches(axes, tokens.groups[token], tokens.grid, colour, 0.28)
        outline_patches(axes, tokens.groups[token], tokens.grid, colour, 2.4)
        words = ", ".join(str(head + 1) for head in heads)
        for patch in tokens.groups[token]:
            write_patch(axes, patch, tokens.grid, words)


def draw_rollout(axes: "Axes", face: np.ndarray, tokens: Tokens) -> None:
    """The attention on each patch, mean of the heads, as heat on the paled face."""
    _show(axes, paled(face), "attention, mean of the heads", tokens.grid)
    weights = np.mean(tokens.rollout, axis=0)  # (P,)
    most = heat_limit(weights.tolist())
    for patch, weight in enumerate(weights.tolist()):
        fill_patches(axes, (patch,), tokens.grid, HEAT, 0.85 * float(max(weight, 0.0)) / most)
        write_patch(axes, patch, tokens.grid, f"{100 * weight / float(weights.sum()):.0f} %")


def _draw_scores(axes: "Axes", scores: Mapping[str, float], label: str) -> None:
    names = list(scores)
    best = max(names, key=lambda name: scores[name])
    colours = [ACCENT if name == best else "#b8c4d0" for name in names]
    places = range(len(names))
    axes.barh(places, [scores[name] for name in names], color=colours, height=0.55)
    for place, name in zip(places, names, strict=True):
        axes.text(min(scores[name] + 0.02, 1.02), place, f"{scores[name]:.2f}", va="center", fontsize=9, color=INK)
        axes.text(
            0, place - 0.42, name, va="bottom", fontsize=9, color=INK, weight="bold" if name == best else "normal"
        )
    axes.set_box_aspect(1)
    axes.set_xlim(0, 1.16)
    axes.set_ylim(len(names) - 0.4, -0.8)
    axes.set_title(
        "calibrated score" if label == best else f"calibrated score: {label}", fontsize=9.5, color=SOFT, pad=4
    )
    axes.set_xticks([0, 0.5, 1])
    axes.set_yticks([])
    axes.tick_params(length=0, labelsize=8.5, colors=SOFT)
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.spines["left"].set_color(PALE)


def _at(number: int | None, answer: Told) -> str:
    if answer.timeline is None or number is None:
        return ""
    return f" ({float(seconds_of(np.array(number), answer.timeline)):.2f} s)"


def _show(axes: "Axes", picture: np.ndarray, caption: str, grid: int = 1) -> None:
    axes.imshow(picture, extent=(0, grid, grid, 0), interpolation="antialiased" if picture.shape[0] > 60 else "nearest")
    axes.set_title(caption, fontsize=9.5, color=SOFT, pad=4)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines[:].set_color(PALE)


def lattice(axes: "Axes", grid: int) -> None:
    """Thin lines between the patches."""
    for place in range(1, grid):
        axes.axhline(place, color="white", lw=0.6, alpha=0.8)
        axes.axvline(place, color="white", lw=0.6, alpha=0.8)


def write_patch(axes: "Axes", patch: int, grid: int, word: str, *, corner: bool = False) -> None:
    """A word in a patch (its middle, or its upper left corner), with a dark rim; small patches have no room."""
    from matplotlib.patheffects import withStroke

    if grid > LETTERED_UP_TO:
        return
    rim = [withStroke(linewidth=2.2, foreground=INK)]
    x, y = (patch % grid + (0.09 if corner else 0.5), patch // grid + (0.08 if corner else 0.5))
    across, up = ("left", "top") if corner else ("center", "center")
    axes.text(x, y, word, ha=across, va=up, fontsize=9, color="white", weight="bold", path_effects=rim)


def fill_patches(axes: "Axes", patches: Sequence[int], grid: int, colour: str, alpha: float) -> None:
    """Colour some patches."""
    from matplotlib.patches import Rectangle

    for patch in patches:
        axes.add_patch(Rectangle((patch % grid, patch // grid), 1, 1, facecolor=colour, alpha=alpha, linewidth=0))


def outline_patches(axes: "Axes", patches: Sequence[int], grid: int, colour: str, width: float) -> None:
    """Draw the border around some patches."""
    from matplotlib.collections import LineCollection

    axes.add_collection(LineCollection(borders(patches, grid), colors=colour, linewidths=width, capstyle="projecting"))


def paled(face: np.ndarray) -> np.ndarray:
    """The face in light greys, a quiet ground for colours."""
    grey = face.mean(axis=2, keepdims=True)
    return np.repeat((grey * 0.75 + 255 * 0.25).round().astype(np.uint8), 3, axis=2)


def tinted(face: np.ndarray, colours: np.ndarray) -> np.ndarray:
    """The grey face in the colours of its flow: still skin stays grey."""
    grey = face.mean(axis=2, keepdims=True) / 255.0
    return ((0.5 + 0.5 * grey) * colours).clip(0, 255).astype(np.uint8)


def _disc(size: int) -> np.ndarray:
    y, x = (np.mgrid[0:size, 0:size] - (size - 1) / 2) / (size / 2)
    return np.hypot(x, y) <= 1.0
