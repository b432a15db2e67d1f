import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from epir.cli.report import report
from epir.core.errors import RunError
from epir.evaluation.experiment import Experiment
from epir.evaluation.record import ClipRecord, FoldRecord
from epir.evaluation.store import open_store
from epir.models.registry import model_settings

CLASSES = ("negative", "positive")


@pytest.fixture
def finished_run(tmp_path: Path) -> Path:
    experiment = Experiment("sde", CLASSES, model_settings("bi-woof", classes=2))
    rng = np.random.default_rng(0)
    with open_store(tmp_path / "run", experiment) as store:
        for person in "abc":
            clips = tuple(
                ClipRecord(
                    "mine",
                    person,
                    f"{number}",
                    CLASSES[number % 2],
                    CLASSES[int(rng.integers(2))],
                    "negative",
                    (0.6, 0.4),
                )
                for number in range(4)
            )
            store.add(FoldRecord(f"mine/{person}", 0, experiment.digest, clips))
        store.finish({f"mine/{person}": [f"mine/{person}/{number}" for number in range(4)] for person in "abc"})
    return tmp_path / "run"


@pytest.fixture
def invoke():
    app = typer.Typer()
    app.command()(report)
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


def test_it_says_where_the_page_is(invoke, finished_run):
    done = invoke(finished_run)
    assert done.exit_code == 0, done.output
    assert done.stdout.replace("\n", "").endswith(f"report: {finished_run / 'report.html'}")
    assert (finished_run / "report.html").exists()


def test_json_names_everything_that_was_written(invoke, finished_run, tmp_path):
    done = invoke(
        *(finished_run, "--out", tmp_path / "r.html", "--latex", "--markdown"),
        *("--figures", tmp_path / "figures", "--no-faces", "--json"),
    )
    written = json.loads(done.stdout)
    assert written.keys() == {"report", "latex", "markdown", "figures"}
    assert all(Path(path).exists() for path in written.values())


def test_an_existing_page_is_kept_unless_forced(invoke, finished_run):
    invoke(finished_run)
    again = invoke(finished_run)
    assert "exists already" in str(again.exception)
    assert invoke(finished_run, "--force").exit_code == 0


def test_a_folder_that_is_no_run_is_refused(invoke, tmp_path):
    refused = invoke(tmp_path)
    assert isinstance(refused.exception, RunError)
    assert "is not a run" in str(refused.exception)


def test_help_has_an_example(invoke):
    assert "Example: epir report" in invoke("--help").output
