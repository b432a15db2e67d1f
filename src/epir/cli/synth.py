"""`epir synth`: a corpus of invented faces, or maps made of them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from epir.core.progress import Progress


def synth(
    out: Annotated[Path, typer.Argument(help="The folder to write.")],
    people: Annotated[int, typer.Option(help="How many people.")] = 12,
    clips: Annotated[int, typer.Option(help="Clips with an expression, per person.")] = 9,
    idle: Annotated[int, typer.Option(help="Clips without one, per person: still, blinking, turning in turn.")] = 3,
    classes: Annotated[int, typer.Option(help="List of emotions: 3, 5 (as CASME II) or 7 (as CAS(ME)^3).")] = 3,
    size: Annotated[
        int | None, typer.Option(help="Pixels of a frame, or with --maps of a map.", show_default="480; maps 28")
    ] = None,
    fps: Annotated[float, typer.Option(help="Frames a second.")] = 200.0,
    seed: Annotated[int, typer.Option(help="Another seed, other people.")] = 0,
    truth: Annotated[bool, typer.Option("--truth", help="Write the true flow from onset to apex too.")] = False,
    png: Annotated[bool, typer.Option("--png", help="Frames as png, without loss.")] = False,
    quality: Annotated[int, typer.Option(help="Quality of jpg frames, 1 to 100.")] = 92,
    maps: Annotated[
        int | None, typer.Option(help="Write a map set of so many clips instead, without frames.", show_default=False)
    ] = None,
    recipe: Annotated[
        list[str] | None,
        typer.Option(help="With --maps: epir, direct, ...; several are mixed.", show_default="epir"),
    ] = None,
    shares: Annotated[
        str | None,
        typer.Option(help="With --maps: how often each emotion occurs, such as 250,109,83.", show_default="equally"),
    ] = None,
    change: Annotated[
        list[str] | None, typer.Option("--set", help="Change a setting, such as nuisances.blink=0.5.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes that work side by side; the result is the same.")] = 1,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write a corpus of invented faces with annotations, or with --maps a map set for training.

    Example: epir synth corpora/synthetic --people 12 --clips 9 --workers 2

    Example: epir synth maps/synthetic --maps 6000 --recipe epir --recipe direct
    """
    from epir.cli.console import emit_json, showing_progress, stdout
    from epir.core.config import override
    from epir.core.errors import ConfigError

    if maps is None:
        if recipe or shares:
            raise ConfigError(
                f"{'--recipe' if recipe else '--shares'} is about maps", fix="add --maps N, or leave it out"
            )
        from epir.synthetic.corpus import CorpusSettings

        corpus = CorpusSettings(
            people=people,
            clips=clips,
            idle=idle,
            classes=classes,
            size=480 if size is None else size,
            fps=fps,
            seed=seed,
            picture="png" if png else "jpg",
            quality=quality,
            truth=truth,
        )
        with showing_progress() as progress:
            told = _write_corpus(out, override(corpus, change or ()), workers, force, progress)
        text = f"{told['clips']} clips of {told['people']} people in {out}; next: epir check synthetic {out}"
    else:
        if truth:
            raise ConfigError("maps have no frames, so --truth does not go with --maps", fix="leave one of them out")
        from epir.synthetic.maps import MapSettings, read_shares

        recipes, parts = tuple(recipe or ("epir",)), read_shares(shares)
        wanted = MapSettings(maps, recipes, 28 if size is None else size, classes, seed, parts)
        with showing_progress() as progress:
            told = _write_maps(out, override(wanted, change or ()), workers, force, progress)
        text = f"{told['maps']} maps of {told['people']} people in {out}; next: epir train {out} --protocol sde"
    if as_json:
        emit_json(told)
    else:
        stdout.print(text, markup=False)


def _write_corpus(out: Path, settings: Any, workers: int, force: bool, progress: "Progress") -> dict[str, Any]:
    from epir.synthetic.corpus import write_corpus

    made = write_corpus(out, settings, workers=workers, force=force, progress=progress)
    return {"folder": str(out), "people": made.people, "clips": made.clips, "frames": made.frames}


def _write_maps(out: Path, settings: Any, workers: int, force: bool, progress: "Progress") -> dict[str, Any]:
    from epir.synthetic.maps import write_maps

    made = write_maps(out, settings, workers=workers, force=force, progress=progress)
    people = len({clip.person for clip in made.clips})
    return {"folder": str(out), "maps": len(made), "size": made.size, "people": people}
