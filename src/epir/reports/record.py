"""Results as data: one JSON file per published row, of a finished run or of a benchmark.

    epir evaluate maps --protocol cde --model ststnet --record results     # writes results/cde-ststnet.json
    epir bench --only flow --record results/bench-flow.json                # a benchmark as data

They name no host and no path. `epir.reports.leaderboard` makes tables from them.
"""

import shlex
from collections.abc import Mapping
from dataclasses import asdict
from json import dumps
from pathlib import Path
from typing import Any

from epir.core.config import to_dict
from epir.core.errors import OutputError, RunError
from epir.core.files import read_json, write_text
from epir.core.store import entry_name
from epir.evaluation.comparison import training_of
from epir.evaluation.conventions import convention_rows, epoch_rows
from epir.evaluation.store import ENVIRONMENT, Run

FORMAT = "epir-result/1"
BENCH = "epir-bench/1"
MOST_ANSWERS = 20_000  # larger runs (clips x seeds) are recorded without predictions
HIDDEN = ("--out", "--record", "--workers", "--engine", "--address", "--gpus")  # options that do not affect scores

Result = Mapping[str, Any]


def record_result(run: Run, folder: str | Path, command: str) -> tuple[Path, str]:
    """Write the result of a finished run into a folder of results; return the file and how its answers have changed.

    It contains no host name and no path: paths in the command are cut to their last part. A result of the same name and
    the same clips is replaced.
    """
    path = Path(folder) / f"{entry_name(run.folder.name)}.json"
    before = read_json(path, error=OutputError, fix="choose another --record") if path.exists() else None
    if before is not None and before.get("format") != FORMAT:
        raise OutputError(f"{path} is not a result of epir", fix="choose another folder for --record")
    result = result_of(run, command)
    if before is not None and _other_clips(before, result):
        was, now = (f"{each.get('protocol')}, {each.get('clips')} clips" for each in (before, result))
        raise OutputError(
            f"{path} is a result of other clips ({was}) than this run ({now})",
            fix=f"choose another folder for --record, or another name for --out; the run {run.folder} is finished",
        )
    write_text(path, dumps(result, indent=1, ensure_ascii=False) + "\n")
    return path, "new" if before is None else _changed_answers(before, result)


def _other_clips(before: Result, now: Result) -> bool:
    """Whether two results differ in their clips or in the true classes, as far as they are recorded."""
    truths = [_truths(result) for result in (before, now)]
    return before.get("clips") != now["clips"] or (all(truths) and truths[0] != truths[1])


def _truths(result: Result) -> dict[str, str]:
    """Return the true class of every recorded clip."""
    answers, classes = result.get("predictions"), result.get("classes")
    if not answers or not classes:
        return {}
    return {clip: classes[int(digit)] for clip, digit in zip(answers["clips"], answers["truth"], strict=True)}


def _changed_answers(before: Result, now: Result) -> str:
    """Return how many answers of a run differ from those recorded before."""
    was, is_now = before.get("predictions") or {}, now["predictions"] or {}
    commit = before.get("versions", {}).get("commit", "")[:12] or "no known commit"
    if not was or not is_now or before.get("classes") != now["classes"]:
        return f"not compared with the answers of {commit}"
    counts = [[len(answers) for answers in result.get("answers", ())] for result in (was, is_now)]
    if counts[0] != counts[1]:
        return f"other seeds than those of {commit}"
    pairs = list(zip("".join(was["answers"]), "".join(is_now["answers"]), strict=True))
    changed = sum(one != other for one, other in pairs)
    return (
        f"{changed or 'none'} of {len(pairs)} answers {'differ' if changed > 1 else 'differs'} from those of {commit}"
    )


def result_of(run: Run, command: str) -> dict[str, Any]:
    """Return the published values of a run."""
    scores, environment = run.scores, run.environment
    if not environment:
        raise RunError(
            f"{run.folder / ENVIRONMENT} is missing, and with it the versions, the machine and the maps of the run",
            fix="run the evaluation again with --force, then record it",
        )
    training = training_of(run.experiment)
    versions = dict(environment.get("versions", {}))
    maps = [{key: value for key, value in entry.items() if key != "folder"} for entry in environment.get("maps", [])]
    elsewhere = [
        {key: value for key, value in entry.items() if key in ("versions", "machine", "device")}
        for entry in environment.get("continued", [])
    ]
    continued = [entry for entry in elsewhere if entry]  # the others differ in workers or folders only
    return {
        "format": FORMAT,
        "name": run.folder.name,
        "method": run.name,
        "command": clean_command(command),
        "training": training.recipe,
        "first_weights": training.first_weights,
        **{key: scores[key] for key in ("protocol", "classes", "clips", "people", "folds", "seeds")},
        "evaluation": run.experiment.folds,
        "target": "units" if "clips_without_units" in environment else "classes",
        "main": run.experiment.columns[0],
        "scores": {column: scores[column] for column in run.experiment.columns},
        "uf1_by_seed": [of_seed[run.experiment.columns[0]]["uf1"] for of_seed in scores["by_seed"].values()],
        **({"units": scores["units"]} if "units" in scores else {}),
        "conventions": [asdict(row) for row in convention_rows(run)],
        "epochs": [[row.epoch, row.strict, row.best_so_far] for row in epoch_rows(run)],
        "predictions_digest": scores["predictions"],
        "predictions": _compact(run),
        "seconds": scores["seconds"],
        "settings": to_dict(run.experiment),
        "maps": maps,
        "versions": versions,
        "machine": environment.get("machine", {}),
        "device": environment.get("device", ""),
        **({"continued": continued} if continued else {}),
    }


def check_bench_file(path: Path) -> None:
    """Raise an error if a benchmark cannot be written here, before anything is measured."""
    if path.suffix != ".json":
        raise OutputError(f"--record {path} is not a .json file", fix=f"name a file: --record {path}/bench-flow.json")
    if path.exists() and read_json(path, error=OutputError, fix="choose another --record").get("format") != BENCH:
        raise OutputError(f"{path} is not a benchmark of epir", fix="choose another file for --record")


def record_bench(measured: Mapping[str, Any], path: str | Path, command: str) -> Path:
    """Write the measurements of `epir bench` as a result, replacing one of the same name."""
    path = Path(path)
    check_bench_file(path)
    result = {"format": BENCH, "name": path.stem, "command": clean_command(command), **measured}
    write_text(path, dumps(result, indent=1, ensure_ascii=False) + "\n")
    return path


def clean_command(command: str) -> str:
    """Drop the options that do not affect scores, and cut paths to their last part.

    >>> clean_command("epir evaluate /data/maps --protocol cde --workers 2 --set training.start=/my/model")
    'epir evaluate maps --protocol cde --set training.start=model'
    """
    kept, skip = [], False
    for word in shlex.split(command):
        if skip or word.split("=")[0] in HIDDEN or word in ("--force", "--json"):
            skip = not skip and word in HIDDEN
            continue
        name, equals, value = word.rpartition("=")
        kept.append(f"{name}{equals}{Path(value).name if '/' in value else value}")
    return shlex.join(kept)


def _compact(run: Run) -> dict[str, Any] | None:
    """Return the clips, and one digit per clip for the truth and for the strict answer of every seed."""
    classes = run.experiment.classes
    if len(run.predictions) > MOST_ANSWERS or len(classes) > 10:
        return None
    digit = {name: str(number) for number, name in enumerate(classes)}
    seeds = [[clip for clip in run.predictions if clip.seed == seed] for seed in range(run.experiment.seeds)]
    return {
        "clips": [clip.key for clip in seeds[0]],
        "truth": "".join(digit[clip.truth] for clip in seeds[0]),
        "answers": ["".join(digit[clip.strict] for clip in clips) for clips in seeds],
    }
