"""Events, frames, tiers and lines of an answer: worked by hand, and from a real prediction."""

import csv
import io
from dataclasses import replace

import numpy as np
import pympi
import pytest
from praatio import textgrid

from epir.faces.align import Crop
from epir.recognition.answer import NOT_FOUND, ActionUnit, Answer, Person, facs_text
from epir.recognition.classify import _spotted_values
from epir.recognition.events import (
    HEAD,
    REGION_COLUMNS,
    TAIL,
    answer_lines,
    event_rows,
    events_table,
    frames_table,
)
from epir.recognition.outputs import answer_tiers, megc_text, write_tables
from epir.spotting.regions import GROUPS, REGIONS
from epir.spotting.timeline import FaceMovement, Timeline
from epir.spotting.words import RegionMotion

SCORES = {"negative": 0.1, "positive": 0.7, "surprise": 0.2}
UNITS = (ActionUnit(12, "left", 0.9), ActionUnit(6, "both", 0.6), ActionUnit(4, "both", 0.2))


def made_timeline(track=0):
    smile = FaceMovement(
        10, 14, 20, strength=0.012, region="lip corners", side="right", seconds=(0.2, 0.28, 0.4), track=track
    )
    blink = FaceMovement(
        30, 32, 34, strength=0.03, region="eyes", kind="blink", side="both", seconds=(0.6, 0.64, 0.68), track=track
    )
    skin = np.zeros((40, len(REGIONS)), np.float32)
    skin[14, [each.name == "lip corner" and each.side == "right" for each in REGIONS]] = 0.012
    return Timeline(
        fps=50.0,
        numbers=np.arange(40),
        motion=np.zeros((40, len(GROUPS)), np.float32),
        head=np.linspace(0, 0.039, 40, dtype=np.float32),
        movements=(smile,),
        others=(blink,),
        stamps=np.arange(40) / 50,
        skin=skin,
        squares=(Crop(100, 120, 90, 1.5),) * 40,
    )


def made_answer(**changes):
    values = {
        "input": "a.mp4", "label": "positive", "scores": SCORES, "onset": 10, "apex": 14, "offset": 20,
        "onset_s": 0.2, "apex_s": 0.28, "offset_s": 0.4, "fps": 50.0, "track": 0, "probability": 0.9, "strength": 1.2,
        "region": "lip corners", "side": "left", "head": 0.2,
        "moved": (RegionMotion("lip corner", "left", 0.005, 0.01, 0.012),), "units": UNITS, "timeline": made_timeline(),
    }  # fmt: skip
    answer = Answer(**{**values, **changes})
    return replace(answer, all=(answer,), people=(Person(answer.track, answer.timeline),))


def test_an_event_is_a_reported_or_rejected_movement():
    assert made_answer().events()["status"].tolist() == ["reported"]
    table = made_answer().events(every=True)
    assert list(table.columns) == [*HEAD, "p_negative", "p_positive", "p_surprise", *TAIL]
    assert table["movement"].tolist() == [1, 2]
    first, second = table.iloc[0], table.iloc[1]
    assert first[["file", "onset", "apex", "offset", "apex_s", "class", "p_positive"]].tolist() == [
        "a.mp4", 10, 14, 20, 0.28, "positive", 0.7,
    ]  # fmt: skip
    assert first[["status", "units", "strength", "region"]].tolist() == ["reported", "6+L12", 1.2, "lip corners"]
    assert first["side"] == "left"  # of the person: the right of the picture
    assert first["text"] == "Left lip corner up and out; 1.2 % of the face; 0.08 s to the apex."
    assert second[["status", "class", "region", "reason", "onset_s"]].tolist() == ["rejected", "", "eyes", "blink", 0.6]


@pytest.mark.parametrize(
    ("region", "side", "text"),
    [
        ("lip corners", "both", "Both lip corners up, chin down; 0.31 % of the face; 0.08 s to the apex."),
        ("eyes", "right", "Eyes slightly, chin down, lip corners up; 0.31 % of the face; 0.08 s to the apex."),
    ],
)
def test_text_and_columns_agree_on_region_side_and_size(region, side, text):
    chin, corners = RegionMotion("chin", "middle", 0, -0.01, 0.02), RegionMotion("lip corner", "both", 0, 0.009, 0.02)
    movement = replace(made_timeline().movements[0], region=region, side="left", strength=0.00312)  # of the picture
    values = _spotted_values(movement, (chin, corners))
    row = made_answer(**{**values, "rule": "", "moved": (chin, corners)}).events().iloc[0]
    assert row[["region", "side", "strength", "text"]].tolist() == [region, side, 0.312, text]


def test_a_video_without_a_movement_has_a_row():
    (row,) = event_rows(Answer("b.mp4", NOT_FOUND, fps=50.0, warnings=("the face is small",)), ["positive"])
    assert (row["class"], row["onset"], row["movement"]) == (NOT_FOUND, None, None)
    assert row["warnings"] == "the face is small"
    assert "p_positive" in row
    assert Answer("b.mp4", NOT_FOUND).frames().empty


def test_a_frame_has_time_face_head_regions_and_movement():
    table = frames_table(made_answer(), every=True)
    assert len(table) == 40
    row = table.iloc[14]
    assert row[["frame", "time_s", "face_x", "face_y", "face_side", "face_angle", "movement"]].tolist() == [
        14, 0.28, 100, 120, 90, 1.5, 1,
    ]  # fmt: skip
    assert row["head"] == pytest.approx(1.4)
    assert row["left lip corner"] == pytest.approx(1.2)  # the right of the picture
    assert row["right lip corner"] == 0
    assert table["movement"].isna().sum() == 40 - 11 - 5
    assert table["movement"].iloc[32] == 2
    assert set(REGION_COLUMNS) <= set(table.columns)


def test_units_are_written_as_annotators_do():
    assert facs_text(UNITS) == "4+6+L12"
    assert facs_text([ActionUnit(14, "right", 1.0)]) == "R14"
    assert facs_text(()) == ""


def test_tiers_of_an_answer():
    tiers = {tier.name: tier for tier in answer_tiers(made_answer())}
    assert list(tiers) == ["micro-expression", "apex", "action units", "what moved", "rejected"]
    told = {name: [(each.start, each.end, each.label) for each in tier.intervals] for name, tier in tiers.items()}
    assert told["micro-expression"] == [(0.2, 0.4, "positive")]
    assert told["apex"] == [(0.28, pytest.approx(0.3), "apex")] and tiers["apex"].points
    assert told["action units"] == [(0.2, 0.4, "6+L12")]
    assert told["rejected"] == [(0.6, 0.68, "blink")]


def test_each_of_several_people_has_tiers():
    one, two = made_answer(), made_answer(track=1, timeline=made_timeline(track=1))
    both = replace(one, all=(one.all[0], two.all[0]), people=(*one.people, *two.people))
    names = [tier.name for tier in answer_tiers(both)]
    assert "micro-expression of 0" in names and "micro-expression of 1" in names
    assert both.frames()["track"].value_counts().to_dict() == {0: 40, 1: 40}


def test_a_candidate_has_the_values_of_a_movement_and_the_rule_that_rejected_it():
    blink = made_answer(label="uncertain", onset=30, apex=32, offset=34, onset_s=0.6, apex_s=0.64, offset_s=0.68,
                        probability=0.31, rule="head", head=2.0, all=())  # fmt: skip
    answer = replace(made_answer(), candidates=(blink,))
    row = answer.events().iloc[1]
    assert row[["status", "class", "reason", "probability", "units"]].tolist() == [
        "rejected", "positive", "head", 0.31, "6+L12",
    ]  # fmt: skip
    assert len(answer.events(every=True)) == 2  # not listed twice
    (told,) = answer.to_dict_of_all()["candidates"]
    assert (told["class"], told["rule"], told["head"], told["onset"]) == ("positive", "head", 2.0, 30)
    (tier,) = [each for each in answer_tiers(answer) if each.name == "candidates"]
    assert [each.label for each in tier.intervals] == [
        "probability 0.31, head; positive; AU 6+L12; head 2 %; "
        "Left lip corner up and out; 1.2 % of the face; 0.04 s to the apex."
    ]


def test_a_submission_counts_frames_from_one():
    assert megc_text(made_answer(), "001_2", 1) == "vid,onset,offset,type\n001_2,11,21,me\n"


def test_files_of_a_prediction_open_in_their_libraries(recognizer, video, tmp_path):
    answer = recognizer.predict(video)
    write_tables(video, answer, tmp_path)
    rows = list(csv.DictReader(io.StringIO((tmp_path / "events.csv").read_text())))
    assert [(row["status"], row["onset"]) for row in rows] == [("reported", str(answer.onset))]
    frames = list(csv.DictReader(io.StringIO((tmp_path / "frames.csv").read_text())))
    assert len(frames) == 48
    assert {row["movement"] for row in frames if answer.onset <= int(row["frame"]) <= answer.offset} == {"1"}
    moving = max(frames, key=lambda row: float(row["left lip corner"]))
    assert answer.onset < int(moving["frame"]) < answer.offset
    elan = pympi.Eaf(str(tmp_path / "smile.eaf"))
    (smile,) = elan.get_annotation_data_for_tier("micro-expression")
    assert smile == (round(1000 * answer.onset_s), round(1000 * answer.offset_s), answer.label)
    praat = textgrid.openTextgrid(str(tmp_path / "smile.TextGrid"), includeEmptyIntervals=False)
    assert praat.getTier("apex").entries[0].time == pytest.approx(answer.apex_s)
    assert (tmp_path / "megc.csv").read_text().splitlines()[1] == f"smile,{answer.onset + 1},{answer.offset + 1},me"


def test_a_prediction_says_what_moved_and_why(recognizer, video):
    answer = recognizer.predict(video)
    assert "lip corner" in answer.text and " up" in answer.text
    assert answer.text.endswith(f"{answer.apex_s - answer.onset_s:.2f} s to the apex.")
    assert answer.attribution.label == answer.best and answer.attribution.patches.shape == (7, 7)
    values = answer.to_dict()
    assert values["text"] == answer.text and values["frames"] == answer.frame_count == 48
    assert values["moved"][0]["region"] and len(values["attribution"]["patches"]) == 7
    assert recognizer.predict(video, explain=False).attribution is None


def movement_answer(**changes):
    return Answer(
        **{"input": "a.mp4", "label": "positive", "scores": SCORES, "onset": 3, "apex": 9, "offset": 21} | changes
    )


def test_one_line_per_movement_and_the_notes_below():
    first = movement_answer(warnings=("the face is small",))
    second = movement_answer(onset=40, apex=44, offset=50, label="uncertain", warnings=("the face is small",))
    lines = answer_lines([replace(first, all=(first, second)), Answer("b.mp4", NOT_FOUND)])
    first_words = [line.split()[0] for line in lines]
    assert first_words == ["input", "-----", "a.mp4", "a.mp4", "b.mp4", "a.mp4,", "a.mp4,", "note:"]
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
    answer = movement_answer(onset_s=0.05, apex_s=0.15, moved=smile, units=units)
    assert answer_lines([answer])[3:] == [
        "Both lip corners up and out; 1.2 % of the face; 0.10 s to the apex.",
        "Action units: 12 (0.90), left 14 (0.50)",
    ]
    row = events_table(answer).iloc[0]
    assert (row["units"], row["text"]) == ("12+L14", answer.text)


def test_seconds_stand_beside_frame_numbers():
    timed = movement_answer(onset_s=0.05, apex_s=0.15, offset_s=0.35, track=0)
    assert "3 (0.05 s)  9 (0.15 s)  21 (0.35 s)" in answer_lines([timed])[2]
    table = events_table(timed)
    assert table[["track", "apex", "apex_s"]].iloc[0].tolist() == [0, 9, 0.15]


def test_the_track_is_shown_if_there_are_several():
    first = movement_answer(track=0)
    one, two = (replace(first, all=(first, movement_answer(track=track, onset=40))) for track in (0, 1))
    assert "track" not in answer_lines([one])[0] and answer_lines([]) == []
    lines = answer_lines([two])
    assert lines[0].split()[1] == "track"
    assert [line.split()[1] for line in lines[2:4]] == ["0", "1"]
