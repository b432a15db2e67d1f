"""The example clips of the page: synthetic faces rendered by the server, identical on every machine."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epir.core.config import check_known
from epir.core.engines import Progress

if TYPE_CHECKING:
    import numpy as np

    from epir.synthetic.clip import ClipPlan

SIZE, FPS, REST = 320, 100.0, 0.45  # px, frames per second, seconds of rest before and after


@dataclass(frozen=True)
class SyntheticExample:
    """A synthetic clip; with the emotion `none` it only blinks."""

    name: str
    title: str
    emotion: str
    seed: int
    subject: str


EXAMPLES = (
    SyntheticExample("smile", "A brief smile", "positive", 66, "001"),
    SyntheticExample("frown", "A frown", "negative", 96, "001"),
    SyntheticExample("surprise", "Raised eyebrows", "surprise", 84, "001"),
    SyntheticExample("blink", "Only a blink", "none", 15, "001"),
)
BY_NAME = {example.name: example for example in EXAMPLES}


def list_examples() -> list[dict[str, Any]]:
    """Name, title, emotion, frame rate and length of each example."""
    return [
        {
            "name": example.name,
            "title": example.title,
            "truth": example.emotion,
            "fps": FPS,
            "frames": plan_example(example).frames,
        }
        for example in EXAMPLES
    ]


def plan_example(example: SyntheticExample) -> "ClipPlan":
    """The plan of the clip, before rendering."""
    from epir.synthetic.clip import plan_clip
    from epir.synthetic.identity import draw_identity
    from epir.synthetic.nuisance import Nuisances

    return plan_clip(
        example.seed,
        example.subject,
        example.name,
        geometry=draw_identity(example.seed, example.subject).geometry,
        kind="blinking" if example.emotion == "none" else "expression",
        classes=3,
        emotion=example.emotion,
        fps=FPS,
        rest=REST,
        nuisances=Nuisances(blink=0.0, gaze=0.0),
    )


def example_video(name: str, folder: Path, progress: Progress) -> Path:
    """The video of an example in `folder`; renders it if it does not exist."""
    from epir.frames.film import write_film

    check_known(name, BY_NAME, what="example")
    path = folder / f"{name}.webm"
    return path if path.exists() else write_film(path, render_frames(BY_NAME[name], progress), FPS)


def render_frames(example: SyntheticExample, progress: Progress) -> Iterator["np.ndarray"]:
    """The frames of an example, (SIZE, SIZE, 3) uint8 RGB."""
    from epir.synthetic.clip import draw_frame
    from epir.synthetic.corpus import portrait_of
    from epir.synthetic.identity import draw_identity
    from epir.synthetic.moving import MovingFace

    plan = plan_example(example)
    geometry = draw_identity(example.seed, example.subject).geometry
    face = MovingFace(portrait_of(example.seed, example.subject, SIZE), geometry, plan.movement)
    progress.start("rendering", plan.frames)
    for number in plan.numbers:
        yield draw_frame(plan, face, number)
        progress.advance()
    progress.finish()
