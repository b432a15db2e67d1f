import pickle
from pathlib import Path

from epir.core.records import Clip
from epir.datasets.base import Corpus, Correction, Defect

CLIPS = (Clip("x", "a", "1", "joy"), Clip("x", "b", "1", "joy"), Clip("x", "b", "2", "fear"))
CORPUS = Corpus(
    "x",
    Path("here"),
    "v2",
    CLIPS,
    corrected=(Correction("x/a/1", "apex", "1", "2", "why"),),
    defects=(Defect("x/a/1", "old", known=True), Defect("x/b/1", "new")),
)


def test_people_and_emotions():
    assert CORPUS.people == ("x/a", "x/b")
    assert CORPUS.emotions == {"joy": 2, "fear": 1}
    assert len(CORPUS) == 3


def test_faults_are_what_is_wrong_with_this_copy():
    assert [defect.clip for defect in CORPUS.faults] == ["x/b/1"]


def test_it_introduces_itself_in_one_line():
    assert repr(CORPUS) == "Corpus(x, sheet v2: clips 3, people 2, corrected 1, defects 1)"


def test_it_can_be_sent_to_a_worker():
    assert pickle.loads(pickle.dumps(CORPUS)) == CORPUS
