"""`epir synth`: a corpus of synthetic faces, maps made of them, or long videos for spotting."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from epir.core.progress import Progress


def synth(
    out: Annotated[Path, typer.Argument(help="The folder to write.")],
    people: Annotated[int | None, typer.Option(help="How many people.", show_default="12; long videos 4")] = None,
    clips: Annotated[int, typer.Option(help="Clips with an expression, per person.")] = 9,
    idle: Annotated[int, typer.Option(help="Clips without one, per person: still, blinking, turning in turn.")] = 3,
    classes: Annotated[int, typer.Option(help="List of emotions: 3, 5 (as CASME II) or 7 (as CAS(ME)^3).")] = 3,
    size: Annotated[
        int | None,
        typer.Option(help="Pixels of a frame, or with --maps of a map.", show_default="480; maps 28; long 240"),
    ] = None,
    fps: Annotated[float | None, typer.Option(help="Frames per second.", show_default="200; long videos 30")] = None,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    truth: Annotated[bool, typer.Option("--truth", help="Write the true flow from onset to apex too.")] = False,
    png: Annotated[bool, typer.Option("--png", help="Write frames as png (lossless).")] = False,
    quality: Annotated[int, typer.Option(help="Quality of jpg frames, 1 to 100.")] = 92,
    maps: Annotated[
        int | None, typer.Option(help="Write a map set of this many clips instead, without frames.", show_default=False)
    ] = None,
    recipe: Annotated[
        list[str] | None,
        typer.Option(help="With --maps: flow recipe (epir, direct, ...); several are mixed.", show_default="epir"),
    ] = None,
    shares: Annotated[
        str | None,
        typer.Option(help="With --maps: how often each emotion occurs, such as 250,109,83.", show_default="equally"),
    ] = None,
    views: Annotated[
        str | None,
        typer.Option(help="With --maps: maps of each clip, such as rise2+return2.", show_default="apex"),
    ] = None,
    long: Annotated[
        bool, typer.Option("--long", help="Write long videos with micro- and macro-expressions, for epir spot.")
    ] = False,
    videos: Annotated[int | None, typer.Option(help="With --long: videos per person.", show_default="1")] = None,
    seconds: Annotated[float | None, typer.Option(help="With --long: length of a video.", show_default="30")] = None,
    change: Annotated[
        list[str] | None, typer.Option("--set", help="Change a setting, such as nuisances.blink=0.5.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes; the result is the same for any number.")] = 1,
    force: Annotated[bool, typer.Option("--force", help="Replace what is there.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write a corpus of synthetic faces with annotations; with --maps a map set for training, with --long long videos.

    Example: epir synth corpora/synthetic --people 12 --clips 9 --workers 2

    Example: epir synth maps/synthetic --maps 6000 --recipe epir --recipe direct

    Example: epir synth corpora/long --long --people 4 --seconds 30 --workers 2
    """
    from epir.cli.console import emit_json, showing_progress, stdout
    from epir.core.config import override
    from epir.core.errors import ConfigError

    if long:
        if maps is not None or recipe or shares or views or truth or png or (clips, idle) != (9, 3):
            raise ConfigError(
                "--long writes videos: --maps, --recipe, --shares, --views, --truth, --png, --clips and --idle do not "
                "apply",
                fix="leave them out; --videos and --seconds say how much is filmed",
            )
        from epir.synthetic.long import LongSettings

        given = {"people": people, "videos": videos, "seconds": seconds, "size": size, "fps": fps}
        film = LongSettings(classes=classes, seed=seed)
        film = replace(film, **{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
        with showing_progress() as progress:
            summary = _write_long(out, override(film, change or ()), workers, force, progress)
        text = (
            f"{summary['micro']} micro- and {summary['macro']} macro-expressions in {summary['videos']} videos of "
            f"{summary['people']} people in {out}; next: epir spot synthetic {out} --out SPOTTED"
        )
    elif videos is not None or seconds is not None:
        named = "--videos" if videos is not None else "--seconds"
        raise ConfigError(f"{named} needs --long", fix="add --long, or leave it out")
    elif maps is None:
        if recipe or shares or views:
            named = "--recipe" if recipe else "--shares" if shares else "--views"
            raise ConfigError(f"{named} needs --maps", fix="add --maps N, or leave it out")
        from epir.synthetic.corpus import CorpusSettings

        corpus = CorpusSettings(
            people=12 if people is None else people,
            clips=clips,
            idle=idle,
            classes=classes,
            size=480 if size is None else size,
            fps=200.0 if fps is None else fps,
            seed=seed,
            picture="png" if png else "jpg",
            quality=quality,
            truth=truth,
        )
        with showing_progress() as progress:
            summary = _write_corpus(out, override(corpus, change or ()), workers, force, progress)
        text = f"{summary['clips']} clips of {summary['people']} people in {out}; next: epir check synthetic {out}"
    else:
        if truth:
            raise ConfigError("--truth cannot be used with --maps: maps have no frames", fix="leave one of them out")
        if people is not None or fps is not None or png or (clips, idle) != (9, 3):
            raise ConfigError(
                "--maps draws people of its own: --people, --clips, --idle, --fps and --png do not apply",
                fix="leave them out; --maps says how many maps are made",
            )
        from epir.synthetic.maps import MapSettings, read_shares

        recipes, parts = tuple(recipe or ("epir",)), read_shares(shares)
        wanted = MapSettings(maps, recipes, 28 if size is None else size, classes, seed, parts, views=views or "apex")
        with showing_progress() as progress:
            summary = _write_maps(out, override(wanted, change or ()), workers, force, progress)
        text = f"{summary['maps']} maps of {summary['people']} people in {out}; next: epir train {out} --protocol sde"
    if as_json:
        emit_json(summary)
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
    return {"folder": str(out), "maps": len(made), "views": made.views, "size": made.size, "people": people}


def _write_long(out: Path, settings: Any, workers: int, force: bool, progress: "Progress") -> dict[str, Any]:
    from epir.synthetic.long import write_long_videos

    made = write_long_videos(out, settings, workers=workers, force=force, progress=progress)
    kinds = [each.kind for each in made.intervals]
    return {
        "folder": str(out),
        "people": made.people,
        "videos": made.videos,
        "frames": made.frames,
        "micro": kinds.count("micro"),
        "macro": kinds.count("macro"),
    }
