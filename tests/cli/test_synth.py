import json

import pytest

from epir.core.errors import EpirError
from epir.maps.mapset import load_maps

SMALL = ["--people", "1", "--clips", "3", "--idle", "1", "--size", "96", "--fps", "10"]


@pytest.fixture
def run(invoke):
    return lambda *words: invoke("synth", *words)


def last_json(text):
    return json.loads(text[text.index("{") :])


def test_a_corpus_is_written_and_passes_the_check(run, invoke, tmp_path):
    out = tmp_path / "corpus"
    summary = last_json(run(out, *SMALL, "--truth", "--json").stdout)
    assert (
        summary == {"folder": str(out), "people": 1, "clips": 4, "frames": summary["frames"]} and summary["frames"] > 16
    )
    check = invoke("check", "synthetic", out, "--json")
    assert check.exit_code == 0
    values = last_json(check.stdout)
    assert values["clips"] == 4 and values["emotions"]["none"] == 1 and values["protocols"]["cde"]["clips"] == 3
    assert values["defects"] == [] and list((out / "truth").rglob("*.npz"))


def test_without_json_it_says_what_to_do_next(run, tmp_path):
    assert "next: epir check synthetic" in run(tmp_path / "corpus", *SMALL).stdout


def test_a_map_set_is_written_instead(run, tmp_path):
    out = tmp_path / "maps"
    summary = last_json(run(out, "--maps", 12, "--recipe", "direct", "--size", 14, "--classes", 5, "--json").stdout)
    assert summary == {"folder": str(out), "maps": 12, "size": 14, "people": 2}
    assert load_maps(out).size == 14 and len({clip.emotion for clip in load_maps(out).clips}) == 5


def test_settings_are_changed_by_their_dotted_names(run, tmp_path):
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
        (["--maps", "3", "--truth"], "--truth goes with frames, not with --maps\n  fix: leave out --truth"),
        (["--maps", "3", "--long"], "--maps does not go with --long\n  fix: leave out --maps"),
        (["--maps", "3", "--people", "2"], "--people goes with frames or --long, not with --maps"),
        (["--recipe", "epir", "--seconds", "9"], "not with frames\n  fix: leave out --recipe, --seconds"),
        (
            ["--long", "--maps", "3", "--idle", "3"],
            "--idle goes with frames, not with --long\n  fix: leave out --idle, --maps",
        ),
        (["--long", "--seconds", "1"], "a video cannot last 1 seconds\n  fix: give --seconds from 5 to 3600"),
        (["--long", "--people", "0"], "--people must be at least 1, not 0"),
        (["--set", "peple=3"], "there is no setting 'peple'\n  fix: did you mean 'people'?"),
        (["--workers", "0"], "--workers must be at least 1, not 0\n  fix: leave it out for one per core"),
    ],
)
def test_mistakes_are_reported_with_a_fix(run, tmp_path, arguments, words):
    with pytest.raises(EpirError) as error:
        run(tmp_path / "out", *arguments)
    assert words in str(error.value)
    assert not (tmp_path / "out").exists()


def test_existing_output_needs_force(run, tmp_path):
    run(tmp_path / "c", *SMALL)
    with pytest.raises(EpirError, match="exists already"):
        run(tmp_path / "c", *SMALL)
    assert run(tmp_path / "c", *SMALL, "--force").exit_code == 0


@pytest.mark.parametrize("words", [("--people", "99999999999"), ("--clips", "10000000"), ("--maps", "99999999999")])
def test_absurd_counts_are_refused(run, tmp_path, words):
    with pytest.raises(EpirError, match=r"too many\n  fix: "):
        run(tmp_path / "out", *words)
