"""The verb `check`: whether a copy of a corpus is complete and free of defects."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from epir.cli.options import AsJson, CorpusName, CorpusRoot, Labels, Part, Sheet, Tree, only_set
from epir.core.words import counted

if TYPE_CHECKING:
    from epir.core.records import Clip
    from epir.datasets.base import Defect
    from epir.datasets.survey import Counts, Survey

Pair = tuple[str, str]  # actual and expected count
MOST_LINES = 20  # of each list in the terminal; --json has them all


def check(
    corpus: CorpusName,
    root: CorpusRoot,
    deep: Annotated[bool, Option("--deep", help="Also decode every frame: minutes instead of seconds.")] = False,
    sheet: Sheet = None,
    part: Part = None,
    labels: Labels = None,
    tree: Tree = None,
    as_json: AsJson = False,
) -> None:
    """Compare the clips, classes and people of a corpus with a complete copy, and list every defect.

    The exit code is 0 if nothing is missing or wrong, otherwise 1.

    Example: epir check casme2 ~/corpora/CASME2
    """
    from epir.cli.console import emit_json, showing_progress
    from epir.datasets.registry import load_corpus
    from epir.datasets.survey import survey

    opener: Callable[[Clip], list[str]] | None = None
    if deep:
        from epir.maps.inspection import inspect_clip

        opener = inspect_clip
    loaded = load_corpus(corpus, root, **only_set(sheet=sheet, part=part, tree=tree, labels=labels))
    with showing_progress(quiet=not deep) as progress:
        result = survey(loaded, opener=opener, fingerprint=_fingerprint, progress=progress)
    if as_json:
        emit_json(result.to_dict())
    else:
        _show(result)
    if not result.is_clean:
        raise typer.Exit(1)


def _fingerprint(clip: "Clip") -> str | None:
    """A digest that is equal for clips with the same key frames."""
    from epir.frames.folder import fingerprint

    assert clip.frames is not None
    return fingerprint(clip.frames, clip.onset, clip.apex)


def _show(result: "Survey") -> None:
    from rich.markup import escape

    from epir.cli.console import stdout

    corpus = result.corpus
    stdout.print(f"[bold]{corpus.name}[/bold] in {escape(str(corpus.root))}")
    present = len(corpus.present)
    frames = f"{corpus.tree}, for {present} of {counted(len(corpus), 'clip')}" if present else "none found"
    stdout.print(f"annotations: {escape(corpus.sheet)}; frames: {frames}")
    for note in corpus.notes:
        stdout.print(f"[dim]{escape(note)}[/dim]")
    _show_counts(result)
    corrected = [f"{fix.clip}  {fix.field} {fix.old} -> {fix.new}: {fix.reason}" for fix in corpus.corrected]
    _show_list("corrected", corrected)
    _show_list("known in every copy of the release", _grouped(defect for defect in corpus.defects if defect.known))
    _show_list("[red]missing or wrong[/red]", _grouped(corpus.faults))
    _show_list("[red]other counts than in a complete copy[/red]", result.departures)
    stdout.print("\n[green]all is well[/green]" if result.is_clean else f"\n[red]{_summary(result)}[/red]")


def _show_counts(result: "Survey") -> None:
    from rich.table import Table

    from epir.cli.console import stdout

    blocks = {"all": (result.counts, result.expected), **result.protocols}
    is_compared = any(expected for _, expected in [*blocks.values(), *result.further.values()])
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column("")
    for heading in ("clips", "expected", "people", "expected") if is_compared else ("clips", "people"):
        table.add_column(heading, justify="right")
    for name, (counts, expected) in blocks.items():
        if name != "all":
            table.add_row()
        for label, *pairs in _rows(name, counts, expected):
            table.add_row(label, *(cell for pair in pairs for cell in (pair if is_compared else pair[:1])))
        if name == "all" and result.further:
            table.add_row()
            for label, (number, expected_number) in result.further.items():
                table.add_row(label, *(_pair(number, expected_number) if is_compared else (str(number),)))
    stdout.print()
    stdout.print(table)


def _rows(name: str, counts: "Counts", expected: "Counts | None") -> Iterator[tuple[str, Pair, Pair]]:
    """A row for all clips, then one for each class: label, clips and people, as pairs of actual and expected."""
    from rich.markup import escape

    classes = expected.classes if expected else {}
    clips, people = (expected.clips, expected.people) if expected else (None, None)
    yield f"[bold]{name}", _pair(counts.clips, clips), _pair(counts.people, people)
    for label in {**counts.classes, **classes}:
        yield f"  {escape(label)}", _pair(counts.classes.get(label, 0), classes.get(label)), ("", "")


def _pair(number: int | None, expected: int | None) -> Pair:
    differs = expected is not None and number != expected
    return f"[red]{number}[/red]" if differs else str(number), "" if expected is None else str(expected)


def _grouped(defects: "Iterable[Defect]") -> list[str]:
    """One line for each problem, with the clips that have it."""
    clips: dict[str, list[str]] = {}
    for defect in defects:
        clips.setdefault(defect.problem, []).append(defect.clip)
    return [f"{_names(names)}  {problem}" for problem, names in clips.items()]


def _names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{len(names)} clips ({names[0]}, ..., {names[-1]})"


def _show_list(heading: str, lines: Sequence[str]) -> None:
    from rich.markup import escape

    from epir.cli.console import stdout

    if lines:
        stdout.print(f"\n{heading}:")
        for line in lines[:MOST_LINES]:
            stdout.print(f"  {escape(line)}")
        if len(lines) > MOST_LINES:
            stdout.print(f"  ... and {len(lines) - MOST_LINES} more (--json lists them all)")


def _summary(result: "Survey") -> str:
    faults = len(result.corpus.faults)
    clips = len({defect.clip for defect in result.corpus.faults})
    parts = [f"{len(result.departures)} counts differ"] if result.departures else []
    parts += [f"{counted(faults, 'defect')} in {clips} of {counted(len(result.corpus), 'clip')}"] if faults else []
    return "; ".join(parts)
