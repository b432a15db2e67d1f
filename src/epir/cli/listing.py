"""The verbs `list` and `new`: the names that other verbs accept, and a template for your own method."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from typer import Argument, Option

from epir.cli.options import AsJson, Force
from epir.core.config import Described, describe
from epir.datasets.protocols import describe_protocols
from epir.datasets.registry import describe_corpora
from epir.training.recipe import ABOUT

What = Literal["models", "protocols", "recipes", "corpora", "settings"]


def list_(
    what: Annotated[What, Argument(help="models, protocols, recipes, corpora or settings.")],
    show: Annotated[
        str | None, Option(help="Print the file of this protocol, as a template.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the models, protocols, training recipes, corpora, or settings for --set.

    Example: epir list models

    Example: epir list protocols --show cde > mine.toml
    """
    from epir.cli import console
    from epir.core.errors import ConfigError
    from epir.datasets.protocols import protocol_text

    if show is not None:
        if what != "protocols":
            raise ConfigError(f"--show prints protocols, not {what}", fix=f"epir list protocols --show {show}")
        text = protocol_text(show)
        console.show({"protocol": show, "text": text}, [text.removesuffix("\n")], as_json=as_json)
        return
    names = _LISTS[what]()
    widest = max(map(len, names))
    value: dict[str, Any] = {what: [{"name": name, "about": about} for name, about in names.items()]}
    console.show(value, [f"{name:{widest}}  {about}" for name, about in names.items()], as_json=as_json)


def _models() -> dict[str, str]:
    from epir.models.registry import about_models

    return about_models()


def _settings() -> dict[str, str]:
    from epir.faces.face import FaceSettings
    from epir.flow.recipe import FlowSettings
    from epir.models.settings import ModelSettings
    from epir.training.recipe import TrainingSettings

    sections: Mapping[str, type] = {
        "model": ModelSettings,
        "training": TrainingSettings,
        "face": FaceSettings,
        "flow": FlowSettings,
    }
    fixed = {"model.name", "model.classes", "training.name"}  # set by --model, --protocol and --training
    return {
        f"{section}.{setting.name}": _setting_line(setting)
        for section, kind in sections.items()
        for setting in describe(kind)
        if f"{section}.{setting.name}" not in fixed
    }


def _setting_line(setting: Described) -> str:
    """Type, default and description; the default as `--set` takes it: `true`, `none`."""
    is_word = setting.default is None or isinstance(setting.default, bool)
    default = str(setting.default).lower() if is_word else setting.default
    return f"{setting.kind}, default {default}" + (f": {setting.about}" if setting.about else "")


_LISTS: Mapping[What, Callable[[], Mapping[str, str]]] = {
    "models": _models,
    "protocols": describe_protocols,
    "recipes": lambda: ABOUT,
    "corpora": describe_corpora,
    "settings": _settings,
}

METHOD = '''"""{name}: a method for the benchmark of epir.

    epir evaluate MAPS --protocol cde --model {file}:{name},ststnet
    epir evaluate MAPS --protocol cde --model {file}:{name} --set model.width=64 --set training.epochs=30
"""

from torch import Tensor, nn


class {name}(nn.Module):
    """Two convolutions and a linear classifier. Axes: B clips, S map size, C classes.

    The arguments are its settings. `classes` and `map_size` come from the protocol and the maps.
    """

    recipe = "baseline"  # the training recipe without --training

    def __init__(self, classes: int, map_size: int = 28, width: int = 32, dropout: float = 0.5) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, width, 5, stride=2, padding=2),  # the channels are u, v and strain
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(min(4, map_size)),
            nn.Flatten(),
            nn.Dropout(dropout),
        )
        self.head = nn.Linear(width * min(4, map_size) ** 2, classes)

    def forward(self, maps: Tensor) -> Tensor:
        """Logits (B, C) of maps (B, 3, S, S); each channel of each map has mean 0 and standard deviation 1."""
        return self.head(self.body(maps))

    # Optional: loss(self, maps, labels), instead of cross-entropy; explain(self, maps) -> (B, S, S), for pictures
    # of why; forward_features(self, maps) and forward_head(self, features), for action units.
'''
TEST = '''"""{name} learns, and runs in the benchmark like every other method."""

from pathlib import Path

import epir

MODEL = f"{{Path(__file__).with_name('{file}')}}:{name}"


def test_it_gives_one_logit_for_each_class():
    import torch

    model = epir.create_model(MODEL, classes=5, width=4).eval()
    assert model(torch.zeros(2, 3, 28, 28)).shape == (2, 5)


def test_it_learns_in_strict_folds(tmp_path):
    maps = epir.synthetic_maps(48, "direct")  # synthetic people: 3 classes, chance is a UF1 of about 0.33
    changes = ["training.epochs=15", "training.lr=3e-3"]
    run = epir.evaluate(maps, protocol="sde", model=MODEL, folds=2, changes=changes, out=tmp_path / "run")
    assert run.scores["strict"]["uf1"] > 0.4
'''


def new(
    what: Annotated[str, Argument(help="The template: method.", show_default=False)],
    file: Annotated[Path, Argument(help="The Python file to write, such as my_net.py.", show_default=False)],
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a working network as a template for your own method, with a test that passes.

    Example: epir new method my_net.py
    """
    from epir.cli.console import show
    from epir.core.config import check_known
    from epir.core.errors import ConfigError, OutputError
    from epir.core.files import write_text

    check_known(what, ("method",), what="template")
    if file.suffix != ".py" or not file.stem.isidentifier():
        raise ConfigError(f"{file} cannot be imported as a Python module", fix="use letters: my_net.py")
    test = file.with_name(f"test_{file.name}")
    for path in (file, test):
        if path.exists() and not force:
            raise OutputError(f"{path} exists already", fix="choose another name, or replace it with --force")
    name = "".join(part[:1].upper() + part[1:] for part in file.stem.split("_"))
    for path, template in ((file, METHOD), (test, TEST)):
        write_text(path, template.format(name=name, file=file.name))
    reference = f"{file}:{name}"
    value = {"method": reference, "file": str(file), "test": str(test)}
    lines = [
        f"{file}: the network {name}",
        f"its test: python -m pytest {test} (needs pytest: pip install -c constraints.txt pytest, in epir's folder)",
        f"next: epir evaluate MAPS --protocol cde --model {reference},ststnet --folds 5",
    ]
    show(value, lines, as_json=as_json)
