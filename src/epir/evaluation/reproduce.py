"""The paper's tables and figures as one series of runs, trained as the paper trains.

    OUT/cde/epir, OUT/cde/vit, ...      the ladder: Tables 1 and 4, the confusion matrices
    OUT/cde/blocks-7, ...               score against the number of blocks
    OUT/cde/integration-30, ...         tokens at several rates of integration
    OUT/sde-casme3/...                  the same for CAS(ME)^3: Tables 2 and 5
    OUT/sde-casme2/epir, ...            Table 3

Every run is resumable by itself; runs that are equal (13 blocks are the model itself) are made once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from epir.core.engines import Engine
from epir.core.errors import ProtocolError
from epir.core.progress import Progress
from epir.evaluation.comparison import Comparison, compare
from epir.evaluation.run import Maps, evaluate, opened
from epir.evaluation.samples import gather
from epir.evaluation.series import Variant, folder_name, ladder_variants, sweep_variants
from epir.evaluation.store import Run
from epir.models.settings import LITERAL, ModelSettings
from epir.training.recipe import PAPER

WHOLE = ("cde", "sde-casme3")  # protocols with a ladder and figures
SINGLE = {"sde-casme2": "casme2", "sde-samm": "samm", "sde-smic": "smic"}
QUICK_FOLDS, QUICK_EPOCHS = "3", 10
QUICK_POINTS = ("blocks 7", "blocks 13", "integration 0 %", "integration 60 %")


@dataclass(frozen=True)
class Reproduced:
    """The runs of one protocol, by what they are for."""

    protocol: str
    ladder: tuple[Run, ...]  # for a single corpus of Table 3: the whole model alone
    sweeps: dict[str, tuple[Run, ...]] = field(default_factory=dict)

    @property
    def epir(self) -> Run:
        """The whole model."""
        return self.ladder[-1]

    @property
    def steps(self) -> tuple[Comparison, ...]:
        """Each rung against the one below it, paired over people."""
        return tuple(compare(below, rung) for below, rung in zip(self.ladder, self.ladder[1:], strict=False))


@dataclass(frozen=True)
class Reproduction:
    """Everything that the maps allow, and why the rest is missing."""

    parts: tuple[Reproduced, ...]
    missing: dict[str, str]  # protocol: reason
    quick: bool = False
    literal: bool = False


def reproduce(
    maps: Sequence[Maps],
    *,
    out: str | Path,
    folds: str = "loso",
    seeds: int = 1,
    sweeps: bool = True,
    quick: bool = False,
    literal: bool = False,
    changes: Iterable[str] = (),
    engine: Engine | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Run, or resume, everything that the paper prints and these maps allow; `quick` has fewer folds and epochs.

    `literal` reads the paper to the letter in every rung, as the preset `paper` does for the whole model.
    """
    shared = [*(f"model.{name}={_toml(value)}" for name, value in (LITERAL if literal else {}).items())]
    shared += [f"training.epochs={QUICK_EPOCHS}"] if quick else []
    shared += list(changes)
    wanted, missing = _protocols(maps)

    def run(protocol: str, variant: Variant) -> Run:
        return evaluate(
            maps,
            protocol=protocol,
            model=variant.model,
            changes=(*shared, *variant.changes),
            out=Path(out) / protocol / folder_name(variant.name),
            folds=QUICK_FOLDS if quick else folds,
            seeds=seeds,
            training=PAPER,
            engine=engine,
            progress=progress,
        )

    parts = []
    for protocol in wanted:
        rungs = ladder_variants() if protocol in WHOLE else (Variant("epir", "epir"),)
        ladder = tuple(run(protocol, rung) for rung in rungs)
        found = {}
        for sweep in ("blocks", "integration") if sweeps and protocol in WHOLE else ():
            points = [point for point in sweep_variants(sweep) if not quick or point.name in QUICK_POINTS]
            found[sweep] = tuple(ladder[-1] if _is_model(point) else run(protocol, point) for point in points)
        parts.append(Reproduced(protocol, ladder, found))
    return Reproduction(tuple(parts), missing, quick, literal)


def _protocols(maps: Sequence[Maps]) -> tuple[list[str], dict[str, str]]:
    """The protocols of the paper that these maps can be evaluated under, and why not the others."""
    wanted, missing = [], {}
    with opened(maps) as sets:
        corpora = {clip.corpus for mapset in sets for clip in mapset.clips}
        for protocol in (*WHOLE, *SINGLE):
            own = {"sde-casme3": "casme3", **SINGLE}.get(protocol)
            if own is not None and own not in corpora:
                missing[protocol] = f"no clip is of {own}"
                continue
            try:
                gather(sets, protocol)
            except ProtocolError as error:
                missing[protocol] = error.problem
            else:
                wanted.append(protocol)
    if not wanted:
        raise ProtocolError(
            f"these maps fit no protocol of the paper: {'; '.join(f'{k}: {v}' for k, v in missing.items())}",
            fix="give maps of CASME II, SAMM and SMIC, or of CAS(ME)^3, with their own emotion words",
        )
    return wanted, missing


def _is_model(point: Variant) -> bool:
    """Whether a point of a sweep is the whole model as it is: it was run as the last rung."""
    return point.changes == (f"model.blocks={ModelSettings().blocks}",)


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
