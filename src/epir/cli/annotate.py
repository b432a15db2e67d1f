"""`epir annotate`: recordings -> a coded study, on a page of this machine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from epir.annotation.study import Study
    from epir.core.engines import Progress


def annotate(
    inputs: Annotated[
        list[Path], typer.Argument(help="Videos and folders of videos, or a study.", metavar="RECORDINGS... | STUDY")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="The study: a new folder, or one to go on with.", show_default="the input itself"),
    ] = None,
    coder: Annotated[
        str | None, typer.Option(help="Who codes; agreed settles what others differ in.", show_default="your user name")
    ] = None,
    blind: Annotated[
        bool, typer.Option("--blind", help="Hide what the model proposes until the coder has decided.")
    ] = False,
    faces: Annotated[str, typer.Option(help="Of a new study: the largest face, or all.")] = "largest",
    export: Annotated[
        list[Path] | None,
        typer.Option(help="Write what was coded, and exit: manifest.csv, decisions.csv, megc.csv, x.eaf, x.TextGrid."),
    ] = None,
    learn: Annotated[
        bool, typer.Option("--learn", help="Rank candidates by this study's decisions (200 or more), and exit.")
    ] = False,
    spot_only: Annotated[
        bool, typer.Option("--spot-only", help="Spot all recordings and exit, without a page.")
    ] = False,
    workers: Annotated[int | None, typer.Option(help="Recordings at once.", show_default="one per core")] = None,
    port: Annotated[int, typer.Option(help="The port to listen on; 0 is any free one.")] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Let --export replace files.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Code recordings with the spotter as assistant: it proposes, you decide. A second call goes on where you stopped.

    Example: epir annotate recordings --out study --coder anna

    Example: epir annotate study --export manifest.csv
    """
    from contextlib import closing

    from epir.cli.console import emit_json, showing_progress, stdout

    with showing_progress(quiet=as_json) as progress, closing(_study(inputs, out, faces, progress)) as study:
        if learn:
            from epir.annotation.learn import learn as learn_ranking

            learnt = learn_ranking(study)
            if as_json:
                emit_json(learnt.to_dict())
            else:
                stdout.print(learnt.text, markup=False)
        elif export:
            from epir.annotation.export import export as write

            written = [write(study, path, coder=coder, force=force) for path in export]
            if as_json:
                emit_json({"written": [str(path) for each in written for path in each.files]})
            for each in () if as_json else written:
                stdout.print(each.text, markup=False)
        elif spot_only:
            from epir.annotation.propose import spot_study

            spot_study(study.folder, workers, progress)
            _print_recordings(study, as_json)
        else:
            _serve(
                study, coder or _user(), blind=blind, port=port, workers=workers, opens=not no_browser, as_json=as_json
            )


def _study(inputs: list[Path], out: Path | None, faces: str, progress: "Progress") -> "Study":
    """The study that is named, with the recordings that are named beside it."""
    from epir.annotation.recordings import add_recordings, find_recordings
    from epir.annotation.schema import FILE
    from epir.annotation.study import Study
    from epir.core.config import check_known
    from epir.core.errors import EpirError

    check_known(faces, ("largest", "all"), what="choice of faces")
    studies = [path for path in inputs if (path / FILE).is_file()]
    if out is None and not inputs[0].exists():
        raise EpirError(f"there is no study {inputs[0]}", fix="begin one: epir annotate RECORDINGS --out STUDY")
    if out is None and studies != inputs[:1]:
        raise EpirError("these are recordings, not a study", fix="name the study: epir annotate RECORDINGS --out STUDY")
    folder, given = (out, inputs) if out is not None else (inputs[0], inputs[1:])
    if given and given == studies:
        raise EpirError(f"{given[0]} is a study already", fix=f"epir annotate {given[0]}")
    videos = find_recordings(given) if given else []
    is_new = not (folder / FILE).exists()
    study = Study.create(folder, faces=faces) if is_new else Study.open(folder)  # type: ignore[arg-type]
    try:
        add_recordings(study, videos, progress=progress)
    except BaseException:
        study.close()
        raise
    return study


def _serve(
    study: "Study", coder: str, *, blind: bool, port: int, workers: int | None, opens: bool, as_json: bool
) -> None:
    import webbrowser

    from epir.cli.console import emit_json, stderr, stdout
    from epir.cli.serve import web_server

    web_server()

    from epir.annotation.server import serve

    def ready(address: str) -> None:
        if as_json:
            import sys

            emit_json({"address": address, "study": str(study.folder), "coder": coder})
            sys.stdout.flush()
        else:
            stdout.print(f"{study.folder.name}, coded by {coder}: {address}  (Ctrl-C ends it)", markup=False)
        if opens and not webbrowser.open(address):
            stderr.print("no browser could be opened: open this address in one", markup=False)

    serve(study, coder, blind=blind, port=port, workers=workers, ready=ready)


def _print_recordings(study: "Study", as_json: bool) -> None:
    from dataclasses import asdict

    from epir.cli.console import emit_json, stderr, stdout

    recordings = study.recordings()
    counts = {each.id: len(study.movements(each.id)) for each in recordings}
    if as_json:
        emit_json({"recordings": [{**asdict(each), "movements": counts[each.id]} for each in recordings]})
    for each in () if as_json else recordings:
        if each.state == "failed":
            stderr.print(f"{each.path}: {each.message}", markup=False)
        else:
            stdout.print(f"{each.path}: {counts[each.id]} candidates in {each.seconds:.0f} s", markup=False)
    if any(each.state == "failed" for each in recordings):
        raise typer.Exit(2)


def _user() -> str:
    """The name of the user, as far as it can name a coder."""
    import getpass
    import re

    try:
        name = getpass.getuser()
    except (OSError, KeyError):  # no such user in the system's list
        name = ""
    return re.sub(r"[^\w.-]", "", name)[:40] or "coder"
