"""The model card: what a model was made of, how well it does, and what it must not be used for."""

from collections.abc import Mapping, Sequence
from typing import Any

RESPONSIBLE_USE = "docs/responsible-use.md"
START_NOTE = " The weights that training started from have not seen these people, as far as their record says."


def model_card(settings: Any, classes: Sequence[str], notes: Mapping[str, Any], *, note: str = "") -> str:
    """The README.md of a model folder, for `notes` as `epir train` writes them, with a `note` of the user's own."""
    data, calibration = notes["data"], notes["calibration"]
    strict, label = notes.get("strict") or notes["seen_in_training"], notes.get("evaluation", "strict")
    low, high = strict["uf1_interval"]
    corpora = ", ".join(f"{name} ({count} clips)" for name, count in data["corpora"].items())
    words = ", ".join(f"{name} ({data['classes'].get(name, 0)})" for name in classes)
    started = notes["training"].get("start")
    return f"""---
library_name: epir
tags: [micro-expression, facial-expression, optical-flow]
---

# {settings.name}: micro-expressions from the motion between onset and apex

Classes: {", ".join(classes)}. Input: maps of u, v and strain, {settings.map_size} x {settings.map_size}.

    from epir import Recognizer
    answer = Recognizer.from_pretrained("this folder").predict("video.mp4")

## Data

{data["clips"]} clips of {data["people"]} people: {corpora}. Clips per class: {words}. Flow recipe: \
`{notes["recipe"].get("name", "not known")}`.{f" Training started from the weights of `{started}`." if started else ""}

## Scores

Protocol `{notes["protocol"]}`, {_held_out(notes)}{START_NOTE if started and label == "strict" else ""}

| column | UF1 | 95 % interval over people | UAR | accuracy |
|---|---|---|---|---|
| {label} | {strict["uf1"]:.4f} | {low:.3f} to {high:.3f} | {strict["uar"]:.4f} | {strict["accuracy"]:.4f} |

Confusion, {label} (rows are the truth):

{_confusion(strict["confusion"], classes)}

{_whose(notes)}

## Calibration

Temperature {calibration["temperature"]:g}, fitted on the held-out people. Expected calibration error: \
{_number(calibration["error_before"])} without a temperature, {_number(calibration["error_after"])} with one (each \
{"fold" if "folds" in calibration else "half of them"} under the temperature that fits the others). Answers whose \
best score is below {calibration["threshold"]:g} are given as `uncertain`: {_share(calibration["answered"])} of the \
held-out clips get an answer, and {_share(calibration["right"])} of these answers are right ({label}).

{_section(note)}## Limits

- It knows {data["people"]} people. On other ages, skin colours, cameras, light and ways to show a feeling it may do \
worse; measure it on yours.
- It names the motion of a face, not a feeling, a thought or a lie.
- It expects a frontal face of 100 px or more at 50 frames a second or more, with a head that keeps still.
- Movements that are no micro-expression (speech, chewing, a sneeze) get a class too.

## Responsible use

Ask the people you film. Do not use it to detect lies, or to infer emotions at work or at school. Read \
`{RESPONSIBLE_USE}` of epir before you use it on anybody.
"""


def _section(note: str) -> str:
    return f"{note.strip()}\n\n" if note.strip() else ""


def _held_out(notes: Mapping[str, Any]) -> str:
    recipe = f"(`{notes['training']['name']}`, {notes['training']['epochs']} epochs)"
    held = notes["calibration"]
    if "folds" in held:
        return (
            f"{held['folds']} grouped folds: each fold trains the same recipe {recipe} on some of the people and "
            "predicts the others once."
        )
    return f"recipe {recipe}; this model predicts {held['clips']} clips of {held['people']} other people once."


def _whose(notes: Mapping[str, Any]) -> str:
    if "folds" in notes["calibration"]:
        return "This model itself is trained on all clips with that recipe; it has no held-out people of its own."
    return "These people come from the same source as those that it was trained on; others are another matter."


def _confusion(counts: Sequence[Sequence[float]], classes: Sequence[str]) -> str:
    head = f"| truth | {' | '.join(classes)} |\n|---|{'---|' * len(classes)}"
    rows = [
        f"| {name} | {' | '.join(f'{value:g}' for value in row)} |" for name, row in zip(classes, counts, strict=True)
    ]
    return "\n".join([head, *rows])


def _number(value: float | None) -> str:
    return "not known" if value is None else f"{value:.3f}"


def _share(value: float | None) -> str:
    return "none" if value is None else f"{100 * value:.0f} %"
