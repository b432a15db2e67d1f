import subprocess
import sys

import pytest

from epir.core.errors import DatasetError
from epir.datasets.registry import list_corpora, list_long_corpora, load_corpus, load_long_videos
from epir.datasets.survey import survey

LOADER = """
from pathlib import Path
from epir.core.records import Clip

def load(root, part="all"):
    if part == "none":
        return []
    return [
        Clip("lab", "s1", "c1", "joy", onset=0, apex=2, offset=40, frames=root / "one"),
        Clip("lab", "s2", "c1", "anger", onset=0, apex=1, offset=3, frames=str(root / "one")),
    ]

load.expected = {"clips": 2, "people": 3}
load.corrections = [{"clip": "lab/s1/c1", "field": "offset", "old": "40", "new": "4", "reason": "a slip"}]
"""


def test_the_names():
    assert list_corpora() == (
        *("casme2", "samm", "smic", "casme3", "casme", "mmew", "dfme", "4dme"),
        *("casme-sq", "samm-lv", "casme3-lv", "smic-e", "synthetic", "manifest"),
    )
    assert list_long_corpora() == ("casme-sq", "samm-lv", "casme3-lv", "smic-e", "synthetic", "manifest")


def test_the_nearest_corpus_is_proposed(tmp_path):
    with pytest.raises(DatasetError, match=r"there is no corpus 'casme_2'\n  fix: did you mean 'casme' or 'casme2'\?"):
        load_corpus("casme_2", tmp_path)
    with pytest.raises(DatasetError, match=r"there is no corpus 'xyz'\n  fix: use one of: 4dme, casme, casme-sq"):
        load_corpus("xyz", tmp_path)


def test_a_root_that_is_not_there(tmp_path):
    with pytest.raises(
        DatasetError, match=r"there is no folder .*gone\n  fix: give the folder into which samm was unpacked"
    ):
        load_corpus("samm", tmp_path / "gone")
    with pytest.raises(DatasetError, match=r"there is no file .*gone.csv\n  fix: give the CSV that lists your clips"):
        load_corpus("manifest", tmp_path / "gone.csv")


def test_a_root_that_is_a_file(tmp_path):
    (tmp_path / "a.txt").touch()
    for name in ("casme2", "smic"):
        with pytest.raises(DatasetError, match=r"a.txt is a file\n  fix: give the folder into which"):
            load_corpus(name, tmp_path / "a.txt")


@pytest.mark.parametrize("name", list_corpora())
def test_an_archive_has_to_be_unpacked(tmp_path, name):
    (tmp_path / "a.ZIP").touch()
    with pytest.raises(DatasetError, match=r"a.ZIP is an archive that was not unpacked\n  fix: unpack it, and give"):
        load_corpus(name, tmp_path / "a.ZIP")


def test_options_that_a_corpus_does_not_have(tmp_path):
    with pytest.raises(DatasetError, match=r"casme2 has no option 'part'\n  fix: its options are: sheet, tree"):
        load_corpus("casme2", tmp_path, part="hs")


def test_no_sheet_says_which_names_are_looked_for(tmp_path):
    with pytest.raises(DatasetError, match=r"no annotation sheet of CASME II in .*\n  fix: .*CASME2-coding-2\*.xlsx"):
        load_corpus("CASME2", tmp_path)


def test_reading_annotations_needs_neither_pixels_nor_tensors(tmp_path, release):
    release.casme2_sheet(tmp_path / "CASME2-coding-20140508.xlsx", "2014")
    code = (
        "import sys; from epir.datasets.registry import load_corpus; from epir.datasets.survey import survey;"
        f"survey(load_corpus('casme2', {str(tmp_path)!r}));"
        "assert not {'cv2', 'torch', 'pandas', 'matplotlib'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_long_videos_of_a_list_and_of_a_corpus_that_has_none(tmp_path):
    (tmp_path / "intervals.csv").write_text("subject,video,path,fps,kind,onset,offset\nanna,a,a.mp4,30,micro,9,20\n")
    assert [video.key for video in load_long_videos("manifest", tmp_path)] == ["manifest/anna/a"]
    assert [video.key for video in load_long_videos("synthetic", tmp_path)] == ["synthetic/anna/a"]
    with pytest.raises(DatasetError, match=r"casme2 has no long videos\n  fix: use one of: .*synthetic, manifest"):
        load_long_videos("casme2", tmp_path)


@pytest.fixture
def write(tmp_path, release):
    release.frames(tmp_path / "one", range(5))

    def written(text=LOADER):
        (tmp_path / "mine.py").write_text(text)
        return f"{tmp_path / 'mine.py'}:load"

    return written


def test_a_function_is_a_corpus(tmp_path, write):
    corpus = load_corpus(write(), tmp_path)
    assert (corpus.name, len(corpus), corpus.defects) == ("lab", 2, ())
    assert corpus.clips[0].offset == 4 and corpus.corrected[0].reason == "a slip"
    assert corpus.clips[1].frames == tmp_path / "one"
    assert corpus.code["name"].endswith("mine.py:load") and len(corpus.code["digest"]) == 16
    result = survey(corpus)
    assert result.departures == ("2 people, expected 3",) and result.protocols["sde"][0].clips == 2


def test_its_options_are_the_function_s(tmp_path, write):
    with pytest.raises(DatasetError, match=r"returned no clips\n  fix: return one epir\.Clip for each clip$"):
        load_corpus(write(), tmp_path, part="none")
    with pytest.raises(DatasetError, match=r"load failed: TypeError: .*'sheet'\n  fix: correct that function$"):
        load_corpus(write(), tmp_path, sheet="a")
    with pytest.raises(DatasetError, match=r"has no long videos\n"):
        load_long_videos(write(), tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("if part", "1 / 0\n    if part", r"mine\.py:load, line 6, failed: ZeroDivisionError: division by zero\n"),
        ('Clip("lab", "s2"', '("lab", "s2"', r"SyntaxError"),
        ('"joy"', "3", r"clip 0: the emotion is 3\n  fix: give the emotion as text$"),
        ('"joy"', '"\\ud800"', r"clip 0: the emotion is '.ud800'\n  fix: give the emotion as text$"),
        ("onset=0, apex=2", "onset=0.5, apex=2", r"clip lab/s1/c1: the onset is 0\.5\n  fix: give a frame number"),
        ("return [\n", "return [3,\n", r"returned int as clip 0, not an epir\.Clip\n  fix: return clips"),
        ('"clips": 2', '"films": 2', r"the expected counts are .*films.*\n  fix: give "),
        ('"lab/s1/c1", "field"', '"lab/s9/c1", "field"', r"corrects lab/s9/c1, which it does not list\n"),
        ('"new": "4"', '"new": "four"', r"is not a correction\n  fix: give clip, field, old, new, reason"),
    ],
)
def test_a_function_that_does_not_do(tmp_path, write, old, new, message):
    assert old in LOADER
    with pytest.raises(DatasetError, match=message) as refused:
        load_corpus(write(LOADER.replace(old, new, 1)), tmp_path)
    assert len(str(refused.value).splitlines()) == 2


def test_defects_are_found_as_in_any_corpus(tmp_path, write):
    text = LOADER.replace("apex=1, offset=3", "apex=1, offset=0").replace('"s2", "c1"', '"s1", "c1"')
    assert [one.kind for one in load_corpus(write(text), tmp_path).faults] == ["listed twice"]
    gone = load_corpus(write(LOADER.replace('frames=root / "one"', 'frames=root / "gone"')), tmp_path)
    assert gone.faults[0].problem.startswith("there is no folder or video")
