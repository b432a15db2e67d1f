import os
import signal
import subprocess
import sys
import time
import warnings

import pytest
from typer.testing import CliRunner

from epir import __version__
from epir.cli import main
from epir.cli.verbs import PANELS, VERBS, app, command_name
from epir.core.errors import EpirWarning


def test_help_lists_every_verb():
    answer = CliRunner().invoke(app, ["--help"])
    assert answer.exit_code == 0
    for verb in VERBS:
        assert command_name(verb) in answer.stdout
    for panel in PANELS:
        assert panel in answer.stdout


@pytest.mark.parametrize("verb", VERBS, ids=command_name)
def test_every_verb_explains_itself_with_an_example(verb):
    assert f"epir {command_name(verb)}" in verb.__doc__


def test_the_program_prints_its_version():
    command = [sys.executable, "-m", "epir", "--version"]
    assert subprocess.run(command, capture_output=True, text=True).stdout.strip() == f"epir {__version__}"


def test_an_epir_warning_is_one_line_and_others_are_passed_on(monkeypatch, capsys):
    def work():
        for _ in range(2):
            warnings.warn("the weights do not fit", EpirWarning, stacklevel=1)
        with pytest.warns(UserWarning, match="something else"):
            warnings.warn("something else", UserWarning, stacklevel=1)

    monkeypatch.setattr("epir.cli.usage.run_app", lambda app: work())
    with pytest.raises(SystemExit):
        main.main()
    assert capsys.readouterr().err == "note: the weights do not fit\n"


def test_ctrl_c_before_the_verb_has_begun_takes_two_lines(monkeypatch, capsys):
    def work():
        raise KeyboardInterrupt

    monkeypatch.setattr("epir.cli.usage.run_app", lambda app: work())
    monkeypatch.setattr(sys, "argv", ["epir", "prepare"])
    with warnings.catch_warnings(), pytest.raises(SystemExit) as end:
        main.main()
    assert end.value.code == 130
    assert capsys.readouterr().err == "Interrupted.\nRun the same command to resume.\n"


def test_ctrl_c_exits_130_and_leaves_no_half_written_folder(tmp_path):
    command = [sys.executable, "-m", "epir.cli.main", "synth", str(tmp_path / "out"), "--people", "40"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not list(tmp_path.iterdir()) and process.poll() is None:  # until it has begun to write
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, printed = process.communicate()
    assert process.returncode == 130
    assert printed.endswith("Interrupted.\nRun the same command to start again.\n")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def slow_import(tmp_path):
    """Starts `epir WORDS` with a typer that takes an hour to import; returns the process once the import has begun."""
    (tmp_path / "slow").mkdir()
    (tmp_path / "slow" / "typer.py").write_text(
        f"import pathlib, time\npathlib.Path({str(tmp_path / 'begun')!r}).touch()\ntime.sleep(3600)\n"
    )
    path = os.pathsep.join([str(tmp_path / "slow"), *filter(None, [os.environ.get("PYTHONPATH")])])

    def start(*words):
        process = subprocess.Popen(
            [sys.executable, "-m", "epir", *words],
            env={**os.environ, "PYTHONPATH": path},
            stderr=subprocess.PIPE,
            text=True,
        )
        while not (tmp_path / "begun").exists() and process.poll() is None:
            time.sleep(0.02)
        return process

    return start


@pytest.mark.parametrize(("way", "word"), [(signal.SIGINT, "Interrupted"), (signal.SIGTERM, "Terminated")])
def test_a_signal_while_the_program_is_being_imported_takes_two_lines(slow_import, way, word):
    process = slow_import("evaluate", "maps")
    process.send_signal(way)
    _, printed = process.communicate()
    assert (process.returncode, printed) == (128 + way, f"{word}.\nRun the same command to resume.\n")


@pytest.mark.parametrize(("way", "word"), [(signal.SIGINT, "Interrupted"), (signal.SIGTERM, "Terminated")])
def test_a_signal_that_arrives_in_a_destructor_is_not_lost(monkeypatch, capsys, way, word):
    """Python only prints exceptions raised there, so the work would continue."""

    class Struck:
        def __del__(self):
            os.kill(os.getpid(), way)

    finished = []

    def work():
        Struck()
        time.sleep(20)
        finished.append("the work went on")

    monkeypatch.setattr("epir.cli.usage.run_app", lambda app: work())
    monkeypatch.setattr(sys, "argv", ["epir", "prepare"])
    with warnings.catch_warnings(), pytest.raises(SystemExit) as end:
        main.main()
    assert end.value.code == 128 + way and finished == []
    assert capsys.readouterr().err == f"{word}.\nRun the same command to resume.\n"


@pytest.mark.parametrize("way", [signal.SIGINT, signal.SIGTERM])
def test_a_second_signal_while_it_ends_changes_nothing(monkeypatch, capsys, way):
    """Impatient people press Ctrl-C twice; a service manager may repeat SIGTERM while the interpreter shuts down."""
    monkeypatch.setattr("epir.cli.usage.run_app", lambda app: os.kill(os.getpid(), way) or time.sleep(20))
    monkeypatch.setattr(sys, "argv", ["epir", "prepare"])
    with warnings.catch_warnings(), pytest.raises(SystemExit) as end:
        main.main()
    os.kill(os.getpid(), way)
    time.sleep(0.1)
    assert end.value.code == 128 + way and capsys.readouterr().err.endswith("Run the same command to resume.\n")


@pytest.mark.parametrize("words", ["settings | head -1; exit ${PIPESTATUS[0]}", "models >&-", "models >&- 2>&-"])
def test_a_closed_pipe_and_a_closed_stdout_are_not_errors(words):
    done = subprocess.run(["bash", "-c", f"{sys.executable} -m epir list {words}"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("evaluate", ".", "--protocol", "nope"), "there is no protocol 'nope'"),
        (("evaluate", "nowhere", "--protocol", "cde"), "nowhere"),
        (("evaluate", ".", "--protocol", "cde", "--model", "eppir"), "there is no model 'eppir'"),
        (("evaluate", ".", "--protocol", "cde", "--zero-shot", "--folds", "3"), "--folds has no effect"),
        (("train", ".", "--protocol", "nope", "--out", "mine"), "there is no protocol 'nope'"),
        (("export", "--out", "mine.txt"), "mine.txt does not end in .onnx"),
        (("export", "gone", "--out", "mine.onnx"), "there is no model folder gone"),
        (("calibrate", "gone", "--on", ".", "--protocol", "cde"), "there is no model folder gone"),
        (("predict", "a.mp4", "--faces", "some"), "some"),
        (("predict", "a.mp4", "--sensitivity", "some"), "some"),
        (("predict", "a.mp4", "--model", "gone"), "there is no model folder gone"),
        (("predict", "a.mp4", "--start", "3", "--end", "2"), "there is nothing between --start 3 and --end 2"),
        (("predict", "a.mp4", "--onset", "5", "--apex", "3"), "the apex 3 does not come after the onset 5"),
    ],
)
def test_mistakes_are_refused_without_torch_which_takes_seconds_to_load(words, problem, tmp_path):
    program = "import sys; sys.modules['torch'] = None; from epir.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and problem in done.stderr and len(done.stderr.splitlines()) == 2
