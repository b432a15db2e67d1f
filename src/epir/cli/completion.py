"""The values that options take, for their help and for the completion of the shell; nothing heavy is imported."""

from epir.datasets.protocols import list_protocols
from epir.training.recipe import RECIPES


def protocols(typed: str) -> list[str]:
    """The protocols that begin with what was typed."""
    return _beginning(typed, list_protocols())


def models(typed: str) -> list[str]:
    """The models whose names begin so; of a list with commas the last one is completed."""
    from epir.models.registry import list_models

    before, comma, last = typed.rpartition(",")
    return [f"{before}{comma}{name}" for name in _beginning(last, list_models())]


def recipes(typed: str) -> list[str]:
    """The training recipes that begin so."""
    return _beginning(typed, tuple(RECIPES))


def engines(typed: str) -> list[str]:
    """The engines that begin so."""
    return _beginning(typed, ("local", "ray"))


def corpora(typed: str) -> list[str]:
    """The corpora that begin so."""
    from epir.datasets.registry import list_corpora

    return _beginning(typed, list_corpora())


def settings(typed: str) -> list[str]:
    """The settings of --set that begin so, ready for a value."""
    from epir.core.config import setting_names
    from epir.models.settings import ModelSettings
    from epir.training.recipe import TrainingSettings

    kinds = {"model": ModelSettings, "training": TrainingSettings}
    return _beginning(typed, tuple(f"{part}.{name}=" for part, kind in kinds.items() for name in setting_names(kind)))


def _beginning(typed: str, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if name.startswith(typed)]
