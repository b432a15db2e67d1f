"""A synthetic corpus on disk: its settings, frame folders, an annotation sheet, and on request the true flow.

    OUT/annotations.csv        one row per clip, as `epir check synthetic` reads it
    OUT/corpus.toml            every setting needed to make the same corpus again
    OUT/README.md              a data card in the format of the Hugging Face hub
    OUT/people.png             everyone's neutral face
    OUT/motion.png             one expression of each emotion: onset, apex, exaggerated, true flow
    OUT/001/001_01/img0001.jpg the frames of the first clip of the first person
    OUT/truth/001/001_01.npz   its true flow from onset to apex, (H, W, 2) float32 in pixels, and the visible layers

A clip depends only on the seed and its name, so any number of workers writes the same bytes.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import cv2
import numpy as np

from epir import __version__
from epir.core.config import check_known, write_toml
from epir.core.engines import Engine, Progress, Silent, one_thread
from epir.core.errors import ConfigError
from epir.core.files import csv_text
from epir.core.output import CORPUS, new_folder
from epir.core.seeds import generator
from epir.flow.colour import draw_arrows, flow_to_colour
from epir.synthetic.clip import FIRST, ClipPlan, check_frame_rate, draw_frame, plan_clip
from epir.synthetic.drawing.canvas import Canvas
from epir.synthetic.drawing.portrait import Portrait, draw_portrait
from epir.synthetic.expressions import emotions
from epir.synthetic.identity import draw_identity
from epir.synthetic.moving import MovingFace, State
from epir.synthetic.nuisance import IDLE, Kind, Nuisances

SMALLEST, LARGEST = 96, 2048  # px
MOST_CLIPS = 1_000_000
SHEET = "annotations.csv"
COLUMNS = (
    "clip", "subject", "emotion", "frames", "onset", "apex", "offset", "fps",
    "kind", "action_units", "amplitudes", "intensity", "blinks", "person",
)  # fmt: skip
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))  # the names of the hub
GAP, TITLE = 4, 20  # px
MOST_FACES = 48
FACE, CROP = 136, 144  # px of a tile
FINE = 2  # tiles are drawn this many times larger, then averaged
EXAGGERATED = 3.0  # times the real motion
PANELS = ("onset", "apex", "exaggerated", "true flow", "as colours")


@dataclass(frozen=True)
class CorpusSettings:
    """The people, clips and frames of a synthetic corpus."""

    people: int = 12
    clips: int = 9  # with an expression, per person
    idle: int = 3  # without an expression, per person: still, blinking and turning in turn
    classes: int = 3
    size: int = 480  # px: width and height of a frame
    fps: float = 200.0
    rest: float = 0.07  # seconds of rest before the onset and after the offset, on average
    seed: int = 0
    picture: Literal["jpg", "png"] = "jpg"
    quality: int = 92  # of jpg
    truth: bool = False  # also write the true flow from onset to apex
    nuisances: Nuisances = field(default_factory=Nuisances)

    def __post_init__(self) -> None:
        if self.people < 1:
            raise ConfigError(
                f"--people must be at least 1, not {self.people}", fix="give --people 1 or more; 12 is usual"
            )
        if self.clips < 0 or self.idle < 0 or self.clips + self.idle < 1:
            raise ConfigError(
                f"--clips and --idle must be 0 or more and not both 0, not {self.clips} and {self.idle}",
                fix="give --clips 1 or more; 9 is usual",
            )
        if self.people * (self.clips + self.idle) > MOST_CLIPS:
            raise ConfigError(
                f"{self.people} people with {self.clips + self.idle} clips each are too many",
                fix=f"ask for {MOST_CLIPS} clips or fewer, for example --people 12",
            )
        emotions(self.classes)
        if not SMALLEST <= self.size <= LARGEST:
            raise ConfigError(
                f"a frame cannot be {self.size} px wide", fix=f"give --size from {SMALLEST} to {LARGEST}; 480 is usual"
            )
        check_frame_rate(self.fps)
        if not 0 <= self.rest <= 60:
            raise ConfigError(f"rest cannot be {self.rest:g} seconds", fix="give 0 to 60 seconds")
        check_known(self.picture, ("jpg", "png"), section="picture", what="choice")
        if not 1 <= self.quality <= 100:
            raise ConfigError(
                f"the jpg quality cannot be {self.quality}", fix="give --quality from 1 to 100; 92 is usual"
            )


@dataclass(frozen=True)
class Written:
    """A written corpus and its counts."""

    folder: Path
    people: int
    clips: int
    frames: int


def synth(
    out: str | Path, *, workers: int = 1, force: bool = False, progress: Progress | None = None, **settings: Any
) -> Written:
    """Write a corpus of synthetic faces: `epir.synth("corpora/synthetic", people=4, clips=6, fps=100)`.

    `settings` are those of `CorpusSettings`. `load_corpus("synthetic", out)` and `prepare("synthetic", out, "maps")`
    read it; `synthetic_maps` makes maps without frames.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     written = synth(f"{folder}/corpus", people=1, clips=2, idle=0, size=96, fps=10)
    >>> written.people, written.clips
    (1, 2)
    """
    for name in settings:
        check_known(name, [each.name for each in fields(CorpusSettings)], what="setting")
    return write_corpus(out, CorpusSettings(**settings), workers=workers, force=force, progress=progress)


def write_corpus(
    out: str | Path,
    settings: CorpusSettings | None = None,
    *,
    workers: int = 1,
    force: bool = False,
    progress: Progress | None = None,
) -> Written:
    """Write a synthetic corpus to the folder `out` atomically."""
    settings, progress, out = settings or CorpusSettings(), progress or Silent(), Path(out)
    with new_folder(out, CORPUS, force=force, needs=least_size(settings)) as folder:
        plans = plan_corpus(settings)
        progress.start("drawing clips", len(plans))
        for plan in Engine(workers=workers).run(write_clip, plans, settings, folder, in_order=True):
            progress.advance(note=plan.name)
        progress.finish()
        write_sheet(folder / SHEET, plans, settings.seed)
        write_toml(settings, folder / "corpus.toml")
        (folder / "README.md").write_text(data_card(settings, plans), encoding="utf-8")
        with one_thread():
            write_picture(folder / "people.png", people_sheet(settings.seed, subjects(settings)))
            write_picture(folder / "motion.png", motion_sheet(settings.seed, plans))
    return Written(out, settings.people, len(plans), sum(plan.frames for plan in plans))


def least_size(settings: CorpusSettings) -> int:
    """The minimum size of a corpus in bytes: a tenth of a second per clip, a thirtieth of a byte per pixel."""
    frames = settings.people * (settings.clips + settings.idle) * max(2, int(settings.fps * 0.1))
    return frames * settings.size**2 // 30


def subjects(settings: CorpusSettings) -> tuple[str, ...]:
    """The names of the people; the same name is the same person in a corpus of any size."""
    return tuple(f"{number:03d}" for number in range(1, settings.people + 1))


def plan_corpus(settings: CorpusSettings) -> tuple[ClipPlan, ...]:
    """Every clip of the corpus, person by person."""
    return tuple(plan for place, name in enumerate(subjects(settings)) for plan in _plan_person(settings, place, name))


def _plan_person(settings: CorpusSettings, place: int, subject: str) -> Iterator[ClipPlan]:
    words = emotions(settings.classes)
    kinds: list[tuple[Kind, str]] = [
        ("expression", words[(place * settings.clips + number) % len(words)]) for number in range(settings.clips)
    ]
    kinds += [(IDLE[number % len(IDLE)], "") for number in range(settings.idle)]
    order = generator(settings.seed, "order", subject).permutation(len(kinds))
    geometry = draw_identity(settings.seed, subject).geometry
    for number, index in enumerate(order, start=1):
        kind, emotion = kinds[index]
        yield plan_clip(
            settings.seed,
            subject,
            f"{subject}_{number:02d}",
            geometry=geometry,
            kind=kind,
            classes=settings.classes,
            emotion=emotion,
            fps=settings.fps,
            rest=settings.rest,
            nuisances=settings.nuisances,
        )


def write_clip(plan: ClipPlan, settings: CorpusSettings, folder: Path) -> ClipPlan:
    """Draw one clip into the corpus folder."""
    place = folder / frames_of(plan)
    place.mkdir(parents=True)
    with one_thread():
        portrait = portrait_of(settings.seed, plan.subject, settings.size)
        face = MovingFace(portrait, draw_identity(settings.seed, plan.subject).geometry, plan.movement)
        for number in plan.numbers:
            path = place / f"img{number:04d}.{settings.picture}"
            write_picture(path, draw_frame(plan, face, number), settings.quality)
        if settings.truth and plan.course is not None:
            write_truth(folder / "truth" / plan.subject / f"{plan.name}.npz", plan, face)
    return plan


def write_truth(path: Path, plan: ClipPlan, face: MovingFace) -> None:
    """Write the true flow from onset to apex, and the visible layer at each pixel of the onset."""
    assert plan.course is not None
    onset, apex = plan.state(plan.course.onset), plan.state(plan.course.apex)
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, flow=face.true_flow(onset, apex), layer=face.visible(onset))


@lru_cache(maxsize=2)
def portrait_of(seed: int, subject: str, size: int) -> Portrait:
    """The portrait of a person at a frame size; cached, since clips of one person follow each other."""
    return draw_portrait(draw_identity(seed, subject), Canvas.frame(size))


def frames_of(plan: ClipPlan) -> str:
    """The folder of a clip's frames within the corpus."""
    return f"{plan.subject}/{plan.name}"


def write_sheet(path: Path, plans: Sequence[ClipPlan], seed: int) -> None:
    """Write the annotation sheet; its column `person` distinguishes people of different seeds."""
    path.write_text(csv_text(COLUMNS, (_row(plan, seed) for plan in plans)), encoding="utf-8")


def _row(plan: ClipPlan, seed: int) -> list[object]:
    course, expression = plan.course, plan.expression
    key_frames = [course.onset, course.apex, course.offset] if course else ["", "", ""]
    shown = [expression.units, expression.amplitudes, f"{plan.intensity:.3f}"] if expression else ["", "", ""]
    blinks = " ".join(f"{FIRST + first}-{FIRST + last}" for first, last in plan.disturbances.blinks)
    return [
        plan.name,
        plan.subject,
        plan.emotion,
        frames_of(plan),
        *key_frames,
        f"{plan.fps:g}",
        plan.kind,
        *shown,
        blinks,
        f"synthetic/s{seed}-{plan.subject}",
    ]


def write_picture(path: Path, picture: np.ndarray, quality: int = 92) -> None:
    """Write an RGB picture in the format of the path's extension: png, or jpg of this quality."""
    options = [cv2.IMWRITE_JPEG_QUALITY, quality] if path.suffix == ".jpg" else [cv2.IMWRITE_PNG_COMPRESSION, 6]
    done, content = cv2.imencode(path.suffix, cv2.cvtColor(picture, cv2.COLOR_RGB2BGR), options)
    assert done, "OpenCV can write jpg and png"
    path.write_bytes(content.tobytes())


def people_sheet(seed: int, names: Sequence[str]) -> np.ndarray:
    """The neutral faces of the first `MOST_FACES` people."""
    canvas = Canvas.frame(FINE * FACE)
    return tile([shrink(draw_portrait(draw_identity(seed, name), canvas).flat()) for name in names[:MOST_FACES]])


def motion_sheet(seed: int, plans: Sequence[ClipPlan]) -> np.ndarray:
    """One row per emotion: its clearest clip, from onset to apex."""
    shown = [plan for plan in plans if plan.expression]
    clearest = {plan.emotion: plan for plan in sorted(shown, key=_clearness)}
    rows = [motion_row(seed, clearest[emotion]) for emotion in sorted(clearest)]
    return np.vstack(rows) if rows else np.full((GAP, GAP, 3), 255, np.uint8)


def _clearness(plan: ClipPlan) -> tuple[bool, float]:
    """A sort key: two-sided expressions above one-sided ones, then by intensity."""
    assert plan.expression
    return not set("LR") & set(plan.expression.units), plan.intensity


def motion_row(seed: int, plan: ClipPlan) -> np.ndarray:
    """The pictures of one expression side by side, without head motion and noise, under a title."""
    assert plan.expression and plan.movement
    identity = draw_identity(seed, plan.subject)
    face = MovingFace(draw_portrait(identity, Canvas.crop(FINE * CROP)), identity.geometry, plan.movement)
    apex = State(intensity=plan.intensity)
    most = min(EXAGGERATED * plan.intensity, 0.95 / plan.movement.steepness())
    onset, shown, exaggerated = (shrink(face.render(s)) for s in (State(), apex, State(intensity=most)))
    flow = cv2.resize(face.true_flow(State(), apex), (CROP, CROP), interpolation=cv2.INTER_AREA)
    row = tile([onset, shown, exaggerated, draw_arrows(onset, flow), flow_to_colour(flow)], columns=len(PANELS))
    titled = np.full((TITLE + row.shape[0] + GAP, row.shape[1], 3), 255, np.uint8)
    titled[TITLE:-GAP] = row
    words = [f"{plan.emotion} ({plan.expression.units})", *PANELS[1:]]
    for number, word in enumerate(words):
        place = (number * (CROP + GAP) + 2, TITLE - 6)
        cv2.putText(titled, word, place, cv2.FONT_HERSHEY_SIMPLEX, 0.4, (60, 60, 60), 1, cv2.LINE_AA)
    return titled


def tile(pictures: Sequence[np.ndarray], columns: int | None = None) -> np.ndarray:
    """Arrange pictures of one size in rows on white."""
    columns = columns or min(len(pictures), 6 if len(pictures) <= 24 else 8)
    height, width = pictures[0].shape[:2]
    rows = -(-len(pictures) // columns)
    sheet = np.full((rows * (height + GAP) - GAP, columns * (width + GAP) - GAP, 3), 255, np.uint8)
    for number, picture in enumerate(pictures):
        top, left = number // columns * (height + GAP), number % columns * (width + GAP)
        sheet[top : top + height, left : left + width] = picture
    return sheet


def shrink(values: np.ndarray) -> np.ndarray:
    """Scale a picture of displayed values 0..1 down to its tile, uint8."""
    size = values.shape[0] // FINE
    return (
        (np.clip(cv2.resize(values, (size, size), interpolation=cv2.INTER_AREA), 0, 1) * 255).round().astype(np.uint8)
    )


def data_card(settings: CorpusSettings, plans: Sequence[ClipPlan]) -> str:
    """The data card: what the corpus holds, how it was made, and its limits."""
    size = next((name for limit, name in SIZES if len(plans) < limit), "100K<n<1M")
    counts = Counter(plan.emotion for plan in plans)
    rows = "\n".join(f"| {name} | {count} |" for name, count in sorted(counts.items()))
    return f"""---
license: apache-2.0
task_categories:
- video-classification
tags:
- micro-expression
- facial-expression
- facial-action-units
- optical-flow
- synthetic
pretty_name: Synthetic micro-expressions of epir
size_categories:
- {size}
---

# Synthetic micro-expressions

{len(plans)} clips of {settings.people} synthetic people: drawn faces whose skin moves as action units move it, so that
onset, apex, offset, units and (with `truth`) the flow of every pixel are known. Made by epir {__version__}.
`corpus.toml` holds every setting and the seed; the same settings make the same bytes.

| emotion | clips |
|---|---|
{rows}

{settings.size} x {settings.size} px, {settings.fps:g} frames a second. `annotations.csv` has one row per clip: its
folder of frames, subject, emotion, onset, apex, offset, action units and their amplitudes.

    epir check synthetic THIS_FOLDER
    epir prepare synthetic THIS_FOLDER --out maps

## Limits

Drawn faces are not photographs: skin, light and head motion are simpler than in any recording, and the emotion of a
clip is a rule over its action units, not what a person felt. Use it to test programs, to train first weights and to
teach; numbers measured on it say nothing about real people.

## Personal data

None: no picture or recording of a person was used to draw them.
"""
