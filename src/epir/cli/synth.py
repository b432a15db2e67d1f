"""The verb `synth`: a corpus of synthetic faces, their maps only, or long videos for spotting."""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from epir.cli.options import AsJson, Force, only_set
from epir.core.words import counted, people

OPTIONS = {  # of each kind of output, besides those that all kinds accept
    "corpus": ("people", "clips", "idle", "size", "fps", "truth", "png", "quality"),
    "maps": ("maps", "recipe", "shares", "size"),
    "long": ("people", "videos", "seconds", "size", "fps"),
}


def synth(
    out: Annotated[Path, Argument(help="The folder to write.")],
    people: Annotated[int | None, Option(help="How many people.", show_default="12; long videos 4")] = None,
    clips: Annotated[int | None, Option(help="Clips with an expression, per person.", show_default="9")] = None,
    idle: Annotated[
        int | None,
        Option(
            help="Clips without an expression, per person: still, blinking, head turning, in turn.", show_default="3"
        ),
    ] = None,
    classes: Annotated[int, Option(help="Number of emotions: 3, 5 (as in CASME II) or 7 (as in CAS(ME)^3).")] = 3,
    size: Annotated[
        int | None,
        Option(help="Width of a frame in pixels; with --maps, of a map.", show_default="480; maps 28; long 240"),
    ] = None,
    fps: Annotated[float | None, Option(help="Frames per second.", show_default="200; long videos 30")] = None,
    seed: Annotated[int, Option(help="Random seed.")] = 0,
    truth: Annotated[bool, Option("--truth", help="Also write the true flow from onset to apex.")] = False,
    png: Annotated[bool, Option("--png", help="Write frames as PNG (lossless).")] = False,
    quality: Annotated[int | None, Option(help="JPEG quality of the frames, 1 to 100.", show_default="92")] = None,
    maps: Annotated[
        int | None, Option(help="Write a map set of this many clips instead, without frames.", show_default=False)
    ] = None,
    recipe: Annotated[
        list[str] | None,
        Option(help="With --maps: flow recipe (epir, direct, ...). Repeat it to mix several.", show_default="epir"),
    ] = None,
    shares: Annotated[
        str | None,
        Option(help="With --maps: relative frequency of each emotion, such as 250,109,83.", show_default="equal"),
    ] = None,
    long: Annotated[
        bool, Option("--long", help="Write long videos with micro- and macro-expressions, for epir spot.")
    ] = False,
    videos: Annotated[int | None, Option(help="With --long: videos per person.", show_default="1")] = None,
    seconds: Annotated[float | None, Option(help="With --long: length of a video.", show_default="30")] = None,
    change: Annotated[list[str] | None, Option("--set", help="Change a setting, such as nuisances.blink=0.5.")] = None,
    workers: Annotated[int, Option(help="Worker processes; they do not change the result.")] = 1,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a corpus of annotated synthetic faces; with --maps, a map set for training; with --long, long videos.

    Example: epir synth corpora/synthetic --people 12 --clips 9 --workers 2

    Example: epir synth maps/synthetic --maps 6000 --recipe epir --recipe direct

    Example: epir synth corpora/long --long --people 4 --seconds 30 --workers 2
    """
    from epir.cli.console import show, showing_progress

    chosen = only_set(people=people, clips=clips, idle=idle, size=size, fps=fps, truth=truth or None, png=png or None)
    chosen |= only_set(quality=quality, maps=maps, recipe=recipe or None, shares=shares, videos=videos, seconds=seconds)
    kind = "long" if long else "corpus" if maps is None else "maps"
    _check_options(chosen, kind)
    write = {"corpus": _write_corpus, "maps": _write_maps, "long": _write_long}[kind]
    with showing_progress(quiet=as_json) as progress:
        run = {"workers": workers, "force": force, "progress": progress}
        value, line = write(out, {**chosen, "classes": classes, "seed": seed}, change or [], run)
    show(value, [line], as_json=as_json)


def _check_options(chosen: dict[str, Any], kind: str) -> None:
    """Raise if an option has no effect on this kind of output."""
    from epir.core.errors import ConfigError

    if unused := [name for name in chosen if name not in OPTIONS[kind]]:
        names = {"corpus": "frames", "maps": "--maps", "long": "--long"}
        right = " or ".join(names[other] for other in OPTIONS if unused[0] in OPTIONS[other])
        goes = f"goes with {right}, not" if unused[0] != "maps" else "does not go"
        raise ConfigError(
            f"--{unused[0]} {goes} with {names[kind]}",
            fix=f"leave out {', '.join(f'--{name}' for name in unused)}",
        )


Summary = tuple[dict[str, Any], str]  # as JSON, and as a line of text


def _write_corpus(out: Path, chosen: dict[str, Any], changes: list[str], run: dict[str, Any]) -> Summary:
    from epir.core.config import override
    from epir.synthetic.corpus import CorpusSettings, write_corpus

    if chosen.pop("png", False):
        chosen["picture"] = "png"
    done = write_corpus(out, override(CorpusSettings(**chosen), changes), **run)
    line = f"{counted(done.clips, 'clip')} of {people(done.people)} in {out}; next: epir check synthetic {out}"
    return {"folder": str(out), "people": done.people, "clips": done.clips, "frames": done.frames}, line


def _write_maps(out: Path, chosen: dict[str, Any], changes: list[str], run: dict[str, Any]) -> Summary:
    from epir.core.config import override
    from epir.synthetic.maps import MapSettings, read_shares, write_maps

    count, recipes = chosen.pop("maps"), tuple(chosen.pop("recipe", ("epir",)))
    settings = MapSettings(count, recipes, **{**chosen, "shares": read_shares(chosen.get("shares"))})
    done = write_maps(out, override(settings, changes), **run)
    persons = len({clip.person for clip in done.clips})
    line = (
        f"{counted(len(done), 'map')} of {people(persons)} in {out}; next: epir train {out} --protocol sde --out model"
    )
    return {"folder": str(out), "maps": len(done), "size": done.size, "people": persons}, line


def _write_long(out: Path, chosen: dict[str, Any], changes: list[str], run: dict[str, Any]) -> Summary:
    from epir.core.config import override
    from epir.synthetic.long import LongSettings, write_long_videos

    done = write_long_videos(out, override(LongSettings(**chosen), changes), **run)
    kinds = [interval.kind for interval in done.intervals]
    micro, macro = kinds.count("micro"), kinds.count("macro")
    what = f"{micro} micro- and {macro} macro-expressions in {counted(done.videos, 'video')} of {people(done.people)}"
    value = {"folder": str(out), "people": done.people, "videos": done.videos, "frames": done.frames}
    return {**value, "micro": micro, "macro": macro}, f"{what} in {out}; next: epir spot synthetic {out} --out SPOTTED"
