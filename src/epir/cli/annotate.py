"""The verbs `annotate` and `agree`: code recordings on a local web page, and measure how far coders agree."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from epir.cli.options import AsJson
from epir.core.words import counted

if TYPE_CHECKING:
    from epir.annotation.study import Study
    from epir.core.engines import Progress


def annotate(
    inputs: Annotated[
        list[Path], Argument(help="Videos and folders of videos, or a study.", metavar="RECORDINGS... | STUDY")
    ],
    out: Annotated[
        Path | None, Option(help="The study: a new or an existing folder.", show_default="the input itself")
    ] = None,
    coder: Annotated[
        str | None,
        Option(help="Your name as a coder; agreed settles disagreements.", show_default="your user name"),
    ] = None,
    blind: Annotated[bool, Option("--blind", help="Hide the model's proposal until the coder has decided.")] = False,
    faces: Annotated[str, Option(help="For a new study: code the largest face, or all.")] = "largest",
    export: Annotated[
        list[Path] | None,
        Option(
            help="Write the decisions to a file and exit: manifest.csv, decisions.csv, megc.csv, x.eaf, x.TextGrid."
        ),
    ] = None,
    learn: Annotated[
        bool, Option("--learn", help="Learn to rank candidates from this study's decisions (200 or more), and exit.")
    ] = False,
    spot_only: Annotated[bool, Option("--spot-only", help="Spot all recordings and exit, without a page.")] = False,
    workers: Annotated[int | None, Option(help="Recordings spotted in parallel.", show_default="one per core")] = None,
    port: Annotated[int, Option(help="The port to listen on; 0 for any free one.")] = 0,
    no_browser: Annotated[bool, Option("--no-browser", help="Only print the address.")] = False,
    force: Annotated[bool, Option("--force", help="Let --export replace files.")] = False,
    as_json: AsJson = False,
) -> None:
    """Code recordings on a web page: the spotter proposes, you decide. Run the same command to continue.

    Example: epir annotate recordings --out study --coder anna

    Example: epir annotate study --export manifest.csv
    """
    from contextlib import closing
    from dataclasses import asdict

    from epir.cli.console import show, showing_progress

    with showing_progress(quiet=as_json) as progress, closing(_study(inputs, out, faces, progress)) as study:
        if learn:
            from epir.annotation.learn import learn_ranking

            learnt = learn_ranking(study)
            show(asdict(learnt), [learnt.text], as_json=as_json)
        elif export:
            from epir.annotation.export import export_study

            exports = [export_study(study, path, coder=coder, force=force) for path in export]
            files = [str(path) for written in exports for path in written.files]
            show({"written": files}, [written.text for written in exports], as_json=as_json)
        elif spot_only:
            from epir.annotation.propose import spot_study

            spot_study(study.folder, workers, progress)
            _print_recordings(study, as_json)
        else:
            _serve(
                study, coder or _user(), blind=blind, port=port, workers=workers, opens=not no_browser, as_json=as_json
            )


def _study(inputs: list[Path], out: Path | None, faces: str, progress: "Progress") -> "Study":
    """The new or existing study, with the recordings among the inputs added."""
    from epir.annotation.recordings import add_recordings, find_recordings
    from epir.annotation.schema import FILE
    from epir.annotation.study import Study
    from epir.core.config import check_known
    from epir.core.errors import EpirError

    check_known(faces, ("largest", "all"), what="choice of faces")
    studies = [path for path in inputs if (path / FILE).is_file()]
    if out is None and not inputs[0].exists():
        raise EpirError(f"there is no study {inputs[0]}", fix="create one: epir annotate RECORDINGS --out STUDY")
    if out is None and studies != inputs[:1]:
        raise EpirError("these are recordings, not a study", fix="name the study: epir annotate RECORDINGS --out STUDY")
    folder, paths = (out, inputs) if out is not None else (inputs[0], inputs[1:])
    if paths and paths == studies:
        raise EpirError(f"{paths[0]} is a study already", fix=f"epir annotate {paths[0]}")
    videos = find_recordings(paths) if paths else []
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
    import sys
    import webbrowser

    from epir.cli.console import show, warn
    from epir.cli.serve import check_web_server

    check_web_server()

    from epir.annotation.server import serve_desk

    def ready(address: str) -> None:
        value = {"address": address, "study": str(study.folder), "coder": coder}
        show(value, [f"{study.folder.name}, coded by {coder}: {address}  (Ctrl-C stops it)"], as_json=as_json)
        sys.stdout.flush()
        if opens and not webbrowser.open(address):
            warn("cannot open a browser: open this address yourself")

    serve_desk(study, coder, blind=blind, port=port, workers=workers, ready=ready)


def _print_recordings(study: "Study", as_json: bool) -> None:
    from dataclasses import asdict

    from epir.cli.console import show, warn

    recordings = study.recordings()
    counts = {recording.id: len(study.movements(recording.id)) for recording in recordings}
    failed = [recording for recording in recordings if recording.state == "failed"]
    done = [recording for recording in recordings if recording.state != "failed"]
    value = {"recordings": [{**asdict(recording), "movements": counts[recording.id]} for recording in recordings]}
    lines = [f"{recording.path}: {counts[recording.id]} candidates in {recording.seconds:.0f} s" for recording in done]
    show(value, lines, as_json=as_json)
    if not as_json:
        warn(*(f"{recording.path}: {recording.message}" for recording in failed))
    if failed:
        raise typer.Exit(2)


def _user() -> str:
    """The user name, reduced to the characters allowed in a coder's name."""
    import getpass
    import re

    try:
        name = getpass.getuser()
    except (OSError, KeyError):  # a user id without a name
        name = ""
    return re.sub(r"[^\w.-]", "", name)[:40] or "coder"


def agree(
    study: Annotated[Path, Argument(help="A study written by epir annotate.", show_default=False)],
    coder: Annotated[
        list[str] | None,
        Option(help="Compare only these coders. May be repeated.", show_default="all but agreed, the adjudicator"),
    ] = None,
    overlap: Annotated[float, Option(help="Intersection over union at which two movements match.")] = 0.5,
    out: Annotated[Path | None, Option(help="Also write a page with all tables.", show_default=False)] = None,
    force: Annotated[bool, Option("--force", help="Replace the page.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure the agreement between the coders of a study, movement by movement.

    Example: epir agree study --out agreement.html
    """
    from dataclasses import asdict

    from epir.annotation.adjudication import disagreements
    from epir.annotation.agreement import agreement
    from epir.annotation.agreement_page import agreement_page, agreement_tables
    from epir.annotation.study import Study
    from epir.cli.console import show
    from epir.core.files import write_text
    from epir.core.output import claimed_file

    with Study.open(study) as opened:
        result = agreement(opened, coder or (), overlap)
        cases = disagreements(opened, overlap)
        if out is not None:
            with claimed_file(out, force=force, inputs=[study]) as page:
                write_text(page, agreement_page(opened, result))
    waiting = sum(case.settled is None for case in cases)
    lines = [table.text() for table in agreement_tables(result)]
    lines.append(f"{counted(len(cases), 'disagreement')}, {waiting} not settled")
    lines += [f"report: {out}"] if out is not None else []
    lines += [f"next: epir annotate {study} --coder agreed"] if waiting else []
    value = {"disagreements": [asdict(case) for case in cases], "report": None if out is None else str(out)}
    show(result.to_dict() | value, lines, as_json=as_json)
