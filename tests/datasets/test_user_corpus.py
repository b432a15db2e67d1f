import pytest

from epir.core.errors import DatasetError
from epir.datasets.registry import load_corpus, load_long_videos
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
    found = survey(corpus)
    assert found.departures == ("2 people, expected 3",) and found.protocols["sde"][0].clips == 2


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
