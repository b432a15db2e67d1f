"""How a model is trained: every choice of a recipe, and the recipes that have names.

`strict` is the default for the paper's model: it starts from the weights that ship with epir, which have seen invented
people only, and is taught by small networks that have learnt from the same clips (`training.tutors`). `scratch` starts
from random weights, with what a network needs when it has a few hundred clips and nobody may look at the held-out
person. `peer` is the same for the small convolutional networks of others, which need a higher rate and more epochs.
`paper` is the recipe that the paper prints.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from epir.core.config import refuse_unknown
from epir.core.errors import ConfigError


@dataclass(frozen=True)
class TrainingSettings:
    """One recipe; the defaults are those of `scratch`."""

    name: str = "scratch"
    epochs: int = 20
    batch: int = 32
    optimiser: Literal["adam", "adamw"] = "adamw"
    lr: float = 2e-4
    weight_decay: float = 0.05
    schedule: Literal["constant", "cosine"] = "cosine"
    warmup: float = 0.1  # share of all steps in which the rate rises from nothing
    mirror: float = 0.5  # chance that a clip is seen in the mirror
    shift: int = 2  # largest shift in pixels, edges replicated
    turn: float = 0.0  # degrees: largest turn of the face in the map
    zoom: float = 0.0  # largest change of the face's size, as a share of it, and half as much of its proportions
    blur: float = 0.0  # chance that a batch is blurred, by 0.3 to 0.9 pixels
    noise: float = 0.2  # in deviations of each channel of each map
    smoothing: float = 0.1  # of the labels
    gradient_limit: float = 1.0  # largest norm of a step's gradient; 0: no limit
    class_weights: bool = False  # rare classes count as much as common ones, by the fold's own training clips
    action_units: float = 0.0  # weight of telling the annotated action units too; 0: they are not used
    averaging: Literal["none", "ema", "last"] = "ema"  # fixed beforehand: nothing is chosen by a score
    decay: float = 0.98  # of `ema`, per step
    last: int = 5  # epochs that `last` averages
    mirror_at_prediction: bool = True  # the answer is the mean over a map and its mirror image
    shift_at_prediction: int = 0  # pixels: ... and over its copies moved by so many in each direction; 0: none
    start: Path | None = None  # a model folder whose weights training starts from; `shipped`: that of epir itself
    keep: float = 0.0  # share of the starting weights in those that training delivers, fixed beforehand
    company: int = 0  # synthetic clips of which each batch takes in as many as it has clips of its own; 0: none
    tutors: int = 0  # small networks, trained beforehand on the same clips, whose answers are taught; 0: the labels are
    device: str = "auto"

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "last"):
            if getattr(self, name) < 1:
                raise ConfigError(f"training.{name} is {getattr(self, name)}", fix="give 1 or more")
        if self.lr <= 0:
            raise ConfigError(f"training.lr is {self.lr:g}", fix="give a rate above 0, for example 1e-4")
        for name in (
            "weight_decay",
            "shift",
            "noise",
            "gradient_limit",
            "turn",
            "company",
            "tutors",
            "action_units",
            "shift_at_prediction",
        ):
            if getattr(self, name) < 0:
                raise ConfigError(f"training.{name} is {getattr(self, name)}", fix="give 0 or more")
        for name in ("warmup", "mirror", "smoothing", "decay", "zoom", "blur", "keep"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"training.{name} is {getattr(self, name)}", fix="give a share between 0 and 1")
        if self.keep and self.start is None:
            raise ConfigError("training.keep is of no use without a start", fix="set training.start, or leave out keep")


SHIPPED = Path("shipped")  # names the folder that comes with the package, wherever it is installed

PRESETS = {
    "strict": TrainingSettings(
        name="strict",
        epochs=8,
        lr=3e-4,
        turn=3,
        zoom=0.05,
        noise=0.1,
        tutors=3,
        start=SHIPPED,
        keep=0.5,
        shift_at_prediction=1,
    ),
    "scratch": TrainingSettings(),
    "peer": TrainingSettings(name="peer", epochs=60, lr=1e-3, decay=0.99),
    "paper": TrainingSettings(
        name="paper",
        epochs=300,
        batch=256,
        optimiser="adam",
        lr=5e-5,
        weight_decay=0.0,
        schedule="constant",
        warmup=0.0,
        mirror=0.0,
        shift=0,
        noise=0.0,
        smoothing=0.0,
        gradient_limit=0.0,
        averaging="none",
        mirror_at_prediction=False,
    ),
}


def training_preset(name: str) -> TrainingSettings:
    """The recipe called `name`."""
    refuse_unknown(name, PRESETS, what="training recipe")
    return PRESETS[name]
