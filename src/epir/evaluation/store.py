"""The run folder, which keeps finished folds, so that an interruption costs only the folds in progress.

`config.toml` is the experiment. `folds/` has one file per fold and seed, each written atomically. `predictions.csv` and
`scores.json` are written when all folds are done, and can be rebuilt from them.
"""

import json
import math
import re
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from epir.core import config
from epir.core.errors import EpirWarning, RunError, machine_fault
from epir.core.files import csv_text, file_digest, read_json, read_text, remove_partial_files, write_text
from epir.core.output import RUN as RUN_FOLDER
from epir.core.output import SPOTTED, check_folder, check_place, kind_of, locked, mark, resolved
from epir.core.store import entry_name
from epir.core.words import counted
from epir.evaluation.experiment import Experiment, read_experiment, setting_differences
from epir.evaluation.fold import ClipRecord, FoldRecord, from_json, to_json
from epir.evaluation.folds import SPLIT
from epir.evaluation.scores import all_scores, unit_scores
from epir.models.seen import UNKNOWN

CONFIG, FOLDS, PREDICTIONS = "config.toml", "folds", "predictions.csv"
SCORES, ENVIRONMENT = "scores.json", "environment.json"
_FOLD_FILE = re.compile(r".+__seed[0-9]+\.json")
TABLE_DIGEST = "predictions_csv"  # the digest of predictions.csv, in scores.json
GIVEN_UP = ".given-up-"  # prefix of what --force moved aside

RESUME = "run the command that began this run again to resume"
AGAIN = f"delete that file, then {RESUME}"
NOT_CHECKED = "trained elsewhere: not checked"
SEEN = "seen in training (leaks)"  # replaces strict if people or clips were on both sides


@dataclass(frozen=True)
class Run:
    """A finished evaluation on disk."""

    folder: Path
    experiment: Experiment
    folds: tuple[FoldRecord, ...]
    scores: dict[str, Any]
    environment: dict[str, Any]

    @cached_property
    def predictions(self) -> tuple[ClipRecord, ...]:
        """One prediction per clip and seed, sorted by seed and name."""
        return _sorted_clips(self.folds)

    @property
    def name(self) -> str:
        """The name of this run in tables: its model."""
        zero_shot = " (zero-shot)" if self.experiment.is_zero_shot else ""
        return f"{self.experiment.model.name}{zero_shot}"

    @property
    def main(self) -> dict[str, Any]:
        """The scores of the main column: strict, unless people or clips were seen in training."""
        scores: dict[str, Any] = self.scores[self.experiment.columns[0]]
        return scores


def open_run(folder: str | Path) -> Run:
    """Open the finished run in `folder`, and verify it."""
    folder = Path(folder)
    experiment = _experiment(folder)
    if not (folder / SCORES).exists():
        done = len(list((folder / FOLDS).glob("[!.]*.json")))
        raise RunError(f"the run {folder} is not finished: {counted(done, 'fold')} done", fix=RESUME)
    environment = _read_json(folder / ENVIRONMENT) if (folder / ENVIRONMENT).exists() else {}
    records, scores = _read_folds(folder), _read_json(folder / SCORES)
    if scores.get("digest") != config.digest({name: value for name, value in scores.items() if name != "digest"}):
        raise RunError(f"{folder / SCORES} was changed after it was written", fix=RESUME)
    _check_complete(folder, experiment, records, scores)
    table = folder / PREDICTIONS  # may be missing: it can be rebuilt
    if table.is_file() and file_digest(table) != scores.get(TABLE_DIGEST):
        raise RunError(f"{table} was changed after it was written", fix=f"delete that file, or {RESUME}")
    return Run(folder, experiment, records, scores, environment)


@contextmanager
def open_store(
    folder: str | Path, experiment: Experiment, *, force: bool = False, inputs: Iterable[str | Path] = ()
) -> Iterator["RunStore"]:
    """Open the run folder of this experiment, locked for this process; raise an error if it holds another experiment.

    A run of the same experiment with fewer seeds is extended. An unfinished run with more seeds is cut back.
    """
    folder = Path(folder)
    check_run_folder(folder, inputs)
    with locked(folder):
        _remove_partial_files(folder)
        if force:
            _check_link(folder, experiment)
            _clear(folder)
        elif not (folder / CONFIG).exists() and not _folds_are_of(folder, experiment):
            _clear(folder)  # left over from a killed --force
        if (folder / CONFIG).exists():
            _update_seeds(folder, experiment)
            _check_unchanged(folder, experiment)
        with _writing(folder / CONFIG):
            mark(folder, RUN_FOLDER)
            if not (folder / CONFIG).exists():
                config.write_toml(experiment, folder / CONFIG)
        yield RunStore(folder, experiment)


def _folds_are_of(folder: Path, experiment: Experiment) -> bool:
    """Whether a folder that lost its settings has folds, all of this experiment; other folds are an error.

    A killed --force leaves no folds: it moves them aside before the settings.
    """
    paths = [path for path in (folder / FOLDS).glob("[!.]*.json") if _FOLD_FILE.fullmatch(path.name)]
    expected = _digest(config.to_dict(experiment))
    if any(_experiment_of(path) != expected for path in paths):
        raise RunError(
            f"{folder} has {counted(len(paths), 'finished fold')} but no {CONFIG}, and not all are of this command",
            fix=f"restore {CONFIG}, choose another folder with --out, or start over with --force",
        )
    return bool(paths)


def _experiment_of(path: Path) -> str:
    """Return the digest of the experiment that a fold belongs to; empty for a damaged file."""
    try:
        return from_json(read_text(path, error=RunError, fix=AGAIN)).experiment
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return ""


def check_run_folder(folder: Path, inputs: Iterable[str | Path] = ()) -> None:
    """Raise an error if a folder holds anything but a run, or contains an input."""
    check_folder(resolved(folder), RUN_FOLDER, force=True, inputs=inputs)
    check_place(resolved(folder) / CONFIG)


def _check_link(folder: Path, experiment: Experiment) -> None:
    """Raise an error if --force would follow a link to a run of another protocol, which the user did not name."""
    if not folder.is_symlink() or not (folder / CONFIG).exists():
        return
    protocol = _experiment(folder).protocol
    if protocol != experiment.protocol:
        raise RunError(
            f"{folder} is a link to {resolved(folder)}, a run of the protocol {protocol}, not {experiment.protocol}",
            fix="choose another folder with --out, or remove the link",
        )


class RunStore:
    """The finished folds of one experiment, in its run folder."""

    def __init__(self, folder: Path, experiment: Experiment) -> None:
        self.folder = folder
        self.experiment = experiment
        self.digest = _digest(config.toml_values(folder / CONFIG))

    def has(self, fold: str, seed: int) -> bool:
        """Whether this fold and seed are done."""
        return self._path(fold, seed).exists()

    def add(self, record: FoldRecord) -> None:
        """Write the record of a fold."""
        path = self._path(record.fold, record.seed)
        _write(path, to_json(replace(record, experiment=self.digest), self.experiment.columns[0]))

    def describe(self, environment: Mapping[str, Any]) -> None:
        """Write `environment.json`; resuming elsewhere adds what differs there."""
        path = self.folder / ENVIRONMENT
        known = _read_json(path) if path.exists() else dict(environment)
        changed = {name: value for name, value in environment.items() if known.get(name) != value}
        if changed and changed not in known.setdefault("continued", []):
            known["continued"].append(changed)
        _write(path, json.dumps(known, indent=1) + "\n")

    def check(self, folds: Mapping[str, Collection[str]]) -> tuple[FoldRecord, ...]:
        """Read the records so far; raise an error if one has an unknown fold or the wrong clips."""
        records = _read_folds(self.folder)
        for record in records:
            path = self._path(record.fold, record.seed)
            if record.fold not in folds:
                raise RunError(f"{path} belongs to no fold of this run", fix=AGAIN)
            if Counter(clip.key for clip in record.clips) != Counter(folds[record.fold]):
                raise RunError(f"{path} has other clips than its fold", fix=AGAIN)
        return records

    def finish(self, folds: Mapping[str, Collection[str]]) -> Run:
        """Write predictions and scores, and open the run; `folds` maps every fold to its held-out clips."""
        records = self.check(folds)
        missing = {(fold, seed) for fold in folds for seed in range(self.experiment.seeds)}
        missing -= {(record.fold, record.seed) for record in records}
        if missing:  # deleted during the run
            raise RunError(f"folds of {self.folder} are missing: {sorted(missing)[0]}", fix=RESUME)
        predictions = _sorted_clips(records)
        _write(self.folder / PREDICTIONS, _predictions_csv(predictions, self.experiment))
        values = _scores(self.experiment, records, predictions)
        scores = json.loads(json.dumps({**values, TABLE_DIGEST: file_digest(self.folder / PREDICTIONS)}))
        _write(self.folder / SCORES, json.dumps({**scores, "digest": config.digest(scores)}, indent=1) + "\n")
        return open_run(self.folder)

    def _path(self, fold: str, seed: int) -> Path:
        return self.folder / FOLDS / _file_name(fold, seed)


def _scores(experiment: Experiment, records: Sequence[FoldRecord], predictions: Sequence[ClipRecord]) -> dict[str, Any]:
    units = unit_scores(predictions)
    return {
        "protocol": experiment.protocol,
        "model": experiment.model.name,
        "classes": list(experiment.classes),
        "clips": len({clip.key for clip in predictions}),
        "people": len({clip.person for clip in predictions}),
        "folds": len({record.fold for record in records}),
        "seeds": experiment.seeds,
        **_evaluation(experiment),
        **all_scores(predictions, experiment.classes, experiment.columns, by_fold=experiment.folds == SPLIT),
        **({"units": units} if units else {}),
        "predictions": _predictions_digest(predictions),
        "seconds": round(sum(record.seconds for record in records), 1),
    }


def _evaluation(experiment: Experiment) -> dict[str, str]:
    """Return why the scores are not strict, if they are not."""
    if experiment.is_imported:
        return {"evaluation": NOT_CHECKED}
    if experiment.seen_in_training:
        return {"evaluation": SEEN}
    return {"evaluation": UNKNOWN} if experiment.unknown_weights else {}


def _predictions_csv(predictions: Sequence[ClipRecord], experiment: Experiment) -> str:
    """Return one row per clip and seed; action units, annotated and detected, come last if there are any."""
    has_units = any(clip.units for clip in predictions)
    titles = ["corpus", "subject", "clip", "truth", experiment.columns[0], "best_epoch", "seed", *experiment.classes]
    rows = []
    for clip in predictions:
        scores = [f"{value:.6f}" for value in clip.scores]
        best = clip.best_epoch if "best_epoch" in experiment.columns else ""
        cells = [""] * 2 * has_units
        if clip.units:
            cells = [clip.units["annotation"], "+".join(map(str, clip.units["found"]))]
        names = [clip.corpus, clip.subject, clip.clip, clip.truth, clip.strict]
        rows.append([*names, best, clip.seed, *scores, *cells])
    return csv_text([*titles, *(["action_units", "found_units"] if has_units else [])], rows)


def _sorted_clips(records: Sequence[FoldRecord]) -> tuple[ClipRecord, ...]:
    clips = [clip for record in records for clip in record.clips]
    return tuple(sorted(clips, key=lambda clip: (clip.seed, clip.key)))


def _read_folds(folder: Path) -> tuple[FoldRecord, ...]:
    """Read the folds of the run's seeds; folds of higher seeds stay in the folder for a later call.

    A file with an unexpected name, such as the conflict copy of a synchronisation program, is reported but not counted.
    """
    records = []
    experiment, expected = read_experiment(folder / CONFIG), _digest(config.toml_values(folder / CONFIG))
    for path in sorted((folder / FOLDS).glob("[!.]*.json")):
        record = _read_fold(path, experiment) if _FOLD_FILE.fullmatch(path.name) else None
        if record is None or path.name != _file_name(record.fold, record.seed):
            warnings.warn(f"{path} is not a fold of this run and is not counted; delete it", EpirWarning, stacklevel=3)
        elif record.experiment != expected:
            raise RunError(f"{path} belongs to another experiment", fix=AGAIN)
        elif record.seed < experiment.seeds:
            records.append(record)
    return tuple(records)


def _read_fold(path: Path, experiment: Experiment) -> FoldRecord:
    try:
        record = from_json(read_text(path, error=RunError, fix=AGAIN))
        _check_record(record, experiment)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise RunError(f"{path} is damaged: {error}", fix=AGAIN) from None
    return record


def _file_name(fold: str, seed: int) -> str:
    return f"{entry_name(fold)}__seed{seed}.json"


def _check_record(record: FoldRecord, experiment: Experiment) -> None:
    """Raise `ValueError` for classes and scores that this experiment cannot produce."""
    if type(record.seed) is not int or not isinstance(record.fold, str):
        raise ValueError("it names no fold and seed")
    for clip in record.clips:
        if not all(isinstance(name, str) for name in (clip.corpus, clip.subject, clip.clip)):
            raise ValueError("a clip without a name")
        for name in (clip.truth, clip.strict, clip.best_epoch):
            if name not in experiment.classes:
                raise ValueError(f"{clip.key} has the class {name!r}")
        if len(clip.scores) != len(experiment.classes) or not all(map(math.isfinite, clip.scores)):
            raise ValueError(f"{clip.key} has the scores {list(clip.scores)}")


def _check_complete(
    folder: Path, experiment: Experiment, records: Sequence[FoldRecord], scores: Mapping[str, Any]
) -> None:
    """Raise an error if the scores do not belong to the folds and clips in the folder."""
    predictions = _sorted_clips(records)
    for (_, key), times in Counter((clip.seed, clip.key) for clip in predictions).items():
        if times > 1:
            raise RunError(f"the run {folder} has the clip {key} twice", fix=f"delete one fold, then {RESUME}")
    expected = scores.get("folds")
    for seed in range(experiment.seeds):
        done = sum(record.seed == seed for record in records)
        if expected != done:
            raise RunError(f"the run {folder} is not finished: seed {seed} has {done} of {expected} folds", fix=RESUME)
    clips = len({clip.key for clip in predictions})
    if scores.get("clips") != clips or scores.get("predictions") != _predictions_digest(predictions):
        raise RunError(f"{folder / SCORES} does not belong to the folds beside it", fix=RESUME)
    if not all(isinstance(scores.get(name), dict) for name in experiment.columns):
        raise RunError(f"{folder / SCORES} is damaged: it has no scores", fix=AGAIN)


def _predictions_digest(predictions: Sequence[ClipRecord]) -> str:
    return config.digest(
        [
            [clip.seed, clip.fold, clip.key, clip.truth, clip.strict, clip.best_epoch, *clip.scores]
            for clip in predictions
        ]
    )


def _digest(settings: Mapping[str, Any]) -> str:
    """Return the digest that the folds of a run carry: of its settings, without the number of seeds."""
    return config.digest({name: value for name, value in settings.items() if name != "seeds"})


def _experiment(folder: Path) -> Experiment:
    if not folder.is_dir():
        raise RunError(f"there is no run {folder}", fix="check the path, or create one with epir evaluate")
    if not (folder / CONFIG).exists():
        inside = [path.name for path in runs_in(folder)]
        fix = f"use one of the runs in it: {', '.join(inside)}" if inside else "create one with epir evaluate"
        raise RunError(f"{folder} is not a run: it has no {CONFIG}", fix=fix)
    if (kind := kind_of(folder)) == SPOTTED:
        raise RunError(f"{folder} is a {kind}, not a run", fix=f"score it with epir score {folder}")
    return read_experiment(folder / CONFIG)


def runs_in(folder: Path) -> list[Path]:
    """Return the runs in a folder of runs, which may also hold spotted videos."""
    return sorted(path.parent for path in folder.glob(f"*/{CONFIG}") if kind_of(path.parent) != SPOTTED)


def _update_seeds(folder: Path, experiment: Experiment) -> None:
    """Raise the number of seeds of an existing run, or lower it if the run is not finished."""
    before = read_experiment(folder / CONFIG)
    is_finished = (folder / SCORES).exists()
    if before.seeds == experiment.seeds or (is_finished and before.seeds > experiment.seeds):
        return
    if config.differences(replace(before, seeds=experiment.seeds), experiment):
        return
    for table in (SCORES, PREDICTIONS):  # rebuilt from the folds
        (folder / table).unlink(missing_ok=True)
    with _writing(folder / CONFIG):
        values = {**config.toml_values(folder / CONFIG), "seeds": experiment.seeds}
        config.write_toml_values(values, folder / CONFIG)


def _check_unchanged(folder: Path, experiment: Experiment) -> None:
    before = read_experiment(folder / CONFIG)
    changed = config.differences(before, experiment)
    old, new = before.source, experiment.source
    if old and new and old != new and old.reference == new.reference:
        raise RunError(
            f"{old.reference} has changed since the run {folder} began",
            fix="restore it, choose another folder with --out, or start over with --force",
        )
    if changed:
        shown = setting_differences(before, experiment) or changed
        raise RunError(
            f"the run {folder} has other settings or maps ({'; '.join(shown)})",
            fix="choose another folder with --out, use the old settings, or start over with --force",
        )


def _remove_partial_files(folder: Path) -> None:
    """Remove files left by a process that was killed while writing."""
    remove_partial_files(folder)
    remove_partial_files(folder / FOLDS)
    for given_up in folder.glob(f"{GIVEN_UP}*"):
        shutil.rmtree(given_up)


def _clear(folder: Path) -> None:
    """Move a run aside, its settings last, and delete it; leave other files in the folder alone."""
    mark(folder, RUN_FOLDER)  # still recognised as a run without its settings
    present = [name for name in (SCORES, PREDICTIONS, ENVIRONMENT, FOLDS, CONFIG) if (folder / name).exists()]
    if present:
        aside = Path(tempfile.mkdtemp(prefix=GIVEN_UP, dir=folder))
        for name in present:
            (folder / name).rename(aside / name)
        shutil.rmtree(aside)


def _read_json(path: Path) -> dict[str, Any]:
    return read_json(path, error=RunError, fix=AGAIN)


def _write(path: Path, text: str) -> None:
    with _writing(path):
        write_text(path, text)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Report a full or read-only disk as an error; files written before are kept."""
    try:
        yield
    except OSError as error:
        raise machine_fault(error, path) from None
