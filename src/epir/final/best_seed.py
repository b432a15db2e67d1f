"""Choose the best of several seeds of one training, by the people held out of training.

    python -m epir.final.best_seed build/weights/seed-0 build/weights/seed-1 build/weights/seed-2

prints the folder with the best UF1 (strict) on the people of `epir train --calibrate-on`, and looks at nobody else.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from epir.core.errors import CheckpointError, EpirError
from epir.models.folder import read_config


def best_seed(folders: Sequence[Path]) -> Path:
    """Return the model folder with the best strict UF1 (ties: the first); they may differ in their seed only."""
    if not folders:
        raise CheckpointError("no model folder given", fix="name one for each seed")
    notes = [read_config(folder).notes for folder in folders]
    for folder, other in zip(folders, notes, strict=True):
        for name in ("protocol", "data", "training"):
            if other[name] != notes[0][name]:
                raise CheckpointError(
                    f"{folder} and {folders[0]} differ in {name!r}: they are not seeds of one training",
                    fix="train all of them with the same maps and settings",
                )
        if "strict" not in other:
            raise CheckpointError(f"{folder} has no strict scores", fix="train it without --allow-seen")
    scores = [float(note["strict"]["uf1"]) for note in notes]
    return folders[scores.index(max(scores))]


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{best_seed([Path(name) for name in sys.argv[1:]])}\n")
    except EpirError as error:
        sys.exit(str(error))
