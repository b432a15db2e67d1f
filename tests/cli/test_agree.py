import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "annotation"))
from coded_studies import accept, new_study

from epir.annotation.schema import StudyError


@pytest.fixture
def folder(tmp_path):
    with new_study(tmp_path / "study") as study:
        for coder in ("anna", "ben", "carl"):
            accept(study, coder, 1, emotion="fear")
            accept(study, coder, 2, emotion="fear" if coder == "anna" else "anger")
    return tmp_path / "study"


@pytest.fixture
def run(invoke):
    return lambda *words: invoke("agree", *words)


def test_it_prints_tables_writes_a_page_and_says_what_comes_next(run, folder, tmp_path):
    page = tmp_path / "agreement.html"
    output = run(folder, "--out", page).stdout
    assert "ben, carl" in output and "1 disagreement, 1 not settled" in output
    assert f"report: {page}" in output and "--coder agreed" in output
    assert "<h1>Agreement of anna, ben, carl</h1>" in page.read_text(encoding="utf-8")


def test_json_is_one_object_of_the_named_coders(run, folder):
    answer = json.loads(run(folder, "--json", "--coder", "ben", "--coder", "carl").stdout)
    (pair,) = answer["pairs"]
    assert (answer["coders"], pair["matched"], pair["emotion"]["kappa"]) == (["ben", "carl"], 2, 1.0)
    assert answer["disagreements"][0]["differs"] == ["emotion"]
    assert answer["report"] is None


def test_a_folder_that_is_not_a_study_is_refused(run, tmp_path):
    with pytest.raises(StudyError, match=r"not a study.*\n.*epir annotate"):
        run(tmp_path)
