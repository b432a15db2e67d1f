"""`epir synth`: a corpus of synthetic faces, maps made of them, or long videos for spotting."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer


@dataclass(frozen=True)
class Request:
    """The options of the verb, but for those of its output; `None` and empty where they were not given."""

    people: int | None
    clips: int
    idle: int
    classes: int
    size: int | None
    fps: float | None
    seed: int
    truth: bool
    png: bool
    quality: int
    maps: int | None
    recipe: tuple[str, ...]
    shares: str | None
    long: bool
    videos: int | None
    seconds: float | None
    change: tuple[str, ...]

    @property
    def counts_clips(self) -> bool:
        """Whether --clips or --idle say other than they do by default."""
        return (self.clips, self.idle) != (9, 3)


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

    request = Request(
        people, clips, idle, classes, size, fps, seed, truth, png, quality, maps, tuple(recipe or ()), shares,
        long, videos, seconds, tuple(change or ()),
    )  # fmt: skip
    write = _write_long if long else _write_corpus if maps is None else _write_maps
    with showing_progress() as progress:
        summary, text = write(out, request, workers=workers, force=force, progress=progress)
    if as_json:
        emit_json(summary)
    else:
        stdout.print(text, markup=False)


def _write_corpus(out: Path, request: Request, **how: Any) -> tuple[dict[str, Any], str]:
    """A corpus of frames: what the JSON object says, and the line for a reader."""
    from epir.core.config import override
    from epir.core.words import counted, people
    from epir.synthetic.corpus import CorpusSettings, write_corpus

    _check_not_long(request)
    for name in ("recipe", "shares"):
        if getattr(request, name):
            raise _needs(name, "--maps", "--maps N")
    settings = CorpusSettings(
        people=_or(request.people, 12),
        clips=request.clips,
        idle=request.idle,
        classes=request.classes,
        size=_or(request.size, 480),
        fps=_or(request.fps, 200.0),
        seed=request.seed,
        picture="png" if request.png else "jpg",
        quality=request.quality,
        truth=request.truth,
    )
    made = write_corpus(out, override(settings, request.change), **how)
    text = f"{counted(made.clips, 'clip')} of {people(made.people)} in {out}; next: epir check synthetic {out}"
    return {"folder": str(out), "people": made.people, "clips": made.clips, "frames": made.frames}, text


def _write_maps(out: Path, request: Request, **how: Any) -> tuple[dict[str, Any], str]:
    """A map set, without frames."""
    from epir.core.config import override
    from epir.core.errors import ConfigError
    from epir.core.words import counted, people
    from epir.synthetic.maps import MapSettings, read_shares, write_maps

    _check_not_long(request)
    if request.truth:
        raise ConfigError("--truth cannot be used with --maps: maps have no frames", fix="leave one of them out")
    if request.people is not None or request.fps is not None or request.png or request.counts_clips:
        raise ConfigError(
            "--maps draws people of its own: --people, --clips, --idle, --fps and --png do not apply",
            fix="leave them out; --maps says how many maps are made",
        )
    assert request.maps is not None
    settings = MapSettings(
        request.maps,
        request.recipe or ("epir",),
        _or(request.size, 28),
        request.classes,
        request.seed,
        read_shares(request.shares),
    )
    made = write_maps(out, override(settings, request.change), **how)
    count = len({clip.person for clip in made.clips})
    text = f"{counted(len(made), 'map')} of {people(count)} in {out}; next: epir train {out} --protocol sde"
    return {"folder": str(out), "maps": len(made), "size": made.size, "people": count}, text


def _write_long(out: Path, request: Request, **how: Any) -> tuple[dict[str, Any], str]:
    """Long videos, for spotting."""
    from dataclasses import replace

    from epir.core.config import override
    from epir.core.errors import ConfigError
    from epir.core.words import counted, people
    from epir.synthetic.long import LongSettings, write_long_videos

    others = (request.recipe, request.shares, request.truth, request.png, request.counts_clips)
    if request.maps is not None or any(others):
        raise ConfigError(
            "--long writes videos: --maps, --recipe, --shares, --truth, --png, --clips and --idle do not apply",
            fix="leave them out; --videos and --seconds say how much is filmed",
        )
    given = {name: getattr(request, name) for name in ("people", "videos", "seconds", "size", "fps")}
    settings = LongSettings(classes=request.classes, seed=request.seed)
    settings = replace(settings, **{name: value for name, value in given.items() if value is not None})
    made = write_long_videos(out, override(settings, request.change), **how)
    kinds = [each.kind for each in made.intervals]
    micro, macro = kinds.count("micro"), kinds.count("macro")
    text = (
        f"{micro} micro- and {macro} macro-expressions in {counted(made.videos, 'video')} of {people(made.people)} in "
        f"{out}; next: epir spot synthetic {out} --out SPOTTED"
    )
    summary = {"folder": str(out), "people": made.people, "videos": made.videos, "frames": made.frames}
    return {**summary, "micro": micro, "macro": macro}, text


def _check_not_long(request: Request) -> None:
    for name in ("videos", "seconds"):
        if getattr(request, name) is not None:
            raise _needs(name, "--long", "--long")


def _needs(name: str, other: str, fix: str) -> Exception:
    from epir.core.errors import ConfigError

    return ConfigError(f"--{name} needs {other}", fix=f"add {fix}, or leave it out")


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value
