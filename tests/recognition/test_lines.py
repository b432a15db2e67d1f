from epir.recognition.answer import NOT_FOUND, ActionUnit, Answer
from epir.recognition.events import FailedAnswer, answer_lines, events_table
from epir.spotting.words import RegionMotion

SCORES = {"negative": 0.1, "positive": 0.7, "surprise": 0.2}


def found(**changes):
    return Answer(
        **{"input": "a.mp4", "label": "positive", "scores": SCORES, "onset": 3, "apex": 9, "offset": 21} | changes
    )


def test_one_line_per_movement_and_the_notes_below():
    first = found(warnings=("the face is small",))
    second = found(onset=40, apex=44, offset=50, label="uncertain", warnings=("the face is small",))
    lines = answer_lines([Answer(**{**vars(first), "all": (first, second)}), Answer("b.mp4", NOT_FOUND)])
    assert [line.split()[0] for line in lines] == [
        "input",
        "-----",
        "a.mp4",
        "a.mp4",
        "b.mp4",
        "a.mp4,",
        "a.mp4,",
        "note:",
    ]
    assert "positive  " in lines[2] and "0.70" in lines[2]
    assert "40" in lines[3] and "uncertain" in lines[3]
    assert "no micro-expression found" in lines[4]
    assert lines[5:] == [
        "a.mp4, apex 9: No region stands out.",
        "a.mp4, apex 44: No region stands out.",
        "note: a.mp4: the face is small",
    ]


def test_what_moved_and_the_units_stand_below_the_table():
    smile = (RegionMotion("lip corner", "both", 0.006, 0.01, 0.012),)
    units = (ActionUnit(12, "both", 0.9), ActionUnit(14, "left", 0.5), ActionUnit(4, "both", 0.1))
    answer = found(onset_s=0.05, apex_s=0.15, moved=smile, units=units)
    assert answer_lines([answer])[3:] == [
        "Both lip corners up and out; 1.2 % of the face; 0.10 s to the apex.",
        "Action units: 12 (0.90), left 14 (0.50)",
    ]
    row = events_table([answer]).iloc[0]
    assert (row["units"], row["text"]) == ("12+L14", answer.text)


def test_no_answers_no_lines():
    assert answer_lines([]) == []


def test_the_table_has_a_column_per_class_and_a_row_per_movement():
    whole = Answer(**{**vars(found()), "all": (found(), found(onset=40, apex=44, offset=50))})
    table = events_table([whole, Answer("b.mp4", NOT_FOUND), FailedAnswer("c.mp4", "it is gone")])
    assert table["file"].tolist() == ["a.mp4", "a.mp4", "b.mp4", "c.mp4"]
    assert table["p_positive"].tolist()[:2] == [0.7, 0.7]
    assert table["onset"].tolist()[:2] == [3, 40]
    assert table["error"].iloc[3] == "it is gone"
    assert events_table([]).empty


def test_seconds_stand_beside_frame_numbers():
    timed = found(onset_s=0.05, apex_s=0.15, offset_s=0.35, track=0)
    assert "3 (0.05 s)  9 (0.15 s)  21 (0.35 s)" in answer_lines([timed])[2]
    table = events_table([timed])
    assert table[["track", "apex", "apex_s"]].iloc[0].tolist() == [0, 9, 0.15]


def test_the_track_is_shown_where_there_are_several():
    one = Answer(**{**vars(found(track=0)), "all": (found(track=0), found(track=0, onset=40))})
    assert "track" not in answer_lines([one])[0]
    two = Answer(**{**vars(found(track=0)), "all": (found(track=0), found(track=1, onset=40))})
    lines = answer_lines([two])
    assert lines[0].split()[1] == "track"
    assert [line.split()[1] for line in lines[2:4]] == ["0", "1"]
