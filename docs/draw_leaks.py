"""Draws docs/pictures/leaks.svg, the picture of docs/leaks.md: `python docs/draw_leaks.py`.

The curve is invented: it has the shape that the accuracy on one test person often has, and no data.
"""

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("svg")
matplotlib.rcParams |= {"svg.hashsalt": "epir", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 11}

from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402

PICTURE = Path(__file__).parent / "pictures" / "leaks.svg"
INK, GREEN, RED, GREY = "#2c2a26", "#2f7d4f", "#b3402f", "#b9b2a3"
EPOCHS = np.arange(1, 21)
SEED = 36
PEOPLE = ("person A", "person B", "person C")


def invented_curves() -> np.ndarray:
    """Accuracy (people, epochs) on three test people: it rises, then wanders."""
    rng = np.random.default_rng(SEED)
    rise = 1 - np.exp(-EPOCHS / 3)
    ceilings = np.array([[0.72], [0.58], [0.4]])
    return np.clip(ceilings * rise + rng.normal(0, 0.055, (len(PEOPLE), len(EPOCHS))), 0, 1)


def draw_curves(axes: Axes, curves: np.ndarray) -> None:
    """One line per person; the last epoch in green, the best one of each person and of all in red."""
    last = len(EPOCHS) - 1
    for name, curve in zip(PEOPLE, curves, strict=True):
        best = int(curve.argmax())
        axes.plot(EPOCHS, curve, color=GREY, lw=1.6, zorder=1)
        axes.scatter(EPOCHS[last], curve[last], color=GREEN, s=46, zorder=3)
        axes.scatter(EPOCHS[best], curve[best], facecolors="none", edgecolors=RED, s=70, lw=1.8, zorder=2)
        axes.annotate(name, (EPOCHS[last] + 0.5, curve[last]), va="center", color=INK, fontsize=10)
    axes.axvline(EPOCHS[last], color=GREEN, lw=1.2, zorder=0)
    axes.axvline(EPOCHS[int(curves.mean(axis=0).argmax())], color=RED, lw=1.2, ls="--", zorder=0)
    axes.set(xlabel="epoch", ylabel="accuracy on the test person", xlim=(0.5, 24.5), ylim=(0, 1))
    axes.set_xticks([1, 5, 10, 15, 20])
    axes.spines[["top", "right"]].set_visible(False)


def draw_words(axes: Axes) -> None:
    """What is done with the dots and the lines."""
    axes.axis("off")
    rows = (
        (GREEN, "strict", "the last epoch of everybody, pooled;\nfixed before anyone looks"),
        (RED, "one best epoch (leaks)", "the epoch that suits all test people best"),
        (RED, "best epoch (leaks)", "of each person the epoch that suits\nthis person best; pooled, or as a mean"),
    )
    for number, (colour, title, words) in enumerate(rows):
        top = 0.92 - 0.3 * number
        if number == 1:
            axes.plot((0.03, 0.03), (top - 0.06, top + 0.06), color=RED, lw=1.4, ls="--")
        else:
            axes.scatter(0.03, top, s=60, lw=1.8, edgecolors=colour, facecolors=colour if number == 0 else "none")
        axes.text(0.1, top, title, color=colour, weight="bold", va="center", fontsize=11)
        axes.text(0.1, top - 0.05, words, color=INK, va="top", fontsize=10)
    axes.set(xlim=(0, 1), ylim=(0, 1))


def main() -> None:
    """Draw it; the same bytes each time."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.6), width_ratios=(1.25, 1), layout="constrained")
    draw_curves(left, invented_curves())
    draw_words(right)
    figure.patch.set_facecolor("#fffdf8")
    left.set_facecolor("#fffdf8")
    figure.savefig(PICTURE, metadata={"Date": None}, facecolor=figure.get_facecolor())


if __name__ == "__main__":
    main()
