"""Options that several verbs share, and their shell completion; imports nothing heavy."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from epir.datasets.protocols import list_protocols
from epir.training.recipe import RECIPES


def only_set(**values: Any) -> dict[str, Any]:
    """The options the user set: those that are not `None`."""
    return {name: value for name, value in values.items() if value is not None}


# ------------------------------------------------------------------------------------------- shell completion


def _completing(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """A completion callback: the names that start with the typed text."""

    def complete(typed: str) -> list[str]:
        return [name for name in names() if name.startswith(typed)]

    return complete


def _corpora() -> tuple[str, ...]:
    from epir.datasets.registry import list_corpora

    return list_corpora()


def _settings() -> list[str]:
    """The settings that --set accepts, as `part.name=`."""
    from epir.core.config import setting_names
    from epir.models.settings import ModelSettings
    from epir.training.recipe import TrainingSettings

    kinds = {"model": ModelSettings, "training": TrainingSettings}
    return [f"{part}.{name}=" for part, kind in kinds.items() for name in setting_names(kind)]


def complete_models(typed: str) -> list[str]:
    """The models whose names start with the typed text; completes the last item of a comma-separated list."""
    from epir.models.registry import list_models

    before, comma, last = typed.rpartition(",")
    return [f"{before}{comma}{name}" for name in _completing(list_models)(last)]


# -------------------------------------------------------------------------------------------------- the options


def _name_code(code: list[str] | None) -> list[str] | None:
    if code:
        from epir.models.registry import name_code

        name_code(code)
    return code


Address = Annotated[str, Option(help="Address of a running Ray cluster.", show_default="start a local one")]
AllowSeen = Annotated[
    bool,
    Option("--allow-seen", help="Continue although people or clips were seen in training; scores are marked (leaks)."),
]
AsJson = Annotated[bool, Option("--json", help="Print one JSON object.")]
Changes = Annotated[
    list[str] | None,
    Option(
        "--set",
        help="Change a setting: training.epochs=30. May be repeated; see epir list settings.",
        show_default=False,
        autocompletion=_completing(_settings),
    ),
]
Code = Annotated[  # the callback registers the code; verbs ignore the value
    list[str] | None,
    Option(
        help="The code of your own method, for a model folder trained with it: FILE.py:Name. May be repeated.",
        show_default=False,
        callback=_name_code,
    ),
]
CorpusName = Annotated[
    str,
    Argument(
        help="casme, casme2, casme3, samm, smic, mmew, dfme, 4dme, synthetic, manifest; long videos: casme-sq, "
        "samm-lv, casme3-lv, smic-e; or your own code: my_corpus.py:load.",
        autocompletion=_completing(_corpora),
    ),
]
CorpusRoot = Annotated[Path, Argument(help="The folder where you unpacked the corpus; for manifest, the CSV file.")]
Detector = Annotated[
    str | None,
    Option(help="mtcnn, or none for pictures cropped to the face.", show_default="from the model"),
]
EngineName = Annotated[
    str,
    Option("--engine", help="Where the work runs: local or ray.", autocompletion=_completing(lambda: ("local", "ray"))),
]
Folds = Annotated[
    str,
    Option(
        help="loso (leave one subject out, or the protocol's own folds), loco (leave one corpus out), split, or the "
        "number of folds, grouped by subject."
    ),
]
Force = Annotated[bool, Option("--force", help="Replace existing output.")]
Gpus = Annotated[float, Option(help="Each fold's share of a GPU, with --engine ray.")]
Labels = Annotated[Path | None, Option(help="manifest: a CSV that maps emotion words to classes: word,class.")]
Maps = Annotated[list[Path], Argument(help="Map sets of one size, written by epir prepare.", show_default=False)]
ModelFolder = Annotated[
    Path | None, Argument(help="A model folder written by epir train.", show_default="the shipped weights")
]
ModelOption = Annotated[
    Path | None,
    Option("--model", help="A model folder or an ONNX file.", show_default="the shipped weights"),
]
Part = Annotated[str | None, Option(help="smic, smic-e: hs (default), vis, nir.")]
Protocol = Annotated[
    str,
    Option(
        help=f"A file such as mine.toml, or one of: {', '.join(list_protocols())}.",
        show_default=False,
        autocompletion=_completing(list_protocols),
    ),
]
Seeds = Annotated[int, Option(help="Number of seeds; scores are means over them.")]
Sensitivity = Annotated[str, Option(help="low, normal or high: high finds more movements, and more false alarms.")]
Sheet = Annotated[Path | None, Option(help="The annotation sheet, if the corpus has several.")]
StartOver = Annotated[bool, Option("--force", help="Start over and discard finished work.")]
Training = Annotated[
    str | None,
    Option(
        help=f"Training recipe: {', '.join(RECIPES)}, or a TOML file.",
        show_default="by model and settings",
        autocompletion=_completing(lambda: RECIPES),
    ),
]
Tree = Annotated[str | None, Option(help="Which frames to read, if the corpus has several: cropped, raw, ...")]
Workers = Annotated[int | None, Option(help="Folds run in parallel.", show_default="one per core")]


def check_names(maps: Sequence[Path], protocol: str) -> None:
    """Raise if the protocol or a map set does not exist, before anything heavy is imported."""
    from epir.datasets.protocols import get_protocol
    from epir.maps.mapset import load_maps

    if protocol not in list_protocols():
        get_protocol(protocol)
    for folder in maps:
        if not folder.is_dir():
            load_maps(folder)  # raises an error that names the problem


def check_model(folder: Path | None) -> None:
    """Raise if the model folder does not exist, before torch is imported."""
    from epir.core.errors import CheckpointError

    if folder is not None and not folder.exists() and len(folder.parts) != 2:  # owner/name may be on the hub
        raise CheckpointError(f"there is no model folder {folder}", fix="check the path, or make one with epir train")
