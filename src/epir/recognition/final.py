"""Map sets -> one model for use: trained on all clips, calibrated on people that it has not seen."""

import shutil
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from epir.core.config import digest, to_dict
from epir.core.engines import Engine
from epir.core.errors import ConfigError, ProtocolError
from epir.core.output import MODEL, check_folder, claimed, real
from epir.core.progress import Progress, Silent
from epir.evaluation.experiment import resolve_settings
from epir.evaluation.fold import one_thread
from epir.evaluation.run import evaluate, opened
from epir.evaluation.samples import EvaluationSet, gather, read_maps
from epir.evaluation.store import SEEN
from epir.maps.copies import map_hashes
from epir.maps.mapset import MapSet
from epir.models.folder import find_folder, weights_digest
from epir.models.seen import Seen, read_seen
from epir.models.settings import SHIPPED
from epir.recognition.calibration import (
    Calibration,
    HeldOut,
    calibrate_by_folds,
    calibrate_on_others,
    check_disjoint_people,
)
from epir.recognition.card import model_card

FOLDS = 5
STATE = ".{}-training-"  # a hidden folder beside the model to be


@dataclass(frozen=True)
class FinalModel:
    """A finished model folder, and what its folds say about it."""

    folder: Path
    clips: int
    people: int
    strict: dict[str, Any]  # scores of the grouped folds
    calibration: Calibration
    seconds: float
    evaluation: str = "strict"  # what the scores are; with --allow-seen they may be `seen in training (leaks)`


def train(
    maps: str | Path | MapSet | Sequence[str | Path | MapSet],
    *,
    protocol: str,
    out: str | Path,
    model: str = "epir",
    start: str | Path | None = None,
    training: str | None = None,
    changes: Iterable[str] = (),
    folds: int = FOLDS,
    seed: int = 0,
    run: str | Path | None = None,
    workers: int | None = None,
    calibrate_on: Sequence[str | Path | MapSet] = (),
    checkpoint: str | Path | None = None,
    note: str = "",
    half: bool = False,
    allow_seen: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> FinalModel:
    """Train one model on all clips of `maps` and write its folder; its scores are calibrated by grouped folds.

    `epir.train("maps/casme2", protocol="sde-casme2", out="models/mine")` makes a model for
    `Recognizer.from_pretrained("models/mine")`.

    The folds train the same recipe on some of the people and predict the others: their scores are strict, and the
    temperature comes from them. `run` keeps them as a run folder. With `calibrate_on`, map sets of other people, there
    are no folds: the model itself predicts those people. `start` is a model folder to start from, `note` a text that
    the model card takes over, and `half` stores the weights in half precision. A second call resumes what was stopped:
    folds and checkpoint lie in a hidden folder beside `out` until the model is complete, or where `run` and
    `checkpoint` say. People or clips who would calibrate a model that has seen them are refused, unless `allow_seen`.

    >>> from tempfile import TemporaryDirectory
    >>> from epir import Recognizer, synthetic_maps
    >>> with TemporaryDirectory() as folder:
    ...     made = train(
    ...         synthetic_maps(48, "direct"), protocol="sde", out=f"{folder}/mine", model="ststnet", folds=2, workers=1,
    ...         changes=["training.epochs=1"],
    ...     )
    ...     Recognizer.from_pretrained(made.folder).labels
    ('negative', 'positive', 'surprise')
    """
    out, progress = Path(out), progress or Silent()
    changes = [*changes, *([f"training.start={_resolved(Path(start))}"] if start is not None else [])]
    with ExitStack() as stack:
        sources = [each for each in _listed(maps) + _listed(calibrate_on) if not isinstance(each, MapSet)]
        stack.enter_context(claimed(out, MODEL, force=True, inputs=sources))
        _remove_states(out, complete=True)
        check_folder(real(out), MODEL, force=force)
        sets = stack.enter_context(opened(maps))
        clips = gather(sets, protocol)
        _refuse_pipelines(model)
        settings, recipe, _ = resolve_settings(
            model,
            training=training,
            changes=changes,
            classes=len(clips.classes),
            map_size=clips.size,
            views=clips.views,
        )
        others = gather(stack.enter_context(opened(list(calibrate_on))), protocol) if calibrate_on else None
        state = _state_folder(out, clips, others, settings, recipe, folds, seed)
        saved = Path(checkpoint) if checkpoint is not None else state / "checkpoint.safetensors"
        if others is not None:
            leaks = check_disjoint_people(clips, others, recipe.start, allow_seen=allow_seen)
            network, seconds = _train(clips, settings, recipe, seed, saved, progress)
            held_out = calibrate_on_others(
                network, others, mirror=recipe.mirror_at_prediction, shift=recipe.shift_at_prediction
            )
        else:
            count = _fitting_folds(clips, folds)
            home = Path(run) if run is not None else state / "run"
            finished = evaluate(
                sets,
                protocol=protocol,
                model=model,
                out=home,
                folds=count,
                training=training,
                changes=changes,
                allow_seen=allow_seen,
                engine=Engine(workers=workers),
                progress=progress,
            )
            held_out = calibrate_by_folds(finished, clips.classes, count, recipe.start)
            leaks = tuple(finished.environment.get("seen_in_training", ()))
            network, seconds = _train(clips, settings, recipe, seed, saved, progress)
        notes = _notes(sets, clips, recipe, held_out, seed, leaks)
        network.save_pretrained(
            out,
            labels=clips.classes,
            notes=notes,
            card=model_card(settings, clips.classes, notes, note=note),
            half=half,
            seen=_seen(clips, recipe, others),
            force=force,
        )
        _remove_states(out)
    return FinalModel(
        folder=out,
        clips=len(clips.samples),
        people=len({clip.person for clip in clips.clips}),
        strict=held_out.strict,
        calibration=held_out.calibration,
        seconds=seconds,
        evaluation=SEEN if leaks else "strict",
    )


def _resolved(start: Path) -> Path:
    return start if start == SHIPPED else real(start)


def _listed(maps: str | Path | MapSet | Sequence[str | Path | MapSet]) -> list[str | Path | MapSet]:
    return [maps] if isinstance(maps, str | Path | MapSet) else list(maps)


def _state_folder(
    out: Path,
    clips: EvaluationSet,
    others: EvaluationSet | None,
    settings: Any,
    recipe: Any,
    folds: int,
    seed: int,
) -> Path:
    """Where a training is kept until it is complete; its name says what is trained, so that no other is resumed."""
    request = {
        "maps": [clips.maps, clips.digest, clips.protocol],
        "calibration": folds if others is None else [others.maps, others.digest],
        "model": to_dict(settings),
        "training": {**to_dict(recipe), "start": weights_digest(find_folder(recipe.start)) if recipe.start else None},
        "seed": seed,
    }
    return out.parent / f"{STATE.format(out.name)}{digest(request)}"


def _remove_states(out: Path, *, complete: bool = False) -> None:
    """Remove the states of this training and of others into the same folder; with `complete`, those older than it."""
    for folder in out.parent.iterdir():
        if not folder.name.startswith(STATE.format(out.name)):
            continue
        last = max((path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()), default=0)
        if not complete or (out.exists() and out.stat().st_mtime_ns > last):
            shutil.rmtree(folder, ignore_errors=True)


def _train(
    clips: EvaluationSet, settings: Any, recipe: Any, seed: int, checkpoint: Path | None, progress: Progress
) -> tuple[Any, float]:
    from epir.core.seeds import stream_seed
    from epir.training.data import LabelledMaps
    from epir.training.train import train as train_network

    began = time.perf_counter()
    labelled = LabelledMaps.of(
        read_maps(clips.samples),
        [each.label for each in clips.samples],
        clips.classes,
        [each.clip.extra.get("action_units", "") for each in clips.samples],
    )
    own = stream_seed(seed, "final model")
    with one_thread():
        trained = train_network(settings, labelled, recipe, seed=own, checkpoint=checkpoint, progress=progress)
    return trained.model, time.perf_counter() - began


def _seen(clips: EvaluationSet, recipe: Any, others: EvaluationSet | None) -> Seen:
    """Whom the finished weights have seen, themselves and through what they started from."""
    from epir.training.replay import replayed_people

    own = Seen(
        people=frozenset(clip.person for clip in clips.clips) | replayed_people(recipe.replay, clips.classes),
        maps=frozenset(map_hashes(read_maps(clips.samples)).ravel().tolist()),
        calibrated_on=frozenset(clip.person for clip in others.clips) if others else frozenset(),
        teachers=recipe.teachers,
    )
    if recipe.start is None:
        return own
    folder = find_folder(recipe.start)
    return own.after_start(read_seen(folder), name=Path(recipe.start).name, digest=weights_digest(folder))


def _notes(
    sets: Sequence[MapSet],
    clips: EvaluationSet,
    training: Any,
    held_out: HeldOut,
    seed: int,
    leaks: Sequence[str],
) -> dict[str, Any]:
    from epir import __version__

    recipes = [dict(each.meta.get("recipe", {})) for each in sets]
    settings = to_dict(training)
    settings["start"] = Path(settings["start"]).name if settings.get("start") else None  # no paths of this machine
    people = {clip.person for clip in clips.clips}
    calibration, strict = held_out.calibration, held_out.strict
    return {
        "recipe": recipes[0] if len({each.get("digest") for each in recipes}) == 1 else _mixed(recipes),
        "temperature": calibration.temperature,
        "highest": calibration.highest,
        "threshold": calibration.threshold,
        "mirror": training.mirror_at_prediction,
        "shift": training.shift_at_prediction,
        "calibration": {**asdict(calibration), **held_out.to_notes()},
        **({"units": held_out.units} if held_out.units else {}),
        "protocol": clips.protocol,
        **({"evaluation": SEEN, "found": list(leaks)} if leaks else {}),
        ("seen_in_training" if leaks else "strict"): {
            name: strict[name] for name in ("uf1", "uar", "accuracy", "uf1_interval", "confusion")
        },
        "data": {
            "clips": len(clips.samples),
            "people": len(people),
            "corpora": dict(Counter(clip.corpus for clip in clips.clips)),
            "classes": dict(Counter(sample.label for sample in clips.samples)),
            "maps": list(clips.maps),
        },
        "training": settings,
        "seed": seed,
        "epir": __version__,
    }


def _mixed(recipes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {"name": "mixed", "recipes": list(recipes)}


def _fitting_folds(clips: EvaluationSet, folds: int) -> int:
    people = len({clip.person for clip in clips.clips})
    if folds < 2:
        raise ConfigError(f"{folds} folds hold nobody out", fix="give --folds 2 or more; 5 is usual")
    if people < 2:
        raise ProtocolError(
            "calibration needs people that training has not seen, but all clips are of one person",
            fix="give maps of two people or more",
        )
    return min(folds, people)


def _refuse_pipelines(model: str) -> None:
    from epir.models.registry import is_pipeline

    if is_pipeline(model):
        raise ConfigError(
            f"{model!r} is a pipeline of features and a linear SVM, which has no model folder",
            fix="train a network, for example --model epir",
        )
