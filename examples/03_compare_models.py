"""Two methods on the same clips in the same folds, and a paired test over people.

Run: python examples/03_compare_models.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import epir

maps = epir.synthetic_maps(120, "direct", seed=3)
with TemporaryDirectory() as folder:
    runs = [
        epir.evaluate(maps, protocol="sde", model=name, folds=3, out=Path(folder) / name)
        for name in ("bi-woof", "mdmo")
    ]
    for run in runs:
        for column, title in (("strict", "strict"), ("best_epoch", "best epoch (leaks)")):
            low, high = run.scores[column]["uf1_interval"]
            print(f"{run.name}: UF1 {run.scores[column]['uf1']:.3f} ({low:.3f} to {high:.3f}) {title}")
    result = epir.compare(*runs)
    low, high = result.interval
    print(f"difference, strict: {result.difference:+.3f} ({low:+.3f} to {high:+.3f}), p {result.p:.3f} over people")
