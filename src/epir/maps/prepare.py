"""A corpus -> a map set: many clips at once, taken up again after a kill, the same for any number of workers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cv2

from epir.core.config import digest
from epir.core.errors import ConfigError, DatasetError
from epir.core.progress import Progress, Silent
from epir.core.records import Clip
from epir.datasets.base import Corpus
from epir.flow.recipe import Recipe, get_recipe
from epir.maps.assembly import write_set
from epir.maps.contact_sheet import contact_sheets
from epir.maps.existing import existing_set
from epir.maps.finished import FinishedClips
from epir.maps.left_out import LeftOut
from epir.maps.mapset import MapSet
from epir.maps.workers import work_off

CONTACT_SHEETS = "contact_sheets"


def prepare(
    corpus: str | Corpus | Sequence[Clip],
    root: str | Path | None,
    out: str | Path,
    *,
    size: int = 28,
    workers: int | None = None,
    recipe: str | Recipe = "epir",
    detector: str | None = None,
    apex: str | None = None,
    strict: bool = False,
    contact_sheet: bool = False,
    progress: Progress | None = None,
    force: bool = False,
    **options: Any,
) -> MapSet:
    """Make the map set of a corpus: its name and the folder it was unpacked to, or clips that are loaded already.

    `detector` and `apex` change these two choices of the recipe. A second call with the same settings does only what is
    missing. Clips that cannot be prepared are left out and listed in `left_out.csv`; `strict` makes them an error.
    `options` go to `load_corpus` (`sheet`, `tree`, `part`).
    """
    progress = progress or Silent()
    if not 4 <= size <= 512:
        raise ConfigError(f"a map cannot be {size} px wide", fix="give --size from 4 to 512; 28 is usual")
    if workers is not None and workers < 1:
        raise ConfigError(f"{workers} workers cannot work", fix="give --workers 1 or more")
    chosen = chosen_recipe(recipe, detector, apex)
    name, sheet, clips = corpus_clips(corpus, root, options)
    out = Path(out)
    meta = {
        **chosen.to_meta(),
        "corpus": name,
        "sheet": sheet,
        "opencv": cv2.__version__,
        "request": request_digest(chosen, size, clips),
    }

    already = existing_set(out, chosen, size, meta["request"], force=force)
    finished = FinishedClips(out, meta["request"])
    done = set() if already is None else {clip.key for clip in already.clips}
    missing = [clip for clip in clips if clip.key not in done and finished.get(clip.key) is None]
    left_out = prepare_clips(missing, chosen, size, finished, workers, progress, task=f"preparing {name}")
    refuse_left_out(left_out, len(clips), strict=strict)

    if already is None or len(clips) - len(left_out) > len(done):
        already = write_set(out, clips, already, finished, left_out, meta)
    finished.remove()
    if contact_sheet:
        contact_sheets(already, chosen, out / CONTACT_SHEETS, progress=progress)
    return already


def chosen_recipe(recipe: str | Recipe, detector: str | None, apex: str | None) -> Recipe:
    """The recipe with the two choices that are often changed alone."""
    changes = {"face.detector": detector, "apex": apex}
    return get_recipe(recipe, [f"{setting}={value}" for setting, value in changes.items() if value is not None])


def corpus_clips(
    corpus: str | Corpus | Sequence[Clip], root: str | Path | None, options: Mapping[str, Any]
) -> tuple[str, str, tuple[Clip, ...]]:
    """Name, version of the annotations and clips of what is to be prepared."""
    if isinstance(corpus, str):
        from epir.datasets.registry import load_corpus

        if root is None:
            raise DatasetError(f"where {corpus} is was not said", fix="give the folder into which it was unpacked")
        corpus = load_corpus(corpus, root, **options)
    name, sheet, clips = "clips", "", tuple(corpus.clips if isinstance(corpus, Corpus) else corpus)
    if isinstance(corpus, Corpus):
        name, sheet = corpus.name, corpus.sheet
    if not clips:
        raise DatasetError(f"{name} holds no clips", fix="run epir check to see what is there")
    keys = [clip.key for clip in clips]
    if len(set(keys)) < len(keys):
        twice = next(key for key in keys if keys.count(key) > 1)
        raise DatasetError(f"the clip {twice} is listed twice", fix="give each clip of a subject its own name")
    return name, sheet, clips


def request_digest(recipe: Recipe, size: int, clips: Sequence[Clip]) -> str:
    """A name for what is asked for: equal for the same recipe, map size, clips and annotations."""
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
    recipe: Recipe,
    size: int,
    finished: FinishedClips,
    workers: int | None,
    progress: Progress,
    *,
    task: str,
) -> list[LeftOut]:
    """Prepare the clips into `finished`; gives back those that are left out, in the order of the clips."""
    if not clips:
        return []
    reasons: dict[str, LeftOut] = {}
    progress.start(task, len(clips))
    for clip, reason in work_off(clips, recipe, size, finished, workers):
        if reason is not None:
            reasons[clip.key] = reason
        progress.advance(note=clip.key if reason is None else f"{clip.key} left out")
    progress.finish()
    return [reasons[clip.key] for clip in clips if clip.key in reasons]


def refuse_left_out(left_out: Sequence[LeftOut], clips: int, *, strict: bool) -> None:
    """Stop if every clip is left out, or any under `strict`; finished clips are kept for the next call."""
    if not left_out or not (strict or len(left_out) == clips):
        return
    first = left_out[0]
    count = "none of the" if len(left_out) == clips else f"{len(left_out)} of the"
    could = "could be" if len(left_out) == clips else "could not be"
    raise DatasetError(f"{count} {clips} clips {could} prepared; {first.key}: {first.problem}", fix=first.fix)
