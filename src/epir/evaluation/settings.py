"""Everything that decides what a run predicts, as one frozen record: two equal experiments are one experiment.

Workers and engines are not part of it: they decide how long a run takes, never what it says.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from epir.core import config
from epir.core.errors import ConfigError
from epir.training.recipe import TrainingSettings, recipe_from_dict

ZERO_SHOT = "zero-shot"


@dataclass(frozen=True)
class Experiment:
    """What is trained, how, on which clips, and who is held out."""

    protocol: str
    classes: tuple[str, ...]
    model: Any  # the settings of the model; their class depends on `model.name`
    training: TrainingSettings = field(default_factory=TrainingSettings)
    folds: str = "loso"  # loso, loco, the number of grouped folds, or zero-shot
    seeds: int = 1  # the seeds are 0, 1, ...
    maps: tuple[str, ...] = ()  # digests of the map sets
    clips: str = ""  # digest of the clips that take part and their labels
    weights: str = ""  # digest of the weights that it starts from or, in zero-shot, that predict

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise ConfigError(f"seeds is {self.seeds}", fix="give 1 or more, for example --seeds 3")
        if self.folds not in ("loso", "loco", ZERO_SHOT) and not (self.folds.isdecimal() and int(self.folds) >= 2):
            raise ConfigError(
                f"folds cannot be {self.folds!r}", fix="use loso, loco or a number of 2 or more, for example --folds 10"
            )

    @property
    def digest(self) -> str:
        """A short name for all of it."""
        return config.digest(self)

    @property
    def is_zero_shot(self) -> bool:
        """Whether given weights predict every clip once, without any training."""
        return self.folds == ZERO_SHOT


def read_experiment(path: Path) -> Experiment:
    """The experiment in a run's `config.toml`."""
    return experiment_from(config.toml_values(path))


def experiment_from(values: Mapping[str, Any]) -> Experiment:
    """The experiment of plain values, as `core.config.to_dict` gives them."""
    from epir.models.registry import settings_from_dict

    plain = dict(values)
    for name in plain:
        config.refuse_unknown(name, [each.name for each in fields(Experiment)])
    model = plain.pop("model", None)
    if not isinstance(model, Mapping) or "name" not in model:
        raise ConfigError("[model] has no name", fix='write name = "epir" under [model]')
    settings = settings_from_dict(model)
    training = recipe_from_dict(plain.pop("training", {}))
    plain["classes"], plain["maps"] = tuple(plain.get("classes", ())), tuple(plain.get("maps", ()))
    return Experiment(model=settings, training=training, **plain)
