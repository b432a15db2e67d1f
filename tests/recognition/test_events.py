"""Events, frames and tiers of an answer: hand-worked, and of a real prediction."""

import csv
import io
from dataclasses import replace

import numpy as np
import pympi
import pytest
from praatio import textgrid

from epir.faces.align import Crop
from epir.recognition.answer import NOT_FOUND, ActionUnit, Answer, units_text
from epir.recognition.events import HEAD, REGION_COLUMNS, TAIL, event_rows, frames_table
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
        face=np.zeros(40, np.float32),
        lids=np.zeros(40, np.float32),
        head=np.linspace(0, 0.039, 40, dtype=np.float32),
        movements=(smile,),
        others=(blink,),
        frames=40,
        stamps=np.arange(40) / 50,
        skin=skin,
        squares=(Crop(100, 120, 90, 1.5),) * 40,
    )


def made_answer(**changes):
    values = {
        "input": "a.mp4", "label": "positive", "scores": SCORES, "onset": 10, "apex": 14, "offset": 20,
        "onset_s": 0.2, "apex_s": 0.28, "offset_s": 0.4, "fps": 50.0, "track": 0, "probability": 0.9, "strength": 0.012,
        "region": "lip corners", "side": "left", "head": 0.002,
        "moved": (RegionMotion("lip corner", "left", 0.005, 0.01, 0.012),), "units": UNITS, "timeline": made_timeline(),
    }  # fmt: skip
    made = Answer(**{**values, **changes})
    return replace(made, all=(made,))


def test_an_event_is_a_movement_or_what_was_taken_for_none():
    assert made_answer().events()["status"].tolist() == ["reported"]
    table = made_answer().events(every=True)
    assert list(table.columns) == [*HEAD, "p_negative", "p_positive", "p_surprise", *TAIL]
    assert table["movement"].tolist() == [1, 2]
    first, second = table.iloc[0], table.iloc[1]
    assert first[["file", "onset", "apex", "offset", "apex_s", "class", "p_positive"]].tolist() == [
        "a.mp4", 10, 14, 20, 0.28, "positive", 0.7,
    ]  # fmt: skip
    assert first[["status", "units", "strength", "region"]].tolist() == ["reported", "6+L12", 0.012, "lip corners"]
    assert first["side"] == "left"  # of the person: the right of the picture
    assert first["text"] == "Left lip corner up and out; 1.2 % of the face; 0.08 s to the apex."
    assert second[["status", "class", "region", "reason", "onset_s"]].tolist() == ["rejected", "", "eyes", "blink", 0.6]


def test_a_video_without_a_movement_has_a_row():
    (row,) = event_rows(Answer("b.mp4", NOT_FOUND, fps=50.0, warnings=("the face is small",)), ["positive"])
    assert (row["class"], row["onset"], row["movement"], row["warnings"]) == (
        NOT_FOUND,
        None,
        None,
        "the face is small",
    )
    assert "p_positive" in row
    assert Answer("b.mp4", NOT_FOUND).frames().empty


def test_a_frame_has_time_face_head_regions_and_movement():
    table = frames_table(made_answer(), every=True)
    assert len(table) == 40
    row = table.iloc[14]
    assert row[["frame", "time_s", "face_x", "face_y", "face_side", "face_angle", "movement"]].tolist() == [
        14, 0.28, 100, 120, 90, 1.5, 1,
    ]  # fmt: skip
    assert row["head"] == pytest.approx(0.014)
    assert row["left lip corner"] == pytest.approx(0.012)  # the right of the picture
    assert row["right lip corner"] == 0
    assert table["movement"].isna().sum() == 40 - 11 - 5
    assert table["movement"].iloc[32] == 2
    assert set(REGION_COLUMNS) <= set(table.columns)


def test_units_are_written_as_annotators_do():
    assert units_text(UNITS) == "4+6+L12"
    assert units_text([ActionUnit(14, "right", 1.0)]) == "R14"
    assert units_text(()) == ""


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
    both = replace(one, all=(one.all[0], two.all[0]))
    names = [tier.name for tier in answer_tiers(both)]
    assert "micro-expression of 0" in names and "micro-expression of 1" in names
    assert both.frames()["track"].value_counts().to_dict() == {0: 40, 1: 40}


def test_a_candidate_has_what_a_movement_has_and_the_rule_that_rejected_it():
    blink = made_answer(label="uncertain", onset=30, apex=32, offset=34, onset_s=0.6, apex_s=0.64, offset_s=0.68,
                        probability=0.31, rule="head", head=0.02, all=())  # fmt: skip
    answer = replace(made_answer(), candidates=(blink,))
    row = answer.events().iloc[1]
    assert row[["status", "class", "reason", "probability", "units"]].tolist() == [
        "rejected", "positive", "head", 0.31, "6+L12",
    ]  # fmt: skip
    assert len(answer.events(every=True)) == 2  # not listed twice
    (told,) = answer.to_dict_of_all()["candidates"]
    assert (told["class"], told["rule"], told["head"], told["onset"]) == ("positive", "head", 0.02, 30)
    (tier,) = [each for each in answer_tiers(answer) if each.name == "candidates"]
    assert [each.label for each in tier.intervals] == [
        "probability 0.31, head; positive; AU 6+L12; left lip corners, 1.2 % on average, head 2 %; "
        "Left lip corner up and out; 1.2 % of the face; 0.04 s to the apex."
    ]


def test_a_submission_counts_frames_from_one():
    assert megc_text(made_answer(), "001_2", 1) == "vid,onset,offset,type\n001_2,11,21,me\n"


def test_files_of_a_prediction_open_in_their_libraries(recognizer, video, tmp_path):
    answer = recognizer.predict(video)
    _written, notes = write_tables(video, answer, tmp_path)
    assert not notes
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
