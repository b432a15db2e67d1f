"""Speed of the model, its ONNX export, the preparation of clips, and the folds of an evaluation.

The model is compared with the machine's rate of matrix multiplication: float32, 2048 x 2048, one thread.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

import cv2
import numpy as np
import torch
from torch import Tensor, nn

from epir.bench.suite import Ratio
from epir.core.engines import Engine, cores, one_thread
from epir.core.records import Clip
from epir.evaluation.experiment import Experiment
from epir.evaluation.fold import FoldInputs, FoldJob, FoldRecord, run_job
from epir.evaluation.run import fold_jobs
from epir.evaluation.samples import gather
from epir.final.export import export
from epir.flow.recipe import FLOW_RECIPES, FlowRecipe, flow_recipe
from epir.maps.mapset import save_maps
from epir.maps.prepare import prepare_clip
from epir.models.epir import Epir
from epir.models.network import Network
from epir.models.predict import OnnxBackend
from epir.models.registry import create_model, model_settings
from epir.models.settings import preset
from epir.reports.tables import model_cost
from epir.synthetic.clip import draw_frame
from epir.synthetic.corpus import CorpusSettings, plan_corpus, portrait_of
from epir.synthetic.identity import draw_identity
from epir.synthetic.moving import MovingFace
from epir.training.recipe import TrainingSettings

SIDE = 2048  # of the matrices
BATCH = 64
VIEWS = 10  # of one map: five places and the mirror image of each
WIDTH, HEIGHT = 640, 480  # px
CLIPS_PER_SECOND = 25  # target on one core
CLIPS = 4  # per person
FOLDS = 4
CLASSES = ("negative", "positive", "surprise")


def measure_model(*, quick: bool = False) -> list[Ratio]:
    """The paper's model compared with matrix multiplication, HTNet and a plain Vision Transformer."""
    rounds = 3 if quick else 12
    with one_thread():
        return [*near_the_limit(rounds), *one_answer(rounds), *many_tokens(rounds)]


def near_the_limit(rounds: int) -> list[Ratio]:
    """Training step and forward pass at batch 64, as shares of the matrix multiplication rate."""
    model, trained, maps = Epir().eval(), Epir(), torch.randn(BATCH, 3, 28, 28)
    cost = model_cost(model_settings("epir"))
    assert cost is not None, "a network"
    multiply_adds = cost.multiply_accumulates * BATCH
    a, b = torch.randn(SIDE, SIDE), torch.randn(SIDE, SIDE)
    seconds = seconds_each(
        {"matrix": lambda: a @ b, "forward": predicting(model, maps), "step": training_step(trained, maps)},
        rounds=rounds,
    )
    rate = SIDE**3 / seconds["matrix"]
    step = 3 * multiply_adds / seconds["step"] / rate  # the backward pass multiplies twice as much
    forward = multiply_adds / seconds["forward"] / rate
    detail = f"share of the matrix rate of {rate / 1e9:.0f} G multiply-adds/s, batch {BATCH}"
    return [
        Ratio("training step", step, 0.55, detail),
        Ratio("forward", forward, None, f"share of the matrix rate, batch {BATCH}"),
    ]


def one_answer(rounds: int) -> list[Ratio]:
    """The time for the ten views of one map, which an answer averages, compared with HTNet."""
    maps = torch.randn(VIEWS, 3, 28, 28)
    seconds = seconds_each({name: predicting(create_model(name), maps) for name in ("epir", "htnet")}, rounds=rounds)
    detail = f"{1000 * seconds['epir']:.0f} ms against {1000 * seconds['htnet']:.0f} ms"
    return [Ratio(f"htnet / epir, one answer of {VIEWS} views", seconds["htnet"] / seconds["epir"], 5.0, detail)]


def many_tokens(rounds: int) -> list[Ratio]:
    """The gain from merging tokens on a 112 x 112 map, which has 256."""
    sizes = {"map_size": 112, "integration": 0.3}
    models = {"epir": Epir(preset("epir", **sizes)), "vit": Epir(preset("vit", map_size=112))}
    maps = torch.randn(4, 3, 112, 112)
    forward = seconds_each({name: predicting(m, maps) for name, m in models.items()}, rounds=rounds)
    step = seconds_each({name: training_step(m, maps) for name, m in models.items()}, rounds=max(2, rounds // 2))
    detail = "112 px map, integration 30 %"
    return [
        Ratio("vit / epir, 256 tokens, forward", forward["vit"] / forward["epir"], 1.15, detail),
        Ratio("vit / epir, 256 tokens, training", step["vit"] / step["epir"], 1.15, detail),
    ]


def predicting(model: nn.Module, maps: Tensor) -> Callable[[], None]:
    """A forward pass in eager mode, ready to be timed."""
    model.eval()

    def run() -> None:
        with torch.inference_mode():
            model(maps)

    return run


def training_step(model: Network, maps: Tensor) -> Callable[[], None]:
    """A training step as in `epir.training.fit`: forward, backward, AdamW."""
    labels = torch.arange(len(maps)) % 3
    optimiser = torch.optim.AdamW(model.parameters(), fused=True)

    model.train()

    def run() -> None:
        loss = model.loss(maps, labels)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()

    return run


def measure_onnx(*, quick: bool = False) -> list[Ratio]:
    """How many times faster the exported model is, in float32 and with eight bits."""
    model, views = Epir().eval(), torch.randn(VIEWS, 3, 28, 28)
    work: dict[str, Callable[[], object]] = {"eager": predicting(model, views)}
    with TemporaryDirectory(prefix="epir-bench-") as place, one_thread():
        folder = Path(place)
        model.save_pretrained(folder / "model")
        for name, int8 in (("onnx", False), ("onnx int8", True)):
            exported = export(folder / "model", folder / f"{name}.onnx", int8=int8)
            work[name] = partial(OnnxBackend(exported.path).run, np.ascontiguousarray(views.numpy()))
        seconds = seconds_each(work, rounds=8 if quick else 40, calls=3)
    eager = seconds.pop("eager")
    return [
        Ratio(
            f"eager / {name}, one answer of {VIEWS} views",
            eager / each,
            2.0 if "int8" in name else None,
            f"{1000 * each:.1f} ms against {1000 * eager:.1f} ms",
        )
        for name, each in seconds.items()
    ]


def measure_preparation(*, quick: bool = False) -> list[Ratio]:
    """Clips per second and core, for each flow recipe whose method is installed."""
    rounds = 5 if quick else 15
    with TemporaryDirectory() as folder, one_thread():
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
    """Whether the flow method is installed; `tvl1` is an extra."""
    return recipe.flow.method != "tvl1" or find_spec("skimage") is not None


def preparing(clip: Clip, recipe: FlowRecipe) -> Callable[[], object]:
    """Prepare one clip: read two pictures, find the face, compute the map."""
    return lambda: prepare_clip(clip, recipe)


def draw_clip(folder: Path) -> Clip:
    """Draw a clip of a synthetic face in `folder`: onset and apex as jpg pictures of 640 x 480 px."""
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


def measure_folds(*, quick: bool = False) -> list[Ratio]:
    """The gain from a second worker, the share of a fold spent training, and the speed compared with HTNet."""
    people, epochs, rounds = (10, 1, 1) if quick else (40, 4, 3)
    with TemporaryDirectory(prefix="epir-bench-") as folder:
        jobs, inputs = _jobs(Path(folder) / "maps", people, epochs)
        _timed(*_jobs(Path(folder) / "few", 4, 1), workers=2)  # warm-up: starts the processes
        one, two = float("inf"), float("inf")
        records: list[FoldRecord] = []
        for _ in range(rounds):
            seconds, records = _timed(jobs, inputs, workers=1)
            one = min(one, seconds)
            two = min(two, _timed(jobs, inputs, workers=2)[0])
        htnet_jobs, htnet_inputs = _jobs(Path(folder) / "htnet", people, 1, model="htnet")
        (htnet_record,) = _timed(htnet_jobs[:1], htnet_inputs, workers=1)[1]
    training = sum(record.training_seconds for record in records)
    share = training / sum(record.seconds for record in records)
    clips = (people - 1) * CLIPS
    detail = f"{FOLDS} folds of {clips} training clips, {epochs} epochs: {one:.1f} s and {two:.1f} s"
    epir = 1000 * training / (FOLDS * epochs * clips)
    htnet = 1000 * htnet_record.training_seconds / clips
    return [
        Ratio("one worker / two workers", one / two, 1.85 if cores() >= 2 else None, detail),
        Ratio("training / fold", share, 0.95, f"{epir:.1f} ms per training clip and epoch"),
        Ratio("htnet / epir, training of a fold", htnet / epir, 5.0, f"{htnet:.1f} ms per training clip and epoch"),
    ]


def _timed(jobs: Sequence[FoldJob], inputs: FoldInputs, *, workers: int) -> tuple[float, list[FoldRecord]]:
    began = time.perf_counter()
    records = list(Engine(workers=workers).run(run_job, jobs, inputs))
    return time.perf_counter() - began, records


def _jobs(folder: Path, people: int, epochs: int, *, model: str = "epir") -> tuple[list[FoldJob], FoldInputs]:
    random = np.random.default_rng(0)
    clips = [
        Clip("synthetic", f"{person:02d}", f"clip{number}", CLASSES[number % 3])
        for person in range(people)
        for number in range(CLIPS)
    ]
    maps = random.normal(size=(len(clips), 3, 28, 28)).astype(np.float32)
    gathered = gather([save_maps(folder, maps, clips, recipe={"name": "noise"})], "sde")
    experiment = Experiment("sde", CLASSES, model_settings(model), TrainingSettings(epochs=epochs))
    return fold_jobs(gathered, experiment)[:FOLDS], FoldInputs(experiment, gathered.samples)


def seconds_each(
    work: Mapping[str, Callable[[], object]], *, rounds: int, warm_up: int = 2, calls: int = 1
) -> dict[str, float]:
    """Processor seconds per call of each function.

    The functions take turns, so that a busy machine slows all of them. The result is the mean of the fastest tenth of
    the rounds, at least one: disturbances only add time, but a single short round may be fast by chance.
    """
    for function in work.values():
        for _ in range(warm_up):
            function()
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds):
        for name, function in work.items():
            began = time.process_time()
            for _ in range(calls):
                function()
            times[name].append((time.process_time() - began) / calls)
    return {name: mean(sorted(seconds)[: max(1, rounds // 10)]) for name, seconds in times.items()}
