"""`epir annotate` without its page: create a study from videos, continue it, and refuse mistakes."""

import json

import pytest

from epir.annotation.study import Study
from epir.core.errors import EpirError


@pytest.fixture
def videos(tmp_path, numbered):
    (tmp_path / "recordings").mkdir()
    numbered.write(tmp_path / "recordings" / "a.mp4", count=30)
    return tmp_path / "recordings"


def test_a_study_is_created_and_continued(invoke, videos, tmp_path, numbered):
    words = ("annotate", videos, "--out", tmp_path / "study", "--spot-only", "--workers", 1)
    first = json.loads(invoke(*words, "--json").stdout)
    assert [(each["path"], each["state"], each["movements"]) for each in first["recordings"]] == [
        ("../recordings/a.mp4", "done", 0)
    ]
    numbered.write(videos / "b.mp4", count=31)
    assert "b.mp4: 0 candidates in 1 s" in invoke(*words).stdout
    with Study.open(tmp_path / "study") as study:
        assert [each.state for each in study.recordings()] == ["done", "done"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["RECORDINGS"], "these are recordings, not a study"),
        (["nowhere", "--learn"], "there is no study nowhere"),
        (["STUDY", "--out", "other"], "is a study already"),
        (["STUDY", "--coder", "no name", "--no-browser"], "cannot be a coder"),
        (["STUDY", "--learn"], "learning needs 200"),
        (["STUDY", "--export", "x.docx"], "the name x.docx selects no format"),
        (["RECORDINGS", "--out", "STUDY", "--faces", "some"], "no choice of faces 'some'"),
    ],
)
def test_impossible_calls_are_refused(invoke, videos, tmp_path, words, problem):
    Study.create(tmp_path / "study").close()
    named = {"RECORDINGS": videos, "STUDY": tmp_path / "study"}
    with pytest.raises(EpirError, match=problem):
        invoke("annotate", *(named.get(word, word) for word in words))
    assert not (tmp_path / "other").exists()
