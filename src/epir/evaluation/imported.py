"""Import the predictions of other software as a run for `compare` and `report`, marked as not checked.

The table has one row per clip: corpus, subject, clip, truth, then `prediction` or one score column per class (or both),
and optionally `fold`. It does not show whether the epoch was chosen on the held-out people, so nothing is strict.
"""

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from epir import __version__
from epir.core.errors import EpirWarning, ProtocolError, RunError
from epir.core.files import file_digest, read_rows
from epir.core.output import RUN, check_folder, resolved
from epir.core.records import Clip
from epir.core.words import counted
from epir.datasets.protocols import get_protocol
from epir.evaluation.experiment import ELSEWHERE, Experiment, ForeignModel
from epir.evaluation.fold import ClipRecord, FoldRecord
from epir.evaluation.samples import EvaluationSet, gather
from epir.evaluation.store import Run, open_store
from epir.maps.mapset import load_maps
from epir.training.recipe import TrainingSettings

COLUMNS = ("corpus", "subject", "clip", "truth")
NEEDED = "give a CSV with the columns corpus, subject, clip, truth and prediction, or one score column per class"


def import_predictions(
    table: str | Path,
    *,
    protocol: str,
    name: str,
    out: str | Path,
    maps: Sequence[str | Path] = (),
    force: bool = False,
) -> Run:
    """Write the predictions of a table as a run of the method `name`; `maps`, if given, must have the same clips."""
    table, out = Path(table), Path(out)
    if not name.strip() or "\n" in name:
        raise RunError("the method has no name", fix="give its name, for example --name HTNet")
    check_folder(resolved(out), RUN, force=force, inputs=[table, *maps])
    try:
        rows = read_rows(table, COLUMNS, error=RunError, fix=NEEDED)
    except FileNotFoundError:
        raise RunError(f"there is no table {table}", fix="check the path") from None
    if not rows:
        raise RunError(f"{table} has no rows", fix=NEEDED)
    whole = gather([load_maps(folder) for folder in maps], protocol) if maps else None
    labels = [Clip(row["corpus"], row["subject"], row["clip"], row["truth"]) for row in rows]
    rule = get_protocol(protocol, labels)
    classes = whole.classes if whole is not None else rule.classes
    clips = _read_clips(table, rows, classes)
    if whole is not None:
        _check_clips(table, clips, whole)
        person_of = {clip.key: clip.extra.get("person", "").strip() for clip in whole.clips}
        clips = [replace(clip, named=person_of[clip.key]) for clip in clips]
    experiment = Experiment(
        protocol=rule.name,
        classes=classes,
        model=ForeignModel(name.strip()),
        training=TrainingSettings(name=ELSEWHERE),
        folds=ELSEWHERE,
        maps=whole.maps if whole is not None else (),
        clips=whole.digest if whole is not None else "",
    )
    folds: dict[str, list[ClipRecord]] = {}
    for clip in clips:
        folds.setdefault(clip.fold, []).append(clip)
    with open_store(out, experiment, force=force, inputs=[table, *maps]) as store:
        about = {"table": table.name, "digest": file_digest(table), "clips_checked": whole is not None}
        store.describe({"versions": {"epir": __version__}, "imported": about})
        for fold, members in folds.items():
            store.add(FoldRecord(fold, 0, "", tuple(members)))
        return store.finish({fold: [clip.key for clip in members] for fold, members in folds.items()})


def _read_clips(table: Path, rows: Iterable[Mapping[str, str]], classes: Sequence[str]) -> list[ClipRecord]:
    clips: dict[str, ClipRecord] = {}
    contradicted = []
    for line, row in enumerate(rows, start=2):
        place = f"{table}, line {line}"
        scores = _scores(place, row, classes)
        prediction = (row.get("prediction") or "").strip() or (classes[scores.index(max(scores))] if scores else "")
        truth = row["truth"].strip()
        for what, label in (("truth", truth), ("prediction", prediction)):
            if label not in classes:
                problem = f"the {what} {label!r} is not a class" if label else f"the clip has no {what}"
                raise ProtocolError(f"{place}: {problem}", fix=f"use one of: {', '.join(classes)}")
        scores = scores or tuple(float(label == prediction) for label in classes)
        if scores[classes.index(prediction)] < max(scores):
            contradicted.append(line)
        corpus, subject, title = (row[column].strip() for column in COLUMNS[:3])
        if not (corpus and subject and title):
            raise RunError(f"{place}: the clip has no corpus, subject or name", fix="fill in every row")
        fold = (row.get("fold") or "").strip() or f"{corpus}/{subject}"
        clip = ClipRecord(corpus, subject, title, truth, prediction, prediction, 0, fold, scores)
        if clip.key in clips:
            raise RunError(f"{place}: the clip {clip.key} occurs twice", fix="keep one row per clip")
        clips[clip.key] = clip
    if contradicted:
        warnings.warn(
            f"{table}: {len(contradicted)} of {counted(len(clips), 'prediction')} differ from the class with the "
            f"highest score, first in line {contradicted[0]}: check the order of the score columns",
            EpirWarning,
            stacklevel=3,
        )
    return list(clips.values())


def _scores(place: str, row: Mapping[str, str], classes: Sequence[str]) -> tuple[float, ...]:
    """Return the scores of a row in the order of the classes; empty without score columns."""
    present = [name for name in classes if (row.get(name) or "").strip()]
    if not present:
        return ()
    if len(present) < len(classes):
        missing = next(name for name in classes if name not in present)
        raise RunError(f"{place}: the score of {missing} is missing", fix="give one score for every class, or none")
    try:
        scores = tuple(float(row[name]) for name in classes)
    except ValueError:
        raise RunError(f"{place}: a score is not a number", fix="write scores as 0.25") from None
    if not all(map(math.isfinite, scores)):
        raise RunError(f"{place}: a score is not finite", fix="leave the scores empty and give a prediction")
    return scores


def _check_clips(table: Path, clips: Sequence[ClipRecord], whole: EvaluationSet) -> None:
    """Raise an error unless the table has the clips and labels of the map sets."""
    labels = {sample.clip.key: sample.label for sample in whole.samples}
    for clip in clips:
        if clip.key not in labels:
            raise ProtocolError(
                f"{table}: the map sets have no clip {clip.key} under {whole.protocol}",
                fix="write corpus, subject and clip as in clips.csv of the map set, or leave out the row",
            )
        if clip.truth != labels[clip.key]:
            raise ProtocolError(
                f"{table}: {clip.key} is {clip.truth}, but {labels[clip.key]} in the map sets",
                fix="correct the truth in the table",
            )
    missing = sorted(set(labels) - {clip.key for clip in clips})
    if missing:
        raise ProtocolError(
            f"{table} lacks {counted(len(missing), 'clip')} of the map sets, for example {missing[0]}",
            fix="predict every clip",
        )
