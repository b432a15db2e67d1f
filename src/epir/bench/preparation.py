"""How many clips one core prepares per second: two key frames of 640 x 480 px each, as `epir prepare` does it."""

import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import cv2
import numpy as np

from epir.bench.ratio import Ratio, seconds_each
from epir.core.records import Clip
from epir.flow.recipe import FLOW_RECIPES, FlowRecipe, flow_recipe
from epir.frames.threads import one_thread
from epir.maps.prepare import prepare_clip
from epir.synthetic.clip import draw_frame
from epir.synthetic.corpus import CorpusSettings, plan_corpus, portrait_of
from epir.synthetic.identity import draw_identity
from epir.synthetic.moving import MovingFace

WIDTH, HEIGHT = 640, 480  # px
CLIPS_PER_SECOND = 25  # at least, on one core


def measure(*, quick: bool = False) -> list[Ratio]:
    """Clips per second of one core, for each flow recipe that can be computed here."""
    rounds = 5 if quick else 15
    with tempfile.TemporaryDirectory() as folder, one_thread():
        clip = draw_clip(Path(folder))
        work = {name: preparing(clip, recipe) for name, recipe in FLOW_RECIPES.items() if is_installed(recipe)}
        seconds = seconds_each(work, rounds=rounds)
    return [
        Ratio(
            f"clips per second and core, {name}",
            1.0 / spent,
            CLIPS_PER_SECOND if name == flow_recipe().name else None,
            f"{WIDTH} x {HEIGHT} px, two key frames, {1000 * spent:.1f} ms per clip",
        )
        for name, spent in seconds.items()
    ]


def is_installed(recipe: FlowRecipe) -> bool:
    """Whether the flow method is there: `tvl1` is an extra."""
    return recipe.flow.method != "tvl1" or find_spec("skimage") is not None


def preparing(clip: Clip, recipe: FlowRecipe) -> Callable[[], object]:
    """The work of one clip: read two pictures, find the face, compute the map."""
    return lambda: prepare_clip(clip, recipe)


def draw_clip(folder: Path) -> Clip:
    """A clip of a synthetic face in `folder`: onset and apex as jpg pictures of 640 x 480 px."""
    settings = CorpusSettings(people=1, clips=1, idle=0, size=HEIGHT)
    (plan,) = plan_corpus(settings)
    assert plan.course is not None
    portrait = portrait_of(settings.seed, plan.subject, settings.size)
    face = MovingFace(portrait, draw_identity(settings.seed, plan.subject).geometry, plan.movement)
    side = (WIDTH - HEIGHT) // 2
    for number in (plan.course.onset, plan.course.apex):
        frame = cv2.copyMakeBorder(draw_frame(plan, face, number), 0, 0, side, side, cv2.BORDER_REPLICATE)
        cv2.imwrite(str(folder / f"img{number}.jpg"), cv2.cvtColor(np.ascontiguousarray(frame), cv2.COLOR_RGB2BGR))
    return Clip("synthetic", plan.subject, plan.name, plan.emotion, plan.course.onset, plan.course.apex, frames=folder)
