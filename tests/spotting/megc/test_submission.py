import pytest

from epir.core.errors import EpirError
from epir.spotting.megc.submission import CHALLENGES, SubmittedInterval, name_video, submission_files

SHOWN = (
    SubmittedInterval("samm", "004", "004_3", "macro", 301, 480),
    SubmittedInterval("samm", "004", "004_3", "micro", 11, 60, "Surprise"),
    SubmittedInterval("cas", "dzw", "d1", "micro", 8, 16, "negative"),
    SubmittedInterval("cas", "dzw", "d1", "micro", 31, 40, "others"),
    SubmittedInterval("cas", "dzw", "a1", "macro", 1, 90, "positive"),
)
SPOTTED = {
    "cas_pred.csv": "dzw_a1,1,90,mae\ndzw_d1,8,16,me\ndzw_d1,31,40,me\n",
    "samm_pred.csv": "004_3,11,60,me\n004_3,301,480,mae\n",
}
RECOGNISED = {
    "cas_pred.csv": "subject,video,onset,offset,emotion\ndzw,d1,8,16,negative\n",
    "samm_pred.csv": "subject,video,onset,offset,emotion\n004,004_3,11,60,surprise\n",
}


@pytest.mark.parametrize(
    ("challenge", "header"),
    [
        ("2022", "vid,pred_onset,pred_offset,type\n"),
        ("2023", "vid,onset,offset,type\n"),
        ("2024", "vid,onset,offset,type\n"),
    ],
)
def test_spotting_files_hold_both_kinds_to_the_byte(challenge, header):
    assert submission_files(challenge, SHOWN) == {name: header + rows for name, rows in SPOTTED.items()}


def test_spot_then_recognise_takes_micro_expressions_of_three_classes_in_lower_case():
    assert submission_files("2025", SHOWN) == RECOGNISED


def test_in_2024_subjects_are_plain_numbers():
    first = SubmittedInterval(*name_video("anger1", "s15", "casme-sq"), "micro", 5, 9, "positive")
    files = submission_files("2024-str", [first, *SHOWN[:2]])
    assert files["cas_pred.csv"].splitlines()[1:] == ["1,anger1,5,9,positive"]
    assert files["samm_pred.csv"].splitlines()[1:] == ["4,004_3,11,60,surprise"]


@pytest.mark.parametrize("challenge", CHALLENGES)
def test_files_do_not_depend_on_the_order_given_and_exist_without_intervals(challenge):
    assert submission_files(challenge, reversed(SHOWN)) == submission_files(challenge, SHOWN)
    empty = submission_files(challenge, ())
    assert list(empty) == ["cas_pred.csv", "samm_pred.csv"]
    assert all(text.count("\n") == 1 for text in empty.values())


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("004_3",), ("samm", "004", "004_3")),
        (("dzw_d1",), ("cas", "dzw", "d1")),
        (("006_1", "006", "samm-lv"), ("samm", "006", "006_1")),
        (("anger1", "s15", "casme-sq"), ("cas", "1", "anger1")),
        (("happy5", "s40", "casme-sq"), ("cas", "22", "happy5")),
        (("001_2", "", "casme3-lv"), ("cas", "001", "2")),  # what the corpus says goes before what the name looks like
    ],
)
def test_names_are_those_of_the_challenges(names, expected):
    assert name_video(*names) == expected


def test_errors_say_how_to_fix_them():
    with pytest.raises(EpirError, match=r"(?s)'interview' does not say whose video.*dzw_a1"):
        name_video("interview")
    with pytest.raises(EpirError, match=r"(?s)dzw_a1: an interval cannot go from frame 0 to 9.*count frames from 1"):
        SubmittedInterval("cas", "dzw", "a1", "micro", 0, 9)
    with pytest.raises(EpirError, match=r"(?s)from frame 9 to 8"):
        SubmittedInterval("cas", "dzw", "a1", "micro", 9, 8)
    with pytest.raises(EpirError, match=r"(?s)2026.*2025"):
        submission_files("2026", SHOWN)
