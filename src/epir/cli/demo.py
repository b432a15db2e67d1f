"""`epir demo`: the whole way on invented faces, from rendered frames to a report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from epir.core.progress import Progress
    from epir.synthetic.corpus import CorpusSettings

PEOPLE, CLIPS, SIZE, FPS, SEED = 10, 6, 320, 100.0, 0  # small enough for three minutes on two cores
CHANCE = 1 / 3  # the UF1 of guessing among three equally frequent classes


def demo(
    out: Annotated[Path, typer.Option(help="The folder to write.")] = Path("demo"),
    workers: Annotated[
        int | None, typer.Option(help="Processes that work side by side; the result is the same.", show_default="cores")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Begin anew.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Go the whole way on invented faces: draw, check, prepare, leave one person out, report.

    A second call goes on where the first one stopped.

    Example: epir demo --out demo
    """
    from epir.cli.console import emit_json, showing_progress, stderr, stdout
    from epir.core.errors import DatasetError
    from epir.datasets.registry import load_corpus
    from epir.datasets.survey import survey
    from epir.evaluation.local import cores
    from epir.evaluation.run import Engine, evaluate
    from epir.evaluation.table import score_table
    from epir.maps.prepare import prepare
    from epir.reports.page import report
    from epir.synthetic.corpus import CorpusSettings

    workers = workers or cores()
    corpus, maps, run_folder, page = out / "corpus", out / "maps", out / "run", out / "report.html"
    settings = CorpusSettings(people=PEOPLE, clips=CLIPS, idle=0, size=SIZE, fps=FPS, seed=SEED)
    with showing_progress(quiet=json) as progress:

        def say(step: int, words: str) -> None:
            if not json:
                stderr.print(f"{step}/5  {words}", style="bold")

        say(1, f"draw {PEOPLE} invented people, {CLIPS} clips each, {FPS:g} frames a second")
        _draw(corpus, settings, workers=workers, force=force, progress=progress)
        say(2, "check the corpus, as you would check one that you downloaded")
        result = survey(load_corpus("synthetic", corpus))
        if not result.is_clean:
            raise DatasetError(
                f"{corpus} has defects", fix=f"see epir check synthetic {corpus}, or begin anew with --force"
            )
        say(3, "find the faces (MTCNN) and the motion between onset and apex (Farneback)")
        prepare("synthetic", corpus, maps, workers=workers, progress=progress, force=force)
        say(4, "leave one person out, in turn, with the paper's model and the shipped weights as its start")
        run = evaluate(
            maps,
            protocol="sde",
            out=run_folder,
            engine=Engine(workers=workers),
            force=force,
            progress=progress,
        )
        say(5, "write the report")
        report(run, page, maps=[maps], force=True, progress=progress)
    strict = run.scores["strict"]
    if json:
        emit_json({"report": str(page), "run": str(run.folder), **run.scores})
        return
    stdout.print(score_table([run]).text(), markup=False)
    low, high = strict["uf1_interval"]
    stdout.print(
        f"UF1 {strict['uf1']:.2f} strict (95 % interval {low:.2f} to {high:.2f}); guessing gives {CHANCE:.2f}."
    )
    stdout.print(f"\nOpen {page} in a browser.\n", markup=False)
    stdout.print("Then try:")
    for command, purpose in (
        (
            f"epir evaluate {maps} --protocol sde --model vit,ststnet --out {out / 'others'}",
            "other methods, same folds",
        ),
        (f"epir compare {run_folder} {out / 'others' / 'ststnet'}", "is the difference chance?"),
        ("epir check casme2 /data/CASME2", "a corpus of your own; see docs/datasets.md"),
    ):
        stdout.print(f"  {command}\n      {purpose}", markup=False)


def _draw(corpus: Path, settings: "CorpusSettings", *, workers: int, force: bool, progress: "Progress") -> None:
    """Draw the corpus unless it is there already, whole and with the same settings."""
    from epir.core.config import differences, read_toml
    from epir.core.errors import EpirError
    from epir.synthetic.corpus import CorpusSettings, write_corpus

    if corpus.exists() and not force:
        changed = differences(read_toml(CorpusSettings, corpus / "corpus.toml"), settings)
        if changed:
            raise EpirError(f"{corpus} was drawn otherwise ({changed[0]})", fix="choose another --out, or add --force")
        return
    write_corpus(corpus, settings, workers=workers, force=force, progress=progress)
