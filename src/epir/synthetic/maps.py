"""Maps of synthetic faces for training, in any number and without writing frames.

Each map has its own random stream, named by the seed and the map's number. So any number of workers makes the same
maps, and the first thousand of ten thousand maps equal a set of one thousand. A recipe is a flow recipe (`epir`, ...),
optionally with changes (`epir:flow.method=dis,flow.context=0.125`), or `direct`: the displacement field itself
(`direct.py`). Several recipes alternate from person to person.

Axes: n maps, S map size
"""

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from epir.core.config import digest, to_dict
from epir.core.engines import Engine, Progress, Silent, one_thread
from epir.core.errors import ConfigError
from epir.core.output import MAP_SET, new_folder
from epir.core.records import Clip
from epir.core.seeds import generator
from epir.flow.map import face_map, flow_to_map
from epir.flow.recipe import FlowRecipe, flow_recipe
from epir.maps.mapset import CHANNELS, FORMAT, MapSet, finish_maps, load_maps, new_maps
from epir.synthetic.clip import STEEPEST, draw_course, expose
from epir.synthetic.direct import DirectSettings, direct_flow
from epir.synthetic.drawing.canvas import Canvas
from epir.synthetic.drawing.portrait import Portrait, draw_portrait
from epir.synthetic.expressions import Expression, Tables, draw_expression, emotions
from epir.synthetic.identity import Geometry, Identity, draw_identity
from epir.synthetic.movement import SkinMovement, draw_movement
from epir.synthetic.moving import MovingFace, State
from epir.synthetic.variation import USUAL, Preprocessing, Variation, draw_preprocessing, draw_share, jpeg_compressed

DIRECT = "direct"
MOST_MAPS = 10_000_000
PER_PERSON = 8  # maps of one person
CHUNK = 8  # people per job
FPS = 200.0
INTENSITY = (0.10, 0.75)  # face units
BLINK, BLINK_SURPRISE = 0.30, 0.12
ROOM = 0.14  # margin around the crop, as a share of it, for head motion
LID_GAP = 2.1  # face units between the lids of an open eye


@dataclass(frozen=True)
class MapSettings:
    """How many maps to make, and of what kind."""

    count: int
    recipes: tuple[str, ...] = ("epir",)
    size: int = 28
    classes: int = 3
    seed: int = 0
    shares: tuple[float, ...] = ()  # frequency of each emotion, in the order of `emotions`; by default equal
    tables: Tables = "annotated"  # of units and expressions; the shipped weights were trained on `textbook`
    direct: DirectSettings = field(default_factory=DirectSettings)
    variation: Variation = field(default_factory=Variation)

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ConfigError(f"--maps must be at least 1, not {self.count}", fix="give --maps 1 or more")
        if self.count > MOST_MAPS:
            raise ConfigError(f"{self.count} maps are too many", fix=f"give --maps {MOST_MAPS} or fewer; 6000 is usual")
        if not 4 <= self.size <= 512:
            raise ConfigError(f"a map cannot be {self.size} px wide", fix="give --size from 4 to 512; 28 is usual")
        if not self.recipes:
            raise ConfigError("no flow recipe is given", fix="give one, for example --recipe epir")
        words = emotions(self.classes)
        if self.shares and (len(self.shares) != len(words) or not all(0 < share < np.inf for share in self.shares)):
            raise ConfigError(
                f"--shares cannot be {','.join(f'{share:g}' for share in self.shares)} for {', '.join(words)}",
                fix=f"give {len(words)} numbers above 0, in that order",
            )
        for name in self.recipes:
            find_recipe(name)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of all maps, (n, 3, S, S)."""
        return self.count, 3, self.size, self.size


def find_recipe(name: str | FlowRecipe) -> FlowRecipe:
    """The flow recipe of this name, with changes after a colon; `direct` computes strain as `epir` does."""
    if isinstance(name, FlowRecipe):
        return name
    base, _, changes = name.partition(":")
    if base.strip() == DIRECT:
        return replace(flow_recipe("epir", [c for c in changes.split(",") if c]), name=DIRECT)
    try:
        recipe = flow_recipe(base.strip(), [change for change in changes.split(",") if change])
    except ConfigError as error:
        raise ConfigError(error.problem, fix=f"{error.fix}; or {DIRECT!r}, the field itself") from None
    return replace(recipe, name=name) if changes else recipe


def read_shares(text: str | None) -> tuple[float, ...]:
    """Parse shares as the user writes them: `250,109,83`."""
    try:
        return tuple(float(part) for part in (text or "").split(",") if part.strip())
    except ValueError:
        raise ConfigError(
            f"cannot read --shares {text!r}", fix="give numbers separated by commas, for example 250,109,83"
        ) from None


def synthetic_maps(
    count: int,
    recipe: str | Sequence[str] = "epir",
    *,
    seed: int = 0,
    classes: int = 3,
    size: int = 28,
    workers: int = 1,
    progress: Progress | None = None,
) -> MapSet:
    """Make a map set in memory, with equally frequent classes and one or several recipes.

    >>> synthetic_maps(24, "direct", seed=1)
    MapSet(24 maps of 28 px, 3 people, synthetic)
    """
    recipes = (recipe,) if isinstance(recipe, str) else tuple(recipe)
    settings = MapSettings(count, recipes, size, classes, seed)
    return make_maps(settings, workers=workers, progress=progress)


def make_maps(settings: MapSettings, *, workers: int = 1, progress: Progress | None = None) -> MapSet:
    """Make a map set in memory."""
    maps = np.empty(settings.shape, np.float32)
    clips = fill(maps, settings, workers=workers, progress=progress or Silent())
    content = hashlib.sha256(maps.tobytes()).hexdigest()
    meta = {"format": FORMAT, "size": settings.size, "channels": list(CHANNELS), "digest": content}
    return MapSet(maps=maps, clips=clips, meta={**meta, "recipe": recipe_meta(settings)})


def write_maps(
    out: str | Path, settings: MapSettings, *, workers: int = 1, force: bool = False, progress: Progress | None = None
) -> MapSet:
    """Make a map set on disk, which may be larger than memory."""
    out = Path(out)
    with new_folder(out, MAP_SET, force=force, needs=4 * math.prod(settings.shape)) as folder:
        maps = new_maps(folder / "maps.npy", settings.shape)
        clips = fill(maps, settings, workers=workers, progress=progress or Silent())
        maps.flush()
        finish_maps(folder, clips, recipe=recipe_meta(settings))
    return load_maps(out, verify=False)


def fill(maps: np.ndarray, settings: MapSettings, *, workers: int, progress: Progress) -> tuple[Clip, ...]:
    """Make maps into an array of the settings' shape, and return their clips."""
    people = -(-settings.count // PER_PERSON)
    chunks = [range(start, min(start + CHUNK, people)) for start in range(0, people, CHUNK)]
    clips: list[Clip] = []
    progress.start("making maps", settings.count)
    for part in Engine(workers=workers).run(make_chunk, chunks, settings, in_order=True):
        for pixels, clip in part:
            maps[len(clips)] = pixels
            clips.append(clip)
        progress.advance(len(part))
    progress.finish()
    return tuple(clips)


def recipe_meta(settings: MapSettings) -> dict[str, Any]:
    """The recipe and settings of the maps, for meta.json."""
    recipes = [find_recipe(name).to_meta() for name in settings.recipes]
    recipe = recipes[0] if len(recipes) == 1 else {"name": "mixed", "recipes": recipes, "digest": digest(recipes)}
    shares = {"shares": list(settings.shares)} if settings.shares else {}
    varied = {"variation": to_dict(settings.variation)} if settings.variation != Variation() else {}
    meta = {"corpus": "synthetic", "seed": settings.seed, "classes": settings.classes, "tables": settings.tables}
    return {**recipe, **meta, **shares, **varied}


def make_chunk(people: Iterable[int], settings: MapSettings) -> list[tuple[np.ndarray, Clip]]:
    """The maps of these people, each with its clip."""
    with one_thread():
        return [pair for person in people for pair in _make_person(person, settings)]


def _make_person(person: int, settings: MapSettings) -> Iterable[tuple[np.ndarray, Clip]]:
    subject = f"s{settings.seed}-{person + 1:06d}"  # people of different seeds are different people
    name = settings.recipes[person % len(settings.recipes)]
    recipe = find_recipe(name)
    identity = draw_identity(settings.seed, subject)
    preprocessing = draw_preprocessing(settings.variation, settings.seed, subject)
    portrait = None if recipe.name == DIRECT else draw_crop(identity, recipe, preprocessing)
    words = emotions(settings.classes)
    first = person * PER_PERSON
    for number in range(first, min(first + PER_PERSON, settings.count)):
        random = generator(settings.seed, "map", number)
        emotion = words[number % len(words)]
        if settings.shares:
            emotion = words[int(random.choice(len(words), p=np.array(settings.shares) / sum(settings.shares)))]
        expression = draw_expression(settings.classes, emotion, random, settings.tables)
        movement = draw_movement(expression.active_units, identity.geometry, random, settings.tables)
        intensity = float(np.exp(random.uniform(*np.log(INTENSITY))))
        blink = BLINK_SURPRISE if emotion == "surprise" else BLINK
        share = draw_share(settings.variation, settings.seed, number)
        if portrait is None:
            flow = direct_flow(
                settings.size,
                identity.geometry,
                movement,
                blink=blink,
                intensity=intensity,
                random=random,
                settings=settings.direct,
                preprocessing=preprocessing,
                share=share,
            )
            pixels = flow_to_map(flow, recipe, settings.size)
        else:
            intensity = share * min(intensity, STEEPEST / movement.steepness())
            onset, apex = photograph_pair(
                portrait, identity.geometry, movement, intensity, blink, recipe, random, preprocessing=preprocessing
            )
            pixels = face_map(onset, apex, recipe, settings.size)
        yield pixels, _clip(subject, number, expression, intensity, name, random)


def _clip(
    subject: str, number: int, expression: Expression, intensity: float, recipe: str, random: np.random.Generator
) -> Clip:
    course = draw_course(FPS, 1, random)
    return Clip(
        corpus="synthetic",
        subject=subject,
        clip=f"{number + 1:07d}",
        emotion=expression.emotion,
        onset=course.onset,
        apex=course.apex,
        offset=course.offset,
        fps=FPS,
        extra={
            "action_units": expression.units,
            "amplitudes": expression.amplitudes,
            "intensity": f"{intensity:.3f}",
            "recipe": recipe,
        },
    )


def draw_crop(identity: Identity, recipe: FlowRecipe, preprocessing: Preprocessing = USUAL) -> Portrait:
    """Draw a person's face crop as a recipe takes it, with a margin for head motion."""
    border = recipe.flow.border + round(ROOM * recipe.flow.size)
    return draw_portrait(
        identity, Canvas.crop(recipe.flow.size, border, zoom=preprocessing.zoom, shift=preprocessing.shift)
    )


def photograph_pair(
    portrait: Portrait,
    geometry: Geometry,
    movement: SkinMovement,
    intensity: float,
    blink: float,
    recipe: FlowRecipe,
    random: np.random.Generator,
    *,
    preprocessing: Preprocessing = USUAL,
) -> tuple[np.ndarray, np.ndarray]:
    """The crops of onset and apex as `face_map` takes them, (h, h, 3) uint8; the light changes in between.

    Only the compression of `preprocessing` is used here: the portrait already has its crop.
    """
    states = draw_states(intensity, blink, random)
    noise = float(random.uniform(0.3, 2.0))
    dark, slope = random.normal(0, 0.004), random.uniform(0, 0.03)
    change = np.array([dark, *(slope * random.uniform(-1, 1, 2))], dtype=np.float32)
    room = round(ROOM * recipe.flow.size)
    face = MovingFace(portrait, geometry, movement)

    def photograph(state: State, light: np.ndarray) -> np.ndarray:
        picture = expose(face.render(state), light, noise, portrait.canvas, random)[room:-room, room:-room]
        return jpeg_compressed(np.ascontiguousarray(picture), preprocessing.quality)

    return photograph(states[0], 0 * change), photograph(states[1], change)


def draw_states(intensity: float, blink: float, random: np.random.Generator) -> tuple[State, State]:
    """The face at onset and apex: a random pose, then the expression with a little head motion, gaze and blinks."""
    before = State(
        shift_x=float(np.clip(random.normal(0, 0.5), -1.5, 1.5)),
        shift_y=float(np.clip(random.normal(-0.2, 0.9), -1.8, 1.6)),
        roll=float(np.clip(random.normal(0, 0.03), -0.08, 0.08)),
        size=float(np.clip(random.normal(1, 0.045), 0.92, 1.1)),
        yaw=float(random.normal(0, 0.03)),
        pitch=float(random.normal(0, 0.03)),
        gaze_x=float(random.normal(0, 0.2)),
        gaze_y=float(random.normal(0, 0.1)),
    )
    head = float(np.exp(random.uniform(np.log(0.02), np.log(0.35)))) * intensity
    shift_x, shift_y = random.normal(0, 0.125, 2) + random.normal(0, 0.3, 2) * head
    looks = random.normal(0, (0.5, 0.3), 2) * intensity * (random.random() < 0.15)
    after = replace(
        before,
        intensity=intensity,
        shift_x=before.shift_x + float(shift_x),
        shift_y=before.shift_y + float(shift_y),
        roll=before.roll + float(random.normal(0, 0.05) * head),
        size=before.size + float(random.normal(0, 0.036) * head),
        yaw=before.yaw + float(random.normal(0, 0.05) * head),
        pitch=before.pitch + float(random.normal(0, 0.05) * head),
        gaze_x=before.gaze_x + float(looks[0]),
        gaze_y=before.gaze_y + float(looks[1]),
    )
    if random.random() < blink:
        closure = float(np.clip(random.uniform(0.3, 1.6) * intensity / LID_GAP, 0, 0.95))
        if random.random() < 0.75:
            return before, replace(after, closure=closure)
        return replace(before, closure=closure), after
    return before, after
