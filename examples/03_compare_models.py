"""Two methods on the same clips in the same folds, and a paired test over people.

Run: python examples/03_compare_models.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import epir
from epir.evaluation.comparison import compare_all
from epir.evaluation.table import comparison_table, score_table
from epir.synthetic.maps import synthetic_maps

maps = synthetic_maps(120, "direct", seed=3)
with TemporaryDirectory() as folder:
    runs = [
        epir.evaluate(maps, protocol="sde", model=name, folds=3, out=Path(folder) / name)
        for name in ("bi-woof", "mdmo")
    ]
    print(score_table(runs).text())
    print(comparison_table(compare_all(runs)).text())
