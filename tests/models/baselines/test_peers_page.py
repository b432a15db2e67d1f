"""The numbers on docs/peers.md are those of the code and of the printed tables."""

import csv
from pathlib import Path

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import epir.evaluation
from epir.models.baselines.base import BaselineSettings
from epir.models.registry import create_model, is_pipeline, list_models, model_settings

PAGE = (Path(__file__).parents[3] / "docs" / "peers.md").read_text(encoding="utf-8")
PEERS = [name for name in list_models() if isinstance(model_settings(name), BaselineSettings)]
PRINTED = {"ststnet": "STSTNet", "off-apexnet": "OFF-ApexNet", "dual-inception": "Dual-Inception"}
PRINTED |= {"capsulenet": "CapsuleNet", "rcn-a": "RCN-A", "htnet": "HTNet", "bi-woof": "Bi-WOOF", "lbp-top": "LBP-TOP"}


def rows(heading):
    """The rows of the table under a heading, by the name in the first cell."""
    part = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("| ")]
    return {cells[0].strip().strip("`"): [cell.strip() for cell in cells[1:]] for cells in lines[1:]}


def printed_rows():
    path = Path(epir.evaluation.__file__).parent / "published.csv"
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", [name for name in PEERS if not is_pipeline(name)])
def test_sizes_are_counted(name):
    model = create_model(name).eval()
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        model(torch.zeros(1, 3, 28, 28))
    parameters, _, operations, _ = rows("Sizes")[name]
    assert parameters == f"{sum(weight.numel() for weight in model.parameters()):,}"
    assert operations == f"{counter.get_total_flops() / 2e6:.2f} M"


def test_every_peer_is_described_and_has_a_row_of_scores():
    assert list(rows("Scores")) == PEERS
    assert list(rows("Measured")) == ["epir", *PEERS]
    assert all(f"**`{name}`**" in PAGE for name in PEERS)


@pytest.mark.parametrize(("name", "method"), PRINTED.items())
def test_published_scores_are_the_printed_ones(name, method):
    (row,) = [r for r in printed_rows() if (r["table"], r["method"], r["part"]) == ("1", method, "full")]
    published, chosen = rows("Scores")[name]
    assert published == f"{row['uf1']} / {row['uar']}"
    assert chosen == row["selection"]


def test_every_printed_method_is_a_peer_or_says_why_not():
    own = {"EPIR", "Baseline", "MDMO", *PRINTED.values()}
    methods = {row["method"].replace("μ", "u") for row in printed_rows()}
    others = {method for method in methods if method not in own and not method.startswith("+")}
    assert set(rows("Methods with published numbers only")) == others
