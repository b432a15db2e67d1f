"""The paper's model and the rungs of its ablation ladder (Tables 4 and 5).

Each rung differs from its neighbours in one setting.
"""

from dataclasses import replace
from typing import Any

from epir.core.config import refuse_unknown
from epir.models.settings import ModelSettings


def _ladder() -> dict[str, ModelSettings]:
    epir = ModelSettings()
    dual = replace(epir, name="vit+dtsm+itals+dnspt", integration=0.0)
    shifted = replace(dual, name="vit+dtsm+itals+spt", tokenization="shifted")
    inter_token = replace(shifted, name="vit+dtsm+itals", tokenization="plain")
    selecting = replace(inter_token, name="vit+dtsm", attention="plain")
    vit = replace(selecting, name="vit", selection=False)
    return {rung.name: rung for rung in (vit, selecting, inter_token, shifted, dual, epir)}


PRESETS: dict[str, ModelSettings] = _ladder()  # from the plain Vision Transformer up to EPIR


def preset(name: str, **changes: Any) -> ModelSettings:
    """The settings called `name`, with changes; unknown names are refused with the nearest known one."""
    refuse_unknown(name, PRESETS, what="model")
    return replace(PRESETS[name], **changes)
