"""Map sets -> one final model: trained on all clips, calibrated on people it has not seen."""

import shutil
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from epir.core.config import digest, to_dict
from epir.core.engines import Engine, Progress, Silent, one_thread
from epir.core.errors import ConfigError, EpirWarning, ProtocolError
from epir.core.output import MODEL, check_folder, claimed, resolved
from epir.core.seeds import stream_seed
from epir.evaluation.experiment import Resolved, resolve_settings
from epir.evaluation.fold import labelled_maps
from epir.evaluation.run import as_list, evaluate, opened
from epir.evaluation.samples import EvaluationSet, gather, read_maps
from epir.evaluation.store import SEEN
from epir.final.calibration import (
    Calibration,
    HeldOut,
    calibrate_by_folds,
    calibrate_on_others,
    check_disjoint_people,
)
from epir.final.card import model_card
from epir.maps.copies import fingerprints, map_hashes
from epir.maps.mapset import MapSet
from epir.models.folder import find_folder, read_config, weights_digest
from epir.models.network import Network
from epir.models.registry import AnyModel, Method, find_method
from epir.models.seen import SYNTHETIC, Seen, read_seen
from epir.models.settings import SHIPPED
from epir.training.recipe import TrainingSettings
from epir.training.train import fit, new_network

FOLDS = 5
STATE = ".{}-training-"  # prefix of the hidden folder next to the unfinished model
CHECKPOINT = "checkpoint.safetensors"  # in that folder
REQUEST = "request"  # key in the notes of a model folder: a digest of maps and settings


@dataclass(frozen=True)
class FinalModel:
    """A finished model folder, with the scores and calibration of its folds."""

    folder: Path
    clips: int
    people: int
    strict: dict[str, Any]  # scores of the grouped folds
    calibration: Calibration
    seconds: float
    evaluation: str = "strict"  # or `seen in training (leaks)`, with --allow-seen


def train(
    maps: str | Path | MapSet | Sequence[str | Path | MapSet],
    *,
    protocol: str,
    out: str | Path,
    model: AnyModel = "epir",
    start: str | Path | None = None,
    training: str | None = None,
    changes: Iterable[str] = (),
    folds: int = FOLDS,
    seed: int = 0,
    run: str | Path | None = None,
    workers: int | None = None,
    calibrate_on: Sequence[str | Path | MapSet] = (),
    note: str = "",
    half: bool = False,
    allow_seen: bool = False,
    force: bool = False,
    progress: Progress | None = None,
) -> FinalModel:
    """Train one model on all clips of `maps`, calibrate its scores by grouped folds, and write its folder.

    `epir.train("maps/casme2", protocol="sde-casme2", out="models/mine")` trains a model for
    `Recognizer.from_pretrained("models/mine")`.

    The folds train the same recipe on some of the people and predict the others: their scores are strict, and the
    temperature is fitted on them. `run` keeps them as a run folder. With `calibrate_on`, map sets of other people, the
    model itself predicts those people, without folds. `start` is a model folder to start from, `note` a text for the
    model card, and `half` stores the weights in half precision.

    A second call resumes an interrupted training: folds and checkpoint are kept in a hidden folder next to `out` until
    the model is complete. A complete model is returned unchanged. If the model has seen the people or clips that would
    calibrate it, an error is raised unless `allow_seen`.

    >>> from tempfile import TemporaryDirectory
    >>> from epir import Recognizer, synthetic_maps
    >>> with TemporaryDirectory() as folder:
    ...     final = train(
    ...         synthetic_maps(48, "direct"), protocol="sde", out=f"{folder}/mine", model="ststnet", folds=2, workers=1,
    ...         changes=["training.epochs=1"],
    ...     )
    ...     Recognizer.from_pretrained(final.folder).labels
    ('negative', 'positive', 'surprise')
    """
    out, progress, changes = Path(out), progress or Silent(), list(changes)
    if start is not None:
        changes.append(f"training.start={start if Path(start) == SHIPPED else resolved(Path(start))}")
    with ExitStack() as stack:
        sources = [source for source in as_list(maps) + as_list(calibrate_on) if not isinstance(source, MapSet)]
        stack.enter_context(claimed(out, MODEL, force=True, inputs=sources))
        complete = None if force else _request_of(out)
        if complete is None:
            _remove_states(out, complete=True)
            check_folder(resolved(out), MODEL, force=force)
        sets = stack.enter_context(opened(maps))
        others = gather(stack.enter_context(opened(list(calibrate_on))), protocol) if calibrate_on else None
        plan = _make_plan(gather(sets, protocol), others, find_method(model), training, changes, folds, seed)
        request = digest([plan.request(), note, half, allow_seen])
        if complete == request:
            _remove_states(out)
            warnings.warn(
                f"{out} is already complete with these maps and settings; --force trains it again",
                EpirWarning,
                stacklevel=2,
            )
            return _read_final(out, seconds=0.0)
        check_folder(resolved(out), MODEL, force=force)
        state = out.parent / f"{STATE.format(out.name)}{plan.request()}"
        if others is None:
            finished = evaluate(
                sets, protocol=protocol, model=plan.chosen.method, out=state / "run" if run is None else run,
                folds=_fold_count(plan.clips, folds), training=training, changes=changes, allow_seen=allow_seen,
                engine=Engine(workers=workers), progress=progress,
            )  # fmt: skip
            leaks = tuple(finished.environment.get("seen_in_training", ()))
            held_out = calibrate_by_folds(finished, plan.recipe.start)
            network, seconds = plan.train(state / CHECKPOINT, progress)
        else:
            leaks = check_disjoint_people(plan.clips, others, plan.recipe.start, allow_seen=allow_seen)
            network, seconds = plan.train(state / CHECKPOINT, progress)
            held_out = calibrate_on_others(network, others, **plan.recipe.views)
        notes = {**plan.notes(sets, held_out, leaks), REQUEST: request}
        labels, seen = plan.clips.classes, plan.seen()
        card = model_card(plan.chosen.model, labels, notes, note=note)
        network.save_pretrained(out, labels=labels, notes=notes, card=card, half=half, seen=seen, force=force)
        _remove_states(out)
    return _read_final(out, seconds=seconds)


def _make_plan(
    clips: EvaluationSet,
    others: EvaluationSet | None,
    method: Method,
    training: str | None,
    changes: Sequence[str],
    folds: int,
    seed: int,
) -> "_TrainingPlan":
    """Resolve the settings of this training for its clips."""
    if method.kind == "estimator":
        raise ConfigError(
            f"{method.name!r} is an estimator, which has no weights for a model folder",
            fix="train a network, for example --model epir",
        )
    chosen = resolve_settings(
        method, training=training, changes=changes, classes=len(clips.classes), map_size=clips.size
    )
    recipe = replace(chosen.training, start=chosen.start)
    return _TrainingPlan(replace(clips, learns_units=recipe.action_units > 0), others, chosen, recipe, folds, seed)


@dataclass(frozen=True, eq=False)
class _TrainingPlan:
    """The model, its training clips, and the people to calibrate on."""

    clips: EvaluationSet
    others: EvaluationSet | None  # people to calibrate on; None: grouped folds
    chosen: Resolved
    recipe: TrainingSettings  # with the folder it starts from
    folds: int
    seed: int

    def request(self) -> str:
        """Return a digest of the plan, so that no other training is resumed."""
        recipe, start = to_dict(self.recipe), self.recipe.start
        request = {
            "maps": [self.clips.maps, self.clips.digest, self.clips.protocol],
            "calibration": self.folds if self.others is None else [self.others.maps, self.others.digest],
            "model": to_dict(self.chosen.model),
            "training": {**recipe, "start": weights_digest(find_folder(start)) if start else None},
            "seed": self.seed,
        }
        if self.chosen.method.source is not None:
            request["source"] = to_dict(self.chosen.method.source)
        return digest(request)

    def train(self, checkpoint: Path, progress: Progress) -> tuple[Network, float]:
        """Train the network on all clips; return it and the seconds it took."""
        began = time.perf_counter()
        clips = labelled_maps(self.clips.samples, self.clips.classes)
        seed = stream_seed(self.seed, "final model")
        with one_thread():
            network = new_network(self.chosen.model, self.chosen.method, seed=seed)
            fit(
                network, clips, self.recipe, start=self.chosen.start, seed=seed,
                checkpoint=checkpoint, progress=progress,
            )  # fmt: skip
        return network, time.perf_counter() - began

    def seen(self) -> Seen:
        """Return the record of the training people, including those of the initial weights."""
        clips, recipe = self.clips, self.recipe
        maps = read_maps(clips.samples)
        is_real = [clip.corpus != SYNTHETIC for clip in clips.clips]
        directly = Seen(
            people=frozenset(clip.person for clip in clips.clips),
            maps=frozenset(map_hashes(maps).tolist()),
            fingerprints=frozenset(map(tuple, fingerprints(maps[is_real]).tolist())),
            calibrated_on=frozenset(clip.person for clip in self.others.clips) if self.others else frozenset(),
            teachers=recipe.teachers,
        )
        if recipe.start is None:
            return directly
        folder = find_folder(recipe.start)
        return directly.after_start(read_seen(folder), name=Path(recipe.start).name, digest=weights_digest(folder))

    def notes(self, sets: Sequence[MapSet], held_out: HeldOut, leaks: Sequence[str]) -> dict[str, Any]:
        """Return the notes for `config.json`."""
        from epir import __version__

        clips, calibration, strict = self.clips, held_out.calibration, held_out.strict
        recipes = [dict(mapset.meta.get("recipe", {})) for mapset in sets]
        is_same = len({recipe.get("digest") for recipe in recipes}) == 1
        training = to_dict(self.recipe)
        training["start"] = Path(training["start"]).name if training.get("start") else None  # no local paths
        return {
            "recipe": recipes[0] if is_same else {"name": "mixed", "recipes": recipes},
            "temperature": calibration.temperature,
            "highest": calibration.highest,
            "threshold": calibration.threshold,
            **self.recipe.views,
            "calibration": {**asdict(calibration), **held_out.to_notes()},
            **({"units": held_out.units} if held_out.units else {}),
            "protocol": clips.protocol,
            **({"evaluation": SEEN, "found": list(leaks)} if leaks else {}),
            ("seen_in_training" if leaks else "strict"): {
                name: strict[name] for name in ("uf1", "uar", "accuracy", "uf1_interval", "confusion")
            },
            "data": {
                "clips": len(clips.samples),
                "people": len({clip.person for clip in clips.clips}),
                "corpora": dict(Counter(clip.corpus for clip in clips.clips)),
                "classes": dict(Counter(sample.label for sample in clips.samples)),
                "maps": list(clips.maps),
            },
            "training": training,
            "seed": self.seed,
            "epir": __version__,
        }


def _request_of(out: Path) -> str | None:
    """Return the request digest of the model folder at `out`, or None."""
    if not (out / "config.json").exists():
        return None
    request = read_config(out).notes.get(REQUEST)
    return None if request is None else str(request)


def _read_final(folder: Path, *, seconds: float) -> FinalModel:
    """Read a complete model from the notes of its folder."""
    notes = read_config(folder).notes
    names = [field.name for field in fields(Calibration)]
    return FinalModel(
        folder=folder,
        clips=notes["data"]["clips"],
        people=notes["data"]["people"],
        strict=notes["strict"] if "strict" in notes else notes["seen_in_training"],
        calibration=Calibration(**{name: notes["calibration"][name] for name in names}),
        seconds=seconds,
        evaluation=notes.get("evaluation", "strict"),
    )


def _remove_states(out: Path, *, complete: bool = False) -> None:
    """Remove the hidden folders of every training into `out`; with `complete`, only those older than the model."""
    for folder in out.parent.iterdir():
        if not folder.name.startswith(STATE.format(out.name)):
            continue
        last = max((path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()), default=0)
        if not complete or (out.exists() and out.stat().st_mtime_ns > last):
            shutil.rmtree(folder, ignore_errors=True)


def _fold_count(clips: EvaluationSet, folds: int) -> int:
    people = len({clip.person for clip in clips.clips})
    if folds < 2:
        raise ConfigError(f"--folds must be at least 2, not {folds}", fix="give --folds 5, as is usual")
    if people < 2:
        raise ProtocolError(
            "calibration needs people outside the training set, but all clips are of one person",
            fix="give maps of two people or more",
        )
    return min(folds, people)
