import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from coded_studies import accept, new_study

from epir.annotation.agreement import agreement
from epir.annotation.agreement_page import agreement_page, agreement_tables
from epir.annotation.records import UnitCode
from epir.annotation.vocabulary import AGREED


@pytest.fixture
def study(tmp_path):
    with new_study(tmp_path / "study", people=("p<1>", "p2")) as study:
        for coder, word in (("anna", "fear"), ("ben", "surprise")):
            accept(study, coder, 1, emotion="fear", units=[UnitCode(4, "left", "B")])
            accept(study, coder, 2, emotion=word, units=[UnitCode(1), UnitCode(2)])
        accept(study, "anna", 3)
        study.decide("ben", 4, state="reject")
        study.decide("anna", 4, state="unsure")
        yield study


def test_the_tables_of_a_terminal_say_what_was_compared(study):
    text = "\n".join(table.text() for table in agreement_tables(agreement(study)))
    assert "anna, ben" in text and "1 of 2" in text
    assert "Left out: 1 candidate that anna accepted and ben has not seen." in text
    assert "Krippendorff's alpha of 2 coders" in text
    assert "nan" not in text


def test_the_page_lists_every_pair_and_every_disagreement(study):
    study.decide(AGREED, 2, state="accept")
    page = agreement_page(study, agreement(study))
    assert "1 of 2 settled" in page
    assert "p&lt;1&gt;.mp4" in page and "p<1>" not in page
    assert "surprise, AU 1 2, 300-320-339" in page
    assert ">unsure<" in page
    assert "epir annotate study --coder agreed" in page
    assert "nan" not in page.split("<body")[1]


def test_a_page_without_disagreements_says_so(tmp_path):
    with new_study(tmp_path / "study") as study:
        for coder in ("anna", "ben"):
            accept(study, coder, 1)
        assert "None." in agreement_page(study, agreement(study))
