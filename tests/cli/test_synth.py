import json

import pytest
from typer.testing import CliRunner

from epir.cli.verbs import app
from epir.core.errors import EpirError
from epir.maps.mapset import load_maps

SMALL = ["--people", "1", "--clips", "3", "--idle", "1", "--size", "96", "--fps", "10"]


def run(*arguments):
    result = CliRunner().invoke(app, ["synth", *map(str, arguments)])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def last_json(text):
    return json.loads(text[text.index("{") :])


def test_a_corpus_is_written_and_passes_the_check(tmp_path):
    out = tmp_path / "corpus"
    told = last_json(run(out, *SMALL, "--truth", "--json").stdout)
    assert told == {"folder": str(out), "people": 1, "clips": 4, "frames": told["frames"]} and told["frames"] > 16
    check = CliRunner().invoke(app, ["check", "synthetic", str(out), "--json"])
    assert check.exit_code == 0
    found = last_json(check.stdout)
    assert found["clips"] == 4 and found["emotions"]["none"] == 1 and found["protocols"]["cde"]["clips"] == 3
    assert found["defects"] == [] and list((out / "truth").rglob("*.npz"))


def test_without_json_it_says_what_to_do_next(tmp_path):
    assert "next: epir check synthetic" in run(tmp_path / "corpus", *SMALL).stdout


def test_a_map_set_is_written_instead(tmp_path):
    out = tmp_path / "maps"
    told = last_json(run(out, "--maps", 12, "--recipe", "direct", "--size", 14, "--classes", 5, "--json").stdout)
    assert told == {"folder": str(out), "maps": 12, "size": 14, "people": 2}
    assert load_maps(out).size == 14 and len({clip.emotion for clip in load_maps(out).clips}) == 5


def test_settings_are_changed_by_their_dotted_names(tmp_path):
    run(tmp_path / "c", *SMALL, "--png", "--set", "nuisances.blink=1.0")
    sheet = (tmp_path / "c" / "annotations.csv").read_text()
    assert sheet.splitlines()[0].endswith(",blinks,person")
    assert all(line.split(",")[-1] for line in sheet.splitlines()[1:] if ",expression," in line)
    assert list((tmp_path / "c").rglob("*.png"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--people", "0"], "--people must be at least 1, not 0\n  fix: give --people 1 or more; 12 is usual"),
        (["--classes", "1"], "there is no list of 1 classes\n  fix: use one of: 3, 5, 7"),
        (["--size", "20"], "a frame cannot be 20 px wide\n  fix: give --size from 96 to 2048; 480 is usual"),
        (
            ["--fps", "3"],
            "at 3 frames a second a micro-expression has no frame between onset, apex and offset\n  fix: ",
        ),
        (["--maps", "-3"], "--maps must be at least 1, not -3\n  fix: give --maps 1 or more"),
        (["--maps", "3", "--recipe", "dirct"], "there is no flow recipe 'dirct'\n  fix: "),
        (["--maps", "3", "--truth"], "--truth cannot be used with --maps: maps have no frames\n  fix: "),
        (
            ["--maps", "3", "--people", "2"],
            "--maps draws people of its own: --people, --clips, --idle, --fps and --png",
        ),
        (["--recipe", "epir"], "--recipe needs --maps\n  fix: add --maps N, or leave it out"),
        (["--set", "peple=3"], "there is no setting 'peple'\n  fix: did you mean 'people'?"),
        (["--workers", "0"], "--workers must be at least 1, not 0\n  fix: leave it out for one per core"),
    ],
)
def test_mistakes_are_told_with_their_remedy(tmp_path, arguments, words):
    with pytest.raises(EpirError) as error:
        run(tmp_path / "out", *arguments)
    assert words in str(error.value)
    assert not (tmp_path / "out").exists()


def test_what_is_there_stays_there(tmp_path):
    run(tmp_path / "c", *SMALL)
    with pytest.raises(EpirError, match="exists already"):
        run(tmp_path / "c", *SMALL)
    assert run(tmp_path / "c", *SMALL, "--force").exit_code == 0


@pytest.mark.parametrize("words", [("--people", "99999999999"), ("--clips", "10000000"), ("--maps", "99999999999")])
def test_more_than_can_be_is_refused(tmp_path, words):
    with pytest.raises(EpirError, match=r"too many\n  fix: "):
        run(tmp_path / "out", *words)
