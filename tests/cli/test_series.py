"""The verbs `benchmark`, `ablate` and `reproduce`."""

import json

import pytest

from epir.core.errors import ConfigError, EpirError, OutputError

SMALL = [f"--set={word}" for word in ("model.width=12", "model.heads=2", "model.feed_forward=12", "training.epochs=1")]


def test_a_benchmark_is_one_table_one_page_and_one_file(epir, noise, tmp_path):
    call = ("benchmark", noise(), "--protocol", "cde", "--model", "bi-woof,mdmo", "--folds", "2", "--workers", "1")
    code, out, _ = epir(*call, "--out", tmp_path / "out")
    assert code == 0 and "chance: most frequent class" in out and f"page: {tmp_path / 'out' / 'benchmark.html'}" in out
    code, out, _ = epir(*call, "--out", tmp_path / "out", "--json")
    assert code == 0 and len(json.loads(out)["rows"]) == 4
    code, _, err = epir(*call, "--all")
    assert code == 2 and "--all and --model contradict each other" in err
    assert "runs/PROTOCOL-benchmark" in epir("benchmark", "--help").out


@pytest.fixture
def ablate(invoke, noise, tmp_path):
    start = ["ablate", noise(people=3, clips=3, size=28), "--folds", 2, "--workers", 1, "--out", tmp_path / "runs"]
    return lambda *words: invoke(*start, *SMALL, *words)


def test_the_ladder_ends_in_one_table(ablate, tmp_path):
    result = ablate("--protocol", "cde")
    assert result.exit_code == 0
    for words in ("vit+dtsm+itals+dnspt", "+Token Integration", "published: unknown", "0.8852"):
        assert words in result.stdout
    assert (tmp_path / "runs" / "table.csv").read_text().count("best epoch (leaks)") == 6


def test_a_sweep_gives_json(ablate):
    runs = json.loads(ablate("--protocol", "sde", "--sweep", "integration", "--json").stdout)["runs"]
    assert list(runs) == [f"integration {rate} %" for rate in (0, 30, 60, 80)]
    assert all("strict" in scores for scores in runs.values())
    with pytest.raises(ConfigError, match="there is no sweep 'depth'\n  fix: use one of: blocks, integration"):
        ablate("--protocol", "sde", "--sweep", "depth")


def test_a_reproduction_leaves_other_folders_alone(invoke, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "report.html").write_text("years of work")
    with pytest.raises(OutputError, match="is not a reproduction that epir made"):
        invoke("reproduce", tmp_path / "maps", "--out", tmp_path / "mine")
    assert (tmp_path / "mine" / "report.html").read_text() == "years of work"
    with pytest.raises(EpirError, match="there is no map set"):
        invoke("reproduce", tmp_path / "maps", "--out", tmp_path / "paper")
    assert not (tmp_path / "paper").exists()
    (tmp_path / "maps").mkdir()
    with pytest.raises(OutputError, match="lies inside an input of this command"):
        invoke("reproduce", tmp_path / "maps", "--out", tmp_path / "maps" / "paper")
    assert list((tmp_path / "maps").iterdir()) == []
