"""The verb `demo`: the whole pipeline on synthetic faces, from rendered frames to a report."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from epir.cli.options import AsJson, StartOver

if TYPE_CHECKING:
    from epir.core.engines import Progress
    from epir.synthetic.corpus import CorpusSettings

PEOPLE, CLIPS, SIZE, FPS, SEED = 10, 6, 320, 100.0, 0  # small enough for three minutes on two cores
CHANCE = 1 / 3  # the UF1 of random answers with three equally frequent classes


def demo(
    out: Annotated[Path, Option(help="Output folder.")] = Path("demo"),
    workers: Annotated[
        int | None, Option(help="Worker processes; they do not change the result.", show_default="one per core")
    ] = None,
    force: StartOver = False,
    as_json: AsJson = False,
) -> None:
    """Run the whole pipeline on synthetic faces: draw, check, prepare, evaluate, report.

    Run the same command to resume.

    Example: epir demo --out demo
    """
    from epir.cli.console import show, showing_progress, stderr
    from epir.core.engines import Engine
    from epir.core.errors import DatasetError
    from epir.core.output import DEMO, claimed, mark
    from epir.datasets.registry import load_corpus
    from epir.datasets.survey import survey
    from epir.evaluation.comparison import scores_with_training
    from epir.evaluation.run import evaluate
    from epir.evaluation.table import score_table
    from epir.maps.prepare import prepare
    from epir.reports.page import report
    from epir.synthetic.corpus import CorpusSettings

    workers = Engine(workers=workers).processes
    corpus, maps, run_folder, page = out / "corpus", out / "maps", out / "run", out / "report.html"
    settings = CorpusSettings(people=PEOPLE, clips=CLIPS, idle=0, size=SIZE, fps=FPS, seed=SEED)
    with claimed(out, DEMO, force=True), showing_progress(quiet=as_json) as progress:
        out.mkdir(parents=True, exist_ok=True)
        mark(out, DEMO)

        def announce(step: int, text: str) -> None:
            if not as_json:
                stderr.print(f"{step}/5  {text}", style="bold")

        announce(1, f"draw {PEOPLE} synthetic people, {CLIPS} clips each, {FPS:g} frames per second")
        _draw(corpus, settings, workers=workers, force=force, progress=progress)
        announce(2, "check the corpus, as you would check a downloaded one")
        result = survey(load_corpus("synthetic", corpus))
        if not result.is_clean:
            raise DatasetError(
                f"{corpus} has defects", fix=f"see epir check synthetic {corpus}, or start over with --force"
            )
        announce(3, "find the faces (MTCNN) and the motion between onset and apex (Farneback)")
        prepare("synthetic", corpus, maps, workers=workers, progress=progress, force=force)
        announce(4, "evaluate the paper's model, leaving one subject out, from the shipped weights")
        engine = Engine(workers=workers)
        run = evaluate(maps, protocol="sde", out=run_folder, engine=engine, force=force, progress=progress)
        announce(5, "write the report")
        report(run, page, maps=[maps], force=True, progress=progress)
    low, high = run.main["uf1_interval"]
    others = out / "others"
    suggestions = {
        f"epir predict {corpus / '001' / '001_01'} --fps {FPS:g} --out {out / 'why'}": "one clip: what moved, and why",
        "epir serve": "the same in your browser, for your own videos",
        f"epir evaluate {maps} --protocol sde --model vit,ststnet --out {others}": "other methods, same folds",
        f"epir compare {run_folder} {others / 'ststnet'}": "is the difference significant?",
        "epir check casme2 /data/CASME2": "a corpus of your own; see docs/datasets.md",
    }
    lines = (
        score_table([run]).text(),
        f"UF1 {run.main['uf1']:.2f} strict (95 % interval {low:.2f} to {high:.2f}); chance: {CHANCE:.2f}.\n",
        f"Open {page} in a browser.\n",
        f"To use `epir` in this shell:\n  {activation()}\n",
        "Then try:",
        *(f"  {command}\n      {purpose}" for command, purpose in suggestions.items()),
    )
    show({"report": str(page), "run": str(run.folder), **scores_with_training(run)}, lines, as_json=as_json)


def activation() -> str:
    """The command that puts `epir` on the PATH of the user's shell."""
    if sys.prefix == sys.base_prefix:
        return f"{Path(sys.executable).name} -m epir ..., if `epir` is not found"
    folder = Path(sys.prefix)
    folder = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    return f"source {folder}/bin/activate"


def _draw(corpus: Path, settings: "CorpusSettings", *, workers: int, force: bool, progress: "Progress") -> None:
    """Draw the corpus, unless a complete one with the same settings exists."""
    from epir.core.config import differences, read_toml
    from epir.core.errors import EpirError
    from epir.synthetic.corpus import CorpusSettings, write_corpus

    if corpus.exists() and not force:
        changed = differences(read_toml(CorpusSettings, corpus / "corpus.toml"), settings)
        if changed:
            raise EpirError(f"{corpus} has other settings ({changed[0]})", fix="choose another --out, or add --force")
        return
    write_corpus(corpus, settings, workers=workers, force=force, progress=progress)
