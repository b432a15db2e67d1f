"""Every verb that writes, against every place where it must not or cannot write."""

import fcntl
import os
import shutil
import sys
from contextlib import contextmanager

import pytest

from epir.cli.main import main
from epir.core.files import hidden_name
from epir.core.output import resolved
from epir.maps.mapset import load_maps

CORPUS = ["--people", "1", "--clips", "3", "--idle", "0", "--size", "96", "--fps", "10"]
LONG = ["--people", "1", "--seconds", "5", "--size", "96", "--fps", "8"]
QUICK = ["--workers", "1", "--set", "training.epochs=1"]
TINY = ["--set", "model.width=8", "--set", "model.blocks=3", "--set", "model.heads=1"]


@pytest.fixture(scope="session")
def inputs(tmp_path_factory):
    """One of everything that verbs read: a corpus, a map set, a run and a model folder."""
    from epir.core.engines import Engine
    from epir.evaluation.run import evaluate
    from epir.models.registry import create_model
    from epir.synthetic.corpus import CorpusSettings, write_corpus
    from epir.synthetic.maps import MapSettings, write_maps

    home = tmp_path_factory.mktemp("inputs")
    write_corpus(home / "corpus", CorpusSettings(people=1, clips=3, idle=0, size=96, fps=10.0))
    write_maps(home / "maps", MapSettings(32, ("direct",)))
    evaluate(home / "maps", protocol="sde", model="bi-woof", out=home / "run", folds=2, engine=Engine(workers=1))
    create_model("epir", width=8, blocks=3, heads=1, feed_forward=8).save_pretrained(home / "model")
    return home


COMMANDS = {  # verb: (its input, the name of its output, the words of its command)
    "synth": (None, "out", lambda home, out: ["synth", out, *CORPUS]),
    "synth --maps": (None, "out", lambda home, out: ["synth", out, "--maps", "64", "--recipe", "direct"]),
    "synth --long": (None, "out", lambda home, out: ["synth", out, "--long", *LONG]),
    "spot": (
        "corpus/001/001_01",
        "out",
        lambda home, out: [
            *("spot", home / "corpus" / "001" / "001_01", "--out", out, "--workers", "1"),
            *("--detector", "none", "--fps", "30", "--model", home / "model"),
        ],
    ),
    "align": (
        "maps",
        "out",
        lambda home, out: ["align", home / "maps", "--out", out, "--weights", home / "model"],
    ),
    "prepare": ("corpus", "out", lambda home, out: ["prepare", "synthetic", home / "corpus", "--out", out]),
    "evaluate": (
        "maps",
        "out",
        lambda home, out: ["evaluate", home / "maps", "--protocol", "sde", "--model", "ststnet", "--out", out, *QUICK],
    ),
    "evaluate, two models": (
        "maps",
        "out",
        lambda home, out: [
            *("evaluate", home / "maps", "--protocol", "sde", "--model", "ststnet,bi-woof", "--out", out, *QUICK)
        ],
    ),
    "ablate": (
        "maps",
        "out",
        lambda home, out: ["ablate", home / "maps", "--protocol", "sde", "--out", out, *QUICK],
    ),
    "train": (
        "maps",
        "out",
        lambda home, out: [
            *("train", home / "maps", "--protocol", "sde", "--out", out, "--training", "scratch", *QUICK, *TINY)
        ],
    ),
    "predict": (
        "corpus/001/001_01",
        "001_01",
        lambda home, out: [
            *("predict", home / "corpus" / "001" / "001_01", "--out", out.parent, "--detector", "none"),
            *("--onset", "1", "--apex", "3"),
        ],
    ),
    "report": ("run", "page.html", lambda home, out: ["report", home / "run", "--out", out]),
    "export": ("model", "model.onnx", lambda home, out: ["export", home / "model", "--out", out]),
    "demo": (None, "out", lambda home, out: ["demo", "--out", out, "--workers", "1"]),
}
FOLDERS_FROM_FOLDERS = [name for name, (source, out, _) in COMMANDS.items() if source and "." not in out]
verbs = pytest.mark.parametrize("verb", COMMANDS)


@pytest.fixture
def refused(epir, inputs, bytes_in):
    """Runs a verb that must exit with 2 and two lines and change no input; returns the problem."""

    def call(verb, out, *further):
        before = bytes_in(inputs)
        code, _, printed = epir(*COMMANDS[verb][2](inputs, out), *further)
        assert code == 2, printed
        *_, problem, fix = printed.splitlines()
        assert fix.startswith("fix: ") and not problem.startswith("fix: ") and "Traceback" not in printed
        assert bytes_in(inputs) == before
        return problem

    return call


@verbs
def test_a_read_only_place_is_refused_before_the_work(refused, verb, small_disk):
    place = small_disk(65536, read_only=True)
    assert "no permission to write" in refused(verb, place / COMMANDS[verb][1])


@verbs
@pytest.mark.parametrize("further", [(), ("--force",)], ids=["", "--force"])
def test_a_file_in_the_way_stays(refused, verb, further, tmp_path):
    name = COMMANDS[verb][1]
    place = tmp_path / name
    if "." in name:  # a file would be replaced with --force: here a folder is in the way
        in_the_way = place / "report.html" if verb == "report" else place
        (in_the_way / "years").mkdir(parents=True)
        assert "is a folder, not a file" in refused(verb, place, *further)
        assert (in_the_way / "years").is_dir()
        return
    place.write_text("years")
    assert "is a file" in refused(verb, place, *further)
    assert place.read_text() == "years"


@verbs
@pytest.mark.parametrize("further", [(), ("--force",)], ids=["", "--force"])
def test_a_folder_of_the_user_stays(refused, verb, further, tmp_path):
    place = tmp_path / "deep"
    place.mkdir()
    if "." in COMMANDS[verb][1]:
        pytest.skip("it writes a file")
    out = place / COMMANDS[verb][1]
    out.mkdir()
    (out / "thesis.txt").write_text("years")
    if verb in ("ablate", "evaluate, two models"):  # the folder of several runs may hold other things as well
        for name in ("vit", "ststnet"):
            (out / name).mkdir()
            (out / name / "thesis.txt").write_text("years")
    assert "that epir made" in refused(verb, out, *further)
    assert all(path.read_text() == "years" for path in out.rglob("thesis.txt")) and (out / "thesis.txt").exists()


@pytest.mark.parametrize("verb", FOLDERS_FROM_FOLDERS)
@pytest.mark.parametrize("further", [(), ("--force",)], ids=["", "--force"])
def test_an_output_equal_to_an_input_is_refused(refused, verb, further, inputs):
    source = COMMANDS[verb][0]
    of_runs = verb in ("ablate", "evaluate, two models")
    words = "is a map set, not a folder of runs" if of_runs else "an input of this command"
    assert words in refused(verb, inputs / source, *further)


@pytest.mark.parametrize("verb", FOLDERS_FROM_FOLDERS)
def test_an_output_inside_the_input_is_refused(refused, verb, inputs):
    source, name, _ = COMMANDS[verb]
    assert "inside an input of this command" in refused(verb, inputs / source / "deep" / name)


def test_a_page_does_not_replace_a_file_of_the_run(refused, inputs):
    assert "does not end in .html" in refused("report", inputs / "run" / "scores.json", "--force")


@pytest.mark.parametrize(
    "verb", [pytest.param(name, marks=[pytest.mark.slow] if name == "export" else []) for name in COMMANDS]
)
def test_a_full_disk_takes_two_lines_and_leaves_no_half(refused, verb, small_disk):
    if verb == "export":
        pytest.importorskip("onnxscript")
    place = small_disk(16384)
    problem = refused(verb, place / COMMANDS[verb][1])
    assert "the disk is full" in problem or "are free there" in problem
    assert not [path for path in place.rglob("*") if ".tmp-" in path.name or ".old-" in path.name]


@contextmanager
def another_process(path):
    """Hold the lock of `path`, like another process: a lock belongs to an open file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@verbs
def test_two_at_once(refused, verb, tmp_path):
    out = tmp_path / COMMANDS[verb][1]
    lock = resolved(out).with_name(hidden_name(out, "lock"))
    if verb in ("ablate", "evaluate, two models"):
        lock = out / ".table.csv.lock"
    with another_process(lock):
        assert "another process is writing" in refused(verb, out)


def test_names_that_are_not_utf_8_are_fine(inputs, tmp_path, monkeypatch, capsysbinary):
    strange = tmp_path / os.fsdecode(b"caf\xe9")
    shutil.copytree(inputs / "corpus", strange)

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["epir", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code in (0, None)
        return capsysbinary.readouterr().out

    maps = tmp_path / os.fsdecode(b"\xff")
    run("prepare", "synthetic", strange, "--out", maps, "--workers", "1", "--detector", "none")
    assert "caf\\udce9" in load_maps(maps).clips[0].extra["frames"]
    clip = strange / "001" / "001_01"
    run("predict", clip, "--out", tmp_path / "answers", "--detector", "none", "--onset", "1", "--apex", "3")
    assert (tmp_path / "answers" / "001_01" / "why.png").exists()
