"""The readers of the project read exports back and find what the coder accepted."""

import csv
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from coded_studies import FPS, accept, new_study

from epir.annotation.export import export_study
from epir.annotation.records import UnitCode
from epir.annotation.schema import StudyError
from epir.core.errors import OutputError
from epir.core.facs import parse_units
from epir.datasets.annotations import Clock, import_rows, read_tiers
from epir.datasets.intervals import read_intervals
from epir.datasets.manifest import load
from epir.datasets.survey import survey


@pytest.fixture
def study(tmp_path):
    """Anna's: two micro-expressions of p1, one unnamed, one macro-expression and one rejection of p2."""
    for person in ("p1", "p2", "p3"):
        (tmp_path / f"{person}.mp4").write_bytes(person.encode())
    with new_study(tmp_path / "study") as study:
        accept(study, "anna", 1, emotion="fear", units=[UnitCode(1), UnitCode(12, "left", "B")], note="clear,\nshort")
        accept(study, "anna", 2, emotion="anger", onset=290)
        accept(study, "anna", 5)
        accept(study, "anna", 6, kind="macro", emotion="happiness")
        study.decide("anna", 7, state="reject")
        yield study


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_manifest_is_a_corpus_without_a_defect(study, tmp_path):
    done = export_study(study, tmp_path / "out" / "manifest.csv")
    assert done.text.splitlines() == [
        f"{tmp_path}/out/manifest.csv: 2 movements of 1 person, as coded by anna",
        "note: left out: 1 macro-expression, 1 movement without an emotion",
    ]
    corpus = load(tmp_path / "out" / "manifest.csv")
    assert corpus.defects == () and survey(corpus).is_clean
    first, second = corpus.clips
    assert (first.person, first.clip, first.emotion) == ("manifest/p1", "p1_01", "fear")
    assert (first.onset, first.apex, first.offset, first.fps) == (100, 120, 139, FPS)
    assert first.frames.samefile(tmp_path / "p1.mp4")
    assert parse_units(first.extra["action_units"]) == {1: "both", 12: "left"}
    assert (first.extra["coder"], first.extra["note"]) == ("anna", "clear, short")
    assert "agreement" not in first.extra  # there is no other coder
    assert second.onset == 290


def test_adjudication_is_exported_first_with_the_agreement_of_coders(study, tmp_path):
    accept(study, "ben", 1, emotion="fear", units=[UnitCode(1)])
    accept(study, "ben", 2, emotion="surprise")
    with pytest.raises(StudyError, match=r"decisions of anna, ben.*\n.*--coder agreed.*--coder anna"):
        export_study(study, tmp_path / "manifest.csv")
    assert export_study(study, tmp_path / "ben.csv", coder="ben").coder == "ben"
    assert [row["agreement"] for row in rows(tmp_path / "ben.csv")] == ["1.00", "0.00"]  # anna chose another emotion
    accept(study, "agreed", 1, emotion="fear", units=[UnitCode(1)])
    done = export_study(study, tmp_path / "manifest.csv")
    assert done.coder == "agreed"
    assert set(done.notes) == {
        "1 disagreement not settled yet",
        "left out: 2 movements that only one coder has seen",
    }
    (row,) = rows(tmp_path / "manifest.csv")
    assert (row["coder"], row["agreement"], row["unit_agreement"]) == ("agreed", "1.00", "0.80")  # 2 * 2 / (3 + 2)


@pytest.mark.parametrize("ending", ["eaf", "TextGrid"])
def test_tiers_come_back_through_import_annotations(study, tmp_path, ending):
    done = export_study(study, tmp_path / f"study.{ending}")
    assert [path.name for path in done.files] == [f"study-p1.{ending}", f"study-p2.{ending}"]
    back = import_rows(done.files[:1], lambda _: Clock(FPS), video=tmp_path / "p1.mp4").rows
    assert [(row["emotion"], row["onset"], row["apex"], row["offset"]) for row in back] == [
        ("fear", "100", "120", "139"),
        ("anger", "290", "320", "339"),
    ]
    assert back[0]["action_units"] == "1+L12B"
    names = {tier.name for tier in read_tiers(done.files[1]).tiers if tier.intervals}
    assert names == {"micro-expression", "apex", "macro-expression"}


def test_one_recording_gets_the_requested_name(tmp_path):
    with new_study(tmp_path / "study", people=["p1"]) as study:
        accept(study, "anna", 1)
        assert export_study(study, tmp_path / "p1.eaf").files == (tmp_path / "p1.eaf",)


def test_times_are_those_of_the_frames_where_the_rate_varies(study, tmp_path):
    stamps = np.arange(0, 200) / 50.0
    study.set_curves(1, 0, {"numbers": np.arange(0, 200, dtype=np.int32), "seconds": stamps})
    done = export_study(study, tmp_path / "study.eaf")
    (first, second) = read_tiers(done.files[0]).get("micro-expression").intervals
    assert (first.start, second.start) == (2.0, 2.9)  # frame 100 by its stamp, 290 by the rate


def test_lists_of_movements_count_frames_as_their_readers_do(study, tmp_path):
    export_study(study, tmp_path / "megc.csv")
    assert (tmp_path / "megc.csv").read_text().splitlines()[:2] == ["vid,onset,offset,type", "p1,101,140,me"]
    export_study(study, tmp_path / "intervals.csv")
    videos = read_intervals(tmp_path / "intervals.csv")
    assert [(video.name, video.first, len(video.intervals)) for video in videos] == [
        ("p1", 0, 2),
        ("p2", 0, 2),
        ("p3", 0, 0),
    ]
    assert [one.kind for one in videos[1].intervals] == ["micro", "macro"]
    assert videos[0].intervals[0].onset == 100


def test_videos_of_one_file_name_are_exported_under_names_of_their_own(tmp_path):
    """As CASME II has them: sub01/EP01 and sub02/EP01 are two people."""
    with new_study(tmp_path / "study", people=("sub01/EP01", "sub02/EP01", "sub02/EP02"), candidates=1) as study:
        for movement in (1, 2, 3):
            accept(study, "anna", movement, emotion="fear")
        for name in ("manifest.csv", "megc.csv", "intervals.csv"):
            assert export_study(study, tmp_path / name).people == 3
    names = ["sub01-EP01", "sub02-EP01", "EP02"]
    assert sorted(row["vid"] for row in rows(tmp_path / "megc.csv")) == sorted(names)
    videos = read_intervals(tmp_path / "intervals.csv")
    assert {video.name: video.subject for video in videos} == {name: name for name in names}
    clips = {row["clip"]: row["subject"] for row in rows(tmp_path / "manifest.csv")}
    assert clips == {f"{name}_01": name for name in names}


def test_people_of_study_toml_come_back_from_elan(study, tmp_path):
    """p1.mp4 shows p3 as well, who has a recording too: without names she would be two people."""
    study.set_curves(1, 1, {"numbers": np.arange(3, dtype=np.int32), "seconds": np.arange(3) / FPS})
    study.set_curves(1, 0, {"numbers": np.arange(3, dtype=np.int32), "seconds": np.arange(3) / FPS})
    study.words.people.update({"../p1.mp4": ["p1", "p3"]})
    study.mark("anna", 1, 500, 510, 530, face=1, emotion="fear")
    study.mark("anna", 3, 500, 510, 530, emotion="fear")
    files = export_study(study, tmp_path / "study.eaf").files
    back = import_rows(files, lambda _: Clock(FPS)).rows
    assert {(row["frames"].rpartition("/")[2], row["subject"]) for row in back} == {
        ("p1.mp4", "p1"), ("p1.mp4", "p3"), ("p2.mp4", "p2"), ("p3.mp4", "p3"),
    }  # fmt: skip
    notes = export_study(study, tmp_path / "intervals.csv").notes
    assert "1 movement of other faces: epir spot manifest follows only the largest face" in notes


def test_every_decision_is_listed_with_its_coder(study, tmp_path):
    accept(study, "ben", 7)
    done = export_study(study, tmp_path / "decisions.csv")
    listed = rows(tmp_path / "decisions.csv")
    assert len(listed) == 6 and done.movements == 5
    assert [(row["coder"], row["state"]) for row in listed if row["movement"] == "7"] == [
        ("anna", "reject"),
        ("ben", "accept"),
    ]
    assert listed[0]["note"] == "clear,\nshort"
    export_study(study, tmp_path / "decisions.csv", coder="ben", force=True)
    assert len(rows(tmp_path / "decisions.csv")) == 1


def test_impossible_exports_are_refused(study, tmp_path):
    with pytest.raises(StudyError, match=r"study.doc selects no format.*\n.*manifest.csv"):
        export_study(study, tmp_path / "study.doc")
    with pytest.raises(StudyError, match=r"carl has decided nothing.*\n.*anna"):
        export_study(study, tmp_path / "manifest.csv", coder="carl")
    export_study(study, tmp_path / "manifest.csv")
    with pytest.raises(OutputError, match="exists already"):
        export_study(study, tmp_path / "manifest.csv")
    with new_study(tmp_path / "new") as empty, pytest.raises(StudyError, match="nobody has decided"):
        export_study(empty, tmp_path / "other.csv")
    (tmp_path / "p1.mp4").unlink()
    assert any("p1.mp4 does not exist" in note for note in export_study(study, tmp_path / "again.csv").notes)
