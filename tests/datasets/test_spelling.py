import pytest
from hypothesis import given
from hypothesis import strategies as st

from epir.datasets.spelling import column, frame_number, frame_of_file, plain, subject_number, synonyms, whole

numbers = st.integers(min_value=0, max_value=10**8)


@given(
    number=st.integers(min_value=0, max_value=999),
    prefix=st.sampled_from(
        ["", "s", "S", "sub", "Sub", "SUB", "subject", "spNO.", "spNo.", "spno", "sub_", "s-", "Subject "]
    ),
    width=st.integers(min_value=1, max_value=5),
    tail=st.sampled_from(["", ".0"]),
)
def test_every_spelling_of_a_subject_gives_its_number(number, prefix, width, tail):
    assert subject_number(f" {prefix}{number:0{width}d}{tail} ") == number
    assert subject_number(number) == subject_number(float(number)) == number


@pytest.mark.parametrize("text", ["", None, "Subject", "EP02_01f", "sub01a", "-1", "6.5", "s1_ne_01", "a", "x1"])
def test_other_texts_are_no_subjects(text):
    assert subject_number(text) is None


@given(number=st.integers(min_value=1, max_value=10**8), tail=st.sampled_from(["", ".0", ".00", "."]))
def test_a_frame_number_survives_every_kind_of_cell(number, tail):
    assert frame_number(number) == frame_number(float(number)) == frame_number(f" 0{number}{tail} ") == number


@pytest.mark.parametrize("cell", ["/", "?", "", None, " ", "-1", "0", 0, 0.0, -1, "nan", "N/A"])
def test_missing_values(cell):
    assert frame_number(cell) is None


def test_zero_is_a_frame_where_counting_starts_at_zero():
    assert frame_number("0", zero=True) == 0
    assert frame_number("", zero=True) is None


@pytest.mark.parametrize("cell", ["abc", "12a", "4.5", "-7", "1,5", "12 or 14"])
def test_a_cell_that_is_no_frame_number_is_not_guessed(cell):
    with pytest.raises(ValueError):
        frame_number(cell)


@given(
    number=numbers,
    prefix=st.sampled_from(["", "img", "reg_img", "image", "reg_image", "006_", "sub01_EP02_01f_"]),
    width=st.integers(min_value=1, max_value=8),
    suffix=st.sampled_from([".jpg", ".JPG", ".jpeg", ".bmp", ".png"]),
)
def test_a_frame_is_numbered_by_the_last_integer_of_its_name(number, prefix, width, suffix):
    assert frame_of_file(f"{prefix}{number:0{width}d}{suffix}") == number


@pytest.mark.parametrize("name", ["._img46.jpg", "Thumbs.db", "notes1.txt", "cover.jpg", "img46", "46.mp4"])
def test_files_that_are_no_numbered_pictures(name):
    assert frame_of_file(name) is None


@pytest.mark.parametrize("name", ["OnsetFrame", "Onset Frame", " onset  frame ", "ONSET_FRAME", "onset-frame"])
def test_a_column_has_one_name(name):
    assert column(name) == "onsetframe"
    assert column(None) == column("  ") == ""


@given(number=numbers)
def test_whole_numbers_are_written_one_way(number):
    assert whole(f"{number:09d}") == whole(f"{number}.0") == str(number)
    assert whole("4+L10") == "4+L10"


def test_plain_text():
    assert plain(" a \n b ") == "a b"
    assert plain(1.5) == "1.5"
    assert plain(True) == "True"


def test_words_with_two_spellings():
    assert synonyms("Other") == synonyms(" others ") == {"other", "others"}
    assert synonyms("Sad") == synonyms("sadness")
    assert synonyms("Fear") == {"fear"}
