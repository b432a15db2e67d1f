"""The data card of a synthetic corpus, in the form of the Hugging Face hub."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from epir import __version__

if TYPE_CHECKING:
    from epir.synthetic.clip import ClipPlan
    from epir.synthetic.corpus import CorpusSettings

SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))  # as the hub names them


def data_card(settings: "CorpusSettings", plans: "Sequence[ClipPlan]") -> str:
    """What is in the corpus, how it was made, and what it is not good for."""
    size = next((name for limit, name in SIZES if len(plans) < limit), "100K<n<1M")
    counts = Counter(plan.emotion for plan in plans)
    rows = "\n".join(f"| {name} | {count} |" for name, count in sorted(counts.items()))
    return f"""---
license: apache-2.0
task_categories:
- video-classification
tags:
- micro-expression
- facial-expression
- facial-action-units
- optical-flow
- synthetic
pretty_name: Synthetic micro-expressions of epir
size_categories:
- {size}
---

# Synthetic micro-expressions

{len(plans)} clips of {settings.people} synthetic people: drawn faces whose skin moves as action units move it, so that
onset, apex, offset, units and (with `truth`) the flow of every pixel are known. Made by epir {__version__}.
`corpus.toml` holds every setting and the seed; the same settings make the same bytes.

| emotion | clips |
|---|---|
{rows}

{settings.size} x {settings.size} px, {settings.fps:g} frames a second. `annotations.csv` has one row per clip: its
folder of frames, subject, emotion, onset, apex, offset, action units and their amplitudes.

    epir check synthetic THIS_FOLDER
    epir prepare synthetic THIS_FOLDER --out maps

## Limits

Drawn faces are not photographs: skin, light and head motion are simpler than in any recording, and the emotion of a
clip is a rule over its action units, not what a person felt. Use it to test programs, to train first weights and to
teach; numbers measured on it say nothing about real people.

## Personal data

None: no picture or recording of a person was used to draw them.
"""
