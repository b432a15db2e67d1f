"""A corpus -> a map set: in parallel, resumable, with the same result for any number of workers."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from epir.core.config import digest
from epir.core.engines import Engine, Progress, Silent, one_thread
from epir.core.errors import ConfigError, DatasetError, EpirError, FrameError, MissingExtra, is_machine_fault
from epir.core.output import MAP_SET, claimed, put_in_place, resolved
from epir.core.records import Clip, fill_people
from epir.core.words import counted
from epir.datasets.base import NOTED, Corpus, check_corpus
from epir.faces.align import Crop
from epir.faces.finder import check_one_person, find_crop, find_turn
from epir.flow.apex import middle_apex, spot_apex
from epir.flow.map import cut_face, face_map
from epir.flow.recipe import FlowRecipe, flow_recipe
from epir.frames.reader import Frames, check_same_size, open_frames, size_of, turn_note, turned, upright
from epir.maps.contact_sheet import contact_sheets
from epir.maps.mapset import MapSet, check_labels, finish_maps, load_maps, new_maps
from epir.maps.resume import (
    FinishedClips,
    LeftOut,
    PreparedClip,
    clip_identity,
    existing_set,
    read_inputs,
    write_inputs,
    write_left_out,
)

CONTACT_SHEETS = "contact_sheets"


def prepare(
    corpus: str | Corpus | Sequence[Clip],
    root: str | Path | None,
    out: str | Path,
    *,
    size: int = 28,
    workers: int | None = None,
    engine: Engine | None = None,
    recipe: str | FlowRecipe = "epir",
    detector: str | None = None,
    apex: str | None = None,
    strict: bool = False,
    contact_sheet: bool = False,
    progress: Progress | None = None,
    force: bool = False,
    **options: Any,
) -> MapSet:
    """Make the map set of a corpus: give its name and the folder it was unpacked to, or clips already loaded.

    To run on a cluster, give an `engine` instead of `workers`: `Engine("ray", address="10.0.0.1:6379")`, with the
    corpus on a disk that all nodes see. `detector` and `apex` override these two settings of the flow recipe. A second
    call with the same settings resumes. Clips that cannot be prepared are left out and listed in `left_out.csv`;
    `strict` makes them an error. `options` go to `load_corpus` (`sheet`, `tree`, `part`).

    >>> from tempfile import TemporaryDirectory
    >>> from epir import synth
    >>> with TemporaryDirectory() as folder:
    ...     written = synth(f"{folder}/corpus", people=1, clips=1, idle=0, size=96, fps=10)
    ...     prepare("synthetic", f"{folder}/corpus", f"{folder}/maps", workers=1, detector="none")
    MapSet(1 map of 28 px, 1 person, synthetic)
    """
    progress, engine = progress or Silent(), engine or Engine(workers=workers)
    if not 4 <= size <= 512:
        raise ConfigError(f"a map cannot be {size} px wide", fix="give --size from 4 to 512; 28 is usual")
    chosen = chosen_recipe(recipe, detector, apex)
    loaded = as_corpus(corpus, root, options)
    # an existing worker process may have started in another folder
    clips = [clip if clip.frames is None else replace(clip, frames=clip.frames.absolute()) for clip in loaded.clips]
    out = Path(out)
    meta = {
        **chosen.to_meta(),
        "corpus": loaded.name,
        "sheet": loaded.sheet,
        **({"corpus_code": dict(loaded.code)} if loaded.code else {}),
        "opencv": cv2.__version__,
        "request": request_digest(chosen, size, clips),
    }

    sources = {clip.frames for clip in clips if clip.frames is not None}
    needs = 4 * len(clips) * 3 * size**2
    with claimed(out, MAP_SET, force=True, inputs=[*([root] if root is not None else []), *sources], needs=needs):
        mapset = _make_set(
            out, clips, chosen, size, meta, loaded, engine=engine, strict=strict, force=force, progress=progress
        )
        if contact_sheet:
            contact_sheets(mapset, chosen, out / CONTACT_SHEETS, progress=progress)
    return mapset


def _make_set(
    out: Path,
    clips: Sequence[Clip],
    chosen: FlowRecipe,
    size: int,
    meta: Mapping[str, Any],
    corpus: Corpus,
    *,
    engine: Engine,
    strict: bool,
    force: bool,
    progress: Progress,
) -> MapSet:
    """Prepare the missing clips and those that have changed, and write the complete set to `out`."""
    mapset = existing_set(out, chosen, size, meta["request"], force=force)
    finished = FinishedClips(out, request_digest(chosen, size, ()))
    known, earlier = read_inputs(mapset), set() if mapset is None else {clip.key for clip in mapset.clips}
    done = {clip.key for clip in clips if clip.key in earlier and finished.is_unchanged(clip, known.get(clip.key, ""))}
    unusable = corpus.unusable
    missing = [clip for clip in clips if clip.key not in {*done, *unusable} and finished.get(clip) is None]
    finished.warn_if_stale()
    task = f"preparing {corpus.name}"
    reasons = {clip.key: clip for clip in prepare_clips(missing, chosen, size, finished, engine, progress, task=task)}
    reasons |= {
        clip.key: LeftOut(
            clip.corpus, clip.subject, clip.clip, unusable[clip.key], "correct that cell of the annotation"
        )
        for clip in clips
        if clip.key in unusable
    }
    left_out = [reasons[clip.key] for clip in clips if clip.key in reasons]
    check_left_out(left_out, len(clips), strict=strict)

    if mapset is None or not ({clip.key for clip in clips} - reasons.keys() == done == earlier):
        mapset = write_set(out, clips, mapset, finished, left_out, meta)
    finished.remove()
    return mapset


def chosen_recipe(recipe: str | FlowRecipe, detector: str | None, apex: str | None) -> FlowRecipe:
    """The flow recipe, with its face detector and apex policy replaced if they are not `None`."""
    changes = {"face.detector": detector, "apex": apex}
    return flow_recipe(recipe, [f"{setting}={value}" for setting, value in changes.items() if value is not None])


def as_corpus(corpus: str | Corpus | Sequence[Clip], root: str | Path | None, options: Mapping[str, Any]) -> Corpus:
    """The corpus to prepare; it is an error if its clips or its people cannot be told apart."""
    if isinstance(corpus, str):
        from epir.datasets.registry import load_corpus

        if root is None:
            raise DatasetError(f"the folder of {corpus} is missing", fix="give the folder into which it was unpacked")
        corpus = load_corpus(corpus, root, **options)
    if not isinstance(corpus, Corpus):
        corpus = Corpus("clips", Path(root or "."), "", fill_people(tuple(corpus), error=DatasetError))
    if corpus.layout:  # the same for every clip
        raise DatasetError(
            corpus.layout, fix=f"arrange {corpus.root} that way; epir check {corpus.name} says what is there"
        )
    check_corpus(corpus)
    if not corpus.clips:
        raise DatasetError(f"{corpus.name} holds no clips", fix="run epir check to see what is there")
    keys = [clip.key for clip in corpus.clips]
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise DatasetError(f"the clip {twice} is listed twice", fix="give each clip of a subject its own name")
    check_labels(corpus.clips)
    noted: dict[str, list[str]] = {}
    for defect in corpus.faults:
        if defect.kind in NOTED:
            noted.setdefault(defect.clip, []).append(defect.problem)
    clips = (
        replace(clip, extra={**clip.extra, "notes": "; ".join(noted[clip.key])}) if clip.key in noted else clip
        for clip in corpus.clips
    )
    return replace(corpus, clips=tuple(clips))


def request_digest(recipe: FlowRecipe, size: int, clips: Sequence[Clip]) -> str:
    """A digest of the flow recipe, the map size, the clips and their annotations."""
    rows = [
        [
            clip.key,
            clip.emotion,
            clip.onset,
            clip.apex,
            clip.offset,
            clip.fps,
            str(clip.frames and clip.frames.absolute()),
        ]
        for clip in clips
    ]
    return digest({"recipe": recipe.digest, "size": size, "clips": rows})


def prepare_clips(
    clips: Sequence[Clip],
    recipe: FlowRecipe,
    size: int,
    finished: FinishedClips,
    engine: Engine,
    progress: Progress,
    *,
    task: str,
) -> list[LeftOut]:
    """Prepare the clips into `finished`; returns those left out, in the order of the clips."""
    if not clips:
        return []
    reasons: dict[str, LeftOut] = {}
    progress.start(task, len(clips))
    for key, result in engine.run(prepare_one, clips, recipe, size, files=_files):
        if isinstance(result, LeftOut):
            reasons[key] = result
        else:
            finished.add(result)
        progress.advance(note=f"{key} left out" if key in reasons else key)
    progress.finish()
    return [reasons[clip.key] for clip in clips if clip.key in reasons]


def check_left_out(left_out: Sequence[LeftOut], clips: int, *, strict: bool) -> None:
    """Raise an error if every clip is left out, or any with `strict`; finished clips stay for the next call."""
    if not left_out or not (strict or len(left_out) == clips):
        return
    first = left_out[0]
    count = "none of" if len(left_out) == clips else f"{len(left_out)} of"
    could = "could be" if len(left_out) == clips else "could not be"
    raise DatasetError(
        f"{count} {counted(clips, 'clip')} {could} prepared; {first.key}: {first.problem}", fix=first.fix
    )


def _files(clip: Clip) -> list[Path]:
    """The files that a node of a cluster needs."""
    return [] if clip.frames is None else [clip.frames]


def prepare_one(clip: Clip, recipe: FlowRecipe, size: int) -> tuple[str, PreparedClip | LeftOut]:
    """Prepare one clip; if that fails, the reason is returned, so that the other clips go on."""
    with one_thread():
        try:
            identity = clip_identity(clip)
            return clip.key, replace(prepare_clip(clip, recipe, size), identity=identity)
        except (MissingExtra, ConfigError):  # the same for every clip
            raise
        except (EpirError, OSError, cv2.error) as error:
            if is_machine_fault(error):
                raise  # the next clip would fail too
            return clip.key, LeftOut.because(clip, error)


def prepare_clip(clip: Clip, recipe: FlowRecipe, size: int = 28) -> PreparedClip:
    """The map of one clip, from its onset and apex; the face is detected on the onset."""
    if clip.frames is None:
        raise FrameError(f"the clip {clip.key} has no frames", fix="run epir check to see what is missing")
    with open_frames(clip.frames) as opened:
        onset, offset = onset_and_offset(clip, opened)
        notes = [*filter(None, [clip.extra.get("notes")]), *opened.inspect(onset, offset)]
        first = opened.read(onset)
        turns = find_turn(first, recipe.face)
        frames, before = upright(opened, turns), turned(first, turns)
        crop = find_crop(before, recipe.face)
        apex, source = apex_of(clip, frames, onset, offset, crop, recipe)
        after = frames.read(apex)
        check_same_size(onset, size_of(before), apex, size_of(after))
        check_one_person(onset, before, apex, after, crop, recipe.face)
        crop_after = find_crop(after, recipe.face) if recipe.face.frames == "both" else crop
        faces = cut_face(before, crop, recipe), cut_face(after, crop_after, recipe)
        fps = frames.fps if clip.fps is None else clip.fps
        notes += [*frames.notes, *turn_note(turns)]
    columns = {"frames": str(clip.frames.absolute()), "crop": crop.to_text(), "apex_source": source}
    columns |= {"turned": str(turns)} if turns else {}
    columns |= {"notes": "; ".join(notes)} if notes else {}
    done = replace(clip, onset=onset, apex=apex, offset=offset, fps=fps, extra={**clip.extra, **columns})
    return PreparedClip(done, face_map(*faces, recipe, size))


def onset_and_offset(clip: Clip, frames: Frames) -> tuple[int, int]:
    """The annotated onset and offset, or else the first and last frame."""
    onset = frames.numbers[0] if clip.onset is None else clip.onset
    offset = frames.numbers[-1] if clip.offset is None else clip.offset
    return onset, offset


def apex_of(clip: Clip, frames: Frames, onset: int, offset: int, crop: Crop, recipe: FlowRecipe) -> tuple[int, str]:
    """The apex and its source: `annotated`, or else `spotted` or `middle`, as the flow recipe says.

    An apex at the onset shows no motion; it counts as not annotated.
    """
    if clip.apex is not None and clip.apex != onset:
        if clip.apex < onset:
            raise FrameError(
                f"the apex {clip.apex} is before the onset {onset}", fix="correct onset and apex in the annotation"
            )
        return clip.apex, "annotated"
    if recipe.apex == "middle":
        return middle_apex(frames, onset, offset), "middle"
    return spot_apex(frames, onset, offset, crop), "spotted"


def write_set(
    out: Path,
    clips: Sequence[Clip],
    already: MapSet | None,
    finished: FinishedClips,
    left_out: Sequence[LeftOut],
    meta: Mapping[str, Any],
) -> MapSet:
    """Assemble the finished clips in the order of the corpus, and move the set to `out` in one step."""
    absent = {clip.key for clip in left_out}
    kept = [clip for clip in clips if clip.key not in absent]
    earlier = {} if already is None else {clip.key: place for place, clip in enumerate(already.clips)}
    known = read_inputs(already)
    new = finished.folder / "new"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    rows: list[Clip] = []
    identities: dict[str, str] = {}
    maps: np.memmap | None = None
    for clip in kept:
        done = finished.get(clip)
        if done is None:
            assert already is not None, f"{clip.key} is neither finished nor left out"
            place = earlier[clip.key]
            done = PreparedClip(already.clips[place], already.maps[place], known.get(clip.key, ""))
        if maps is None:
            shape = (len(kept), *done.map.shape)
            maps = new_maps(new / "maps.npy", shape)
        maps[len(rows)] = done.map
        rows.append(done.clip)
        identities[clip.key] = done.identity
    assert maps is not None, "check_left_out raises if there is no map"
    maps.flush()
    del maps
    write_left_out(new, left_out)
    write_inputs(new, identities)
    finish_maps(new, rows, recipe=meta)
    put_in_place(new, resolved(out), MAP_SET)  # replaces this set with fewer clips, or any set with --force
    return load_maps(out, verify=False)
