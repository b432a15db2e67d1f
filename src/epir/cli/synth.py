"""`epir synth`: a corpus of synthetic faces, maps made of them, or long videos for spotting."""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from epir.cli.options import AsJson, Force, only_set
from epir.core.words import counted, people

TAKES = {  # the options of each kind of output, besides those that all take
    "corpus": ("people", "clips", "idle", "size", "fps", "truth", "png", "quality"),
    "maps": ("maps", "recipe", "shares", "size"),
    "long": ("people", "videos", "seconds", "size", "fps"),
}


def synth(
    out: Annotated[Path, Argument(help="The folder to write.")],
    people: Annotated[int | None, Option(help="How many people.", show_default="12; long videos 4")] = None,
    clips: Annotated[int | None, Option(help="Clips with an expression, per person.", show_default="9")] = None,
    idle: Annotated[
        int | None, Option(help="Clips without one, per person: still, blinking, turning in turn.", show_default="3")
    ] = None,
    classes: Annotated[int, Option(help="List of emotions: 3, 5 (as CASME II) or 7 (as CAS(ME)^3).")] = 3,
    size: Annotated[
        int | None, Option(help="Pixels of a frame, or with --maps of a map.", show_default="480; maps 28; long 240")
    ] = None,
    fps: Annotated[float | None, Option(help="Frames per second.", show_default="200; long videos 30")] = None,
    seed: Annotated[int, Option(help="Random seed.")] = 0,
    truth: Annotated[bool, Option("--truth", help="Write the true flow from onset to apex too.")] = False,
    png: Annotated[bool, Option("--png", help="Write frames as png (lossless).")] = False,
    quality: Annotated[int | None, Option(help="Quality of jpg frames, 1 to 100.", show_default="92")] = None,
    maps: Annotated[
        int | None, Option(help="Write a map set of this many clips instead, without frames.", show_default=False)
    ] = None,
    recipe: Annotated[
        list[str] | None,
        Option(help="With --maps: flow recipe (epir, direct, ...); several are mixed.", show_default="epir"),
    ] = None,
    shares: Annotated[
        str | None,
        Option(help="With --maps: how often each emotion occurs, such as 250,109,83.", show_default="equally"),
    ] = None,
    long: Annotated[
        bool, Option("--long", help="Write long videos with micro- and macro-expressions, for epir spot.")
    ] = False,
    videos: Annotated[int | None, Option(help="With --long: videos per person.", show_default="1")] = None,
    seconds: Annotated[float | None, Option(help="With --long: length of a video.", show_default="30")] = None,
    change: Annotated[list[str] | None, Option("--set", help="Change a setting, such as nuisances.blink=0.5.")] = None,
    workers: Annotated[int, Option(help="Processes; the result is the same for any number.")] = 1,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a corpus of synthetic faces with annotations; with --maps a map set for training, with --long long videos.

    Example: epir synth corpora/synthetic --people 12 --clips 9 --workers 2

    Example: epir synth maps/synthetic --maps 6000 --recipe epir --recipe direct

    Example: epir synth corpora/long --long --people 4 --seconds 30 --workers 2
    """
    from epir.cli.console import show, showing_progress
    from epir.core.errors import ConfigError

    kind = "long" if long else "corpus" if maps is None else "maps"
    chosen = only_set(people=people, clips=clips, idle=idle, size=size, fps=fps, truth=truth or None, png=png or None)
    chosen |= only_set(quality=quality, maps=maps, recipe=recipe or None, shares=shares, videos=videos, seconds=seconds)
    if foreign := [name for name in chosen if name not in TAKES[kind]]:
        what = {"corpus": "frames", "maps": "--maps", "long": "--long"}
        takers = " or ".join(what[home] for home in TAKES if foreign[0] in TAKES[home])
        raise ConfigError(
            f"--{foreign[0]} goes with {takers}, not with {what[kind]}",
            fix=f"leave out {', '.join(f'--{name}' for name in foreign)}",
        )
    write = {"corpus": _write_corpus, "maps": _write_maps, "long": _write_long}[kind]
    with showing_progress(quiet=as_json) as progress:
        how = {"workers": workers, "force": force, "progress": progress}
        value, line = write(out, {**chosen, "classes": classes, "seed": seed}, change or [], how)
    show(value, [line], as_json=as_json)


Written = tuple[dict[str, Any], str]  # the JSON object, and the line for a reader


def _write_corpus(out: Path, chosen: dict[str, Any], changes: list[str], how: dict[str, Any]) -> Written:
    from epir.core.config import override
    from epir.synthetic.corpus import CorpusSettings, write_corpus

    if chosen.pop("png", False):
        chosen["picture"] = "png"
    done = write_corpus(out, override(CorpusSettings(**chosen), changes), **how)
    line = f"{counted(done.clips, 'clip')} of {people(done.people)} in {out}; next: epir check synthetic {out}"
    return {"folder": str(out), "people": done.people, "clips": done.clips, "frames": done.frames}, line


def _write_maps(out: Path, chosen: dict[str, Any], changes: list[str], how: dict[str, Any]) -> Written:
    from epir.core.config import override
    from epir.synthetic.maps import MapSettings, read_shares, write_maps

    count, recipes = chosen.pop("maps"), tuple(chosen.pop("recipe", ("epir",)))
    settings = MapSettings(count, recipes, **{**chosen, "shares": read_shares(chosen.get("shares"))})
    done = write_maps(out, override(settings, changes), **how)
    persons = len({clip.person for clip in done.clips})
    line = f"{counted(len(done), 'map')} of {people(persons)} in {out}; next: epir train {out} --protocol sde"
    return {"folder": str(out), "maps": len(done), "size": done.size, "people": persons}, line


def _write_long(out: Path, chosen: dict[str, Any], changes: list[str], how: dict[str, Any]) -> Written:
    from epir.core.config import override
    from epir.synthetic.long import LongSettings, write_long_videos

    done = write_long_videos(out, override(LongSettings(**chosen), changes), **how)
    kinds = [each.kind for each in done.intervals]
    micro, macro = kinds.count("micro"), kinds.count("macro")
    what = f"{micro} micro- and {macro} macro-expressions in {counted(done.videos, 'video')} of {people(done.people)}"
    value = {"folder": str(out), "people": done.people, "videos": done.videos, "frames": done.frames}
    return {**value, "micro": micro, "macro": macro}, f"{what} in {out}; next: epir spot synthetic {out} --out SPOTTED"
