"""The model card: training data, scores, calibration, limits and responsible use of a model."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from epir.core.facs import UNITS
from epir.core.words import counted

RESPONSIBLE_USE = "docs/responsible-use.md"
REAL_PEOPLE = "real_people"  # key in the notes of a model folder that `epir calibrate` wrote
REAL_HEADING, OTHER_HEADING = "## On real people\n", "## On other people\n"
START_NOTE = " The weights that training started from have not seen these people, as far as their record says."


def model_card(settings: Any, classes: Sequence[str], notes: Mapping[str, Any], *, note: str = "") -> str:
    """Return the README.md of a model folder from the notes of `epir train`, with an optional `note` by the user."""
    data = notes["data"]
    strict, label = notes.get("strict") or notes["seen_in_training"], notes.get("evaluation", "strict")
    low, high = strict["uf1_interval"]
    corpora = ", ".join(f"{name} ({counted(count, 'clip')})" for name, count in data["corpora"].items())
    words = ", ".join(f"{name} ({data['classes'].get(name, 0)})" for name in classes)
    started = notes["training"].get("start")
    return f"""{header(data["corpora"], notes.get("license"))}
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

{_calibration(notes)}
{_units(notes)}{_section(note)}## Limits

- It was trained on {data["people"]} people. It may do worse with other ages, skin colours, cameras, light and ways \
to show a feeling; measure it on yours.
- It names the motion of a face, not a feeling, a thought or a lie.
- It expects a frontal face of 100 px or more at 50 frames a second or more, with a head that keeps still.
- Movements that are no micro-expression (speech, chewing, a sneeze) get a class too.

## Responsible use

Ask the people you film. Do not use it to detect lies, or to infer emotions at work or at school. Read \
`{RESPONSIBLE_USE}` of epir before you use it on anybody.
"""


def header(corpora: Mapping[str, int], license_name: str | None = None) -> str:
    """Return the metadata for the Hugging Face hub.

    Weights trained on synthetic faces only have epir's licence; whoever trains others has to choose one.
    """
    license_id = license_name or ("apache-2.0" if set(corpora) == {"synthetic"} else "other")
    return f"""---
license: {license_id}
language: en
library_name: epir
pipeline_tag: video-classification
tags:
- micro-expression
- facial-expression
- facial-action-units
- optical-flow
- vision-transformer
datasets:
{chr(10).join(f"- {name}" for name in sorted(corpora))}
metrics:
- f1
- recall
- accuracy
---
"""


def _calibration(notes: Mapping[str, Any]) -> str:
    """Return the section on calibration by the held-out people of training."""
    calibration, label = notes["calibration"], notes.get("evaluation", "strict")
    used = "would fit" if REAL_PEOPLE in notes else "was fitted on"
    return f"""## Calibration

A temperature of {calibration["temperature"]:g} {used} the held-out people. Expected calibration error: \
{_number(calibration["error_before"])} without a temperature, {_number(calibration["error_after"])} with one (each \
{"fold" if "folds" in calibration else "half of them"} with the temperature fitted on the others). Answers whose \
best score is below {calibration["threshold"]:g} are given as `uncertain`: {_share(calibration["answered"])} of the \
held-out clips get an answer, and {_share(calibration["right"])} of these answers are right ({label}).
"""


def _real_people(real: Mapping[str, Any], notes: Mapping[str, Any]) -> str:
    """Return the section on the people of `epir calibrate`: scores, temperature, accuracy by best score."""
    synthetic = set(notes["data"]["corpora"]) == {"synthetic"}
    heading, kind = REAL_HEADING, "real people"
    if "synthetic" in real["corpora"]:
        heading = OTHER_HEADING
        kind = "synthetic people" if len(real["corpora"]) == 1 else "people, some of them synthetic"
    low, high = real["uf1_interval"]
    rows = "\n".join(
        f"| {each['low']:g} to {each['high']:g} | {each['clips']} | {_share(each['right'])} |"
        for each in real["reliability"]
    )
    corpora = ", ".join(f"{name}: {counted(count, 'clip')}" for name, count in real["corpora"].items())
    return f"""{heading}
On maps of {real["people"]} {kind} ({corpora}) that training has not seen\
{" (it saw synthetic faces only)" if synthetic else ""}, UF1 is {real["uf1"]:.4f} ({low:.3f} to {high:.3f}, strict, \
protocol `{real["protocol"]}`), and {_share(real["right"])} of all answers are right. The temperature, \
{real["temperature"]:g}, was fitted on these people. Expected calibration error: {_number(real["error_before"])} with \
the former temperature, {_number(real["error_after"])} with this one (each corpus with the temperature fitted on the \
others). By best score:

| best score | answers | right (strict) |
|---|---|---|
{rows}

"""


def _units(notes: Mapping[str, Any]) -> str:
    """Return the section on action units; empty without a unit head."""
    units = notes.get("units")
    if not units:
        return ""
    return f"""## Action units

Units {", ".join(map(str, UNITS))}, each with its side: a probability that it is present, calibrated on \
{units["clips"]} clips of people that training has not seen (expected calibration error \
{_number(units["error_before"])} before, {_number(units["error_after"])} after). For binary decisions `config.json` \
has a threshold per unit, that of the best F1 on the same people.

"""


def replace_calibration(card: str, notes: Mapping[str, Any]) -> str:
    """Rewrite what a card says of calibration and real people; keep everything else, including what a person wrote."""
    if "calibration" not in notes:
        return card
    card = re.sub(rf"(?:{REAL_HEADING}|{OTHER_HEADING}).*?(?=^## |\Z)", "", card, count=1, flags=re.S | re.M)
    if real := notes.get(REAL_PEOPLE):
        card = re.sub(r"(?=^## Scores\n)", lambda _: _real_people(real, notes), card, count=1, flags=re.M)
    return re.sub(r"## Calibration\n.*?(?=\n## |\Z)", lambda _: _calibration(notes), card, count=1, flags=re.S)


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
    others = counted(held["people"], "other person", "other people")
    return f"recipe {recipe}; this model predicts {counted(held['clips'], 'clip')} of {others} once."


def _whose(notes: Mapping[str, Any]) -> str:
    if "folds" in notes["calibration"]:
        return "This model itself is trained on all clips with that recipe; it has no held-out people of its own."
    return "These people come from the same source as the training people; expect lower scores on others."


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
