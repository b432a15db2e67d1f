"""The settings of a training recipe, and the named recipes.

`finetune` is the default for the paper's model: it starts from the weights that ship with epir, which have seen
synthetic faces only, and learns from small teachers trained on the same clips. `scratch` starts from random weights,
regularised for a few hundred clips and a fixed number of epochs. `baseline` is the same for small convolutional
networks, which need a higher rate and more epochs. `paper` is the recipe that the paper prints.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from epir.core.config import check_known, check_ranges, from_dict, setting, toml_values
from epir.core.errors import ConfigError
from epir.models.settings import SHIPPED

FINETUNE, SCRATCH, BASELINE, PAPER = "finetune", "scratch", "baseline", "paper"
ABOUT = {  # one line each, for lists
    FINETUNE: "from the shipped weights, with small teachers; the default of epir",
    SCRATCH: "from random weights, 20 epochs; the default of the ladder's other rungs",
    BASELINE: "from random weights, 60 epochs at a higher rate; the default of the small convolutional networks",
    PAPER: "as the paper prints it: Adam, 5e-5, 300 epochs, batch 256",
}
MOST = {  # upper limits, beyond which training cannot work or runs out of memory
    "epochs": 100_000,
    "batch": 65_536,
    "lr": 1000,
    "temperature_rate": 1e6,
    "weight_decay": 1000,
    "shift": 1000,
    "turn": 180,
    "noise": 1000,
    "action_units": 1e6,
    "shift_at_prediction": 8,
    "teachers": 100,
}


@dataclass(frozen=True)
class TrainingSettings:
    """A training recipe; the defaults are those of `scratch`.

    >>> TrainingSettings(epochs=3).epochs
    3
    """

    name: str = SCRATCH
    epochs: int = 20
    batch: int = 32
    optimiser: Literal["adam", "adamw"] = "adamw"
    lr: float = 2e-4
    temperature_rate: float = setting(10.0, "learning rate of the attention's temperatures, as a multiple of lr")
    weight_decay: float = 0.05
    schedule: Literal["constant", "cosine"] = "cosine"
    warmup: float = setting(0.1, "share of all steps in which the rate rises linearly")
    mirror: float = setting(0.5, "probability that a clip is mirrored")
    shift: int = setting(2, "largest shift in pixels, edges replicated")
    turn: float = setting(0.0, "largest rotation of the face, in degrees")
    zoom: float = setting(0.0, "largest relative change of the face's size; its aspect ratio changes by half as much")
    blur: float = setting(0.0, "probability that a batch is blurred, by 0.3 to 0.9 pixels")
    noise: float = setting(0.2, "in standard deviations of each channel of each map")
    smoothing: float = setting(0.1, "label smoothing")
    gradient_limit: float = setting(1.0, "largest gradient norm of a step; 0: no limit")
    class_weights: bool = setting(False, "weight rare classes like common ones, by the fold's training clips")
    action_units: float = setting(0.0, "weight of the auxiliary loss on annotated action units; 0: not used")
    freeze: bool = setting(False, "train the head for action units only; the other weights of `start` stay fixed")
    averaging: Literal["none", "ema"] = setting("ema", "of the weights; fixed beforehand, never chosen by a score")
    decay: float = setting(0.98, "of `ema`, per step")
    mirror_at_prediction: bool = setting(True, "average the prediction over a map and its mirror image")
    shift_at_prediction: int = setting(0, "pixels: also average over copies shifted in each direction; 0: none")
    start: Path | None = setting(None, "a model folder whose weights training starts from; `shipped`: epir's own")
    interpolate: float = setting(
        0.0, "share of the initial weights in the delivered ones, as in WiSE-FT; fixed beforehand"
    )
    teachers: int = setting(0, "small networks, trained first on the same clips, that give soft labels; 0: none")
    device: str = "auto"

    def __post_init__(self) -> None:
        check_ranges(self, MOST, section="training")
        for name in ("epochs", "batch"):
            if getattr(self, name) < 1:
                raise ConfigError(f"training.{name} is {getattr(self, name)}", fix="give 1 or more")
        for name in ("lr", "temperature_rate"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"training.{name} is {getattr(self, name):g}", fix="give a number above 0")
        for name in (
            "weight_decay",
            "shift",
            "noise",
            "gradient_limit",
            "turn",
            "teachers",
            "action_units",
            "shift_at_prediction",
        ):
            if getattr(self, name) < 0:
                raise ConfigError(f"training.{name} is {getattr(self, name)}", fix="give 0 or more")
        for name in ("warmup", "mirror", "smoothing", "decay", "zoom", "blur", "interpolate"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"training.{name} is {getattr(self, name)}", fix="give a share between 0 and 1")
        if self.freeze and (self.start is None or not self.action_units):
            raise ConfigError(
                "training.freeze trains only a head for action units, on top of existing weights",
                fix="set training.start and training.action_units too",
            )
        if self.interpolate and self.start is None:
            raise ConfigError(
                "training.interpolate needs weights to interpolate with", fix="set training.start, or interpolate=0"
            )

    @property
    def views(self) -> dict[str, Any]:
        """The test-time copies to average over, as arguments of `predict_maps`."""
        return {"mirror": self.mirror_at_prediction, "shift": self.shift_at_prediction}


RECIPES = {
    FINETUNE: TrainingSettings(
        name=FINETUNE,
        epochs=8,
        lr=3e-4,
        turn=3,
        zoom=0.05,
        noise=0.1,
        teachers=3,
        start=SHIPPED,
        interpolate=0.5,
        shift_at_prediction=1,
    ),
    SCRATCH: TrainingSettings(),
    BASELINE: TrainingSettings(name=BASELINE, epochs=60, lr=1e-3, decay=0.99),
    PAPER: TrainingSettings(
        name=PAPER,
        epochs=300,
        batch=256,
        optimiser="adam",
        lr=5e-5,
        temperature_rate=1.0,
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


def training_recipe(name: str) -> TrainingSettings:
    """Return the recipe `name`, or that of a TOML file, whose missing settings are those of `scratch`."""
    if name.endswith(".toml"):
        values = toml_values(Path(name))
        return from_dict(TrainingSettings, {"name": Path(name).stem, **values}, section="training")
    check_known(name, RECIPES, what="training recipe")
    return RECIPES[name]
