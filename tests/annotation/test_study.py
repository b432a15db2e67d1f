"""Every action of a coder is a row; nothing is overwritten, and the decision in force follows from the rows."""

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epir.annotation.agreement import agreement
from epir.annotation.export import export_study
from epir.annotation.recordings import add_recordings
from epir.annotation.records import StudyMovement, UnitCode
from epir.annotation.schema import MIGRATIONS, StudyError
from epir.annotation.study import ChangedMeanwhile, Study
from epir.annotation.vocabulary import distinct_names
from epir.core.errors import ConfigError, MachineError, OutputError


def filled(folder, candidates=3):
    study = Study.create(folder)
    recording = study.add_recording("../anna.mp4", "a" * 64, frames=1000, fps=100.0)
    spans = [(100 * n + 10, 100 * n + 20, 100 * n + 35) for n in range(candidates)]
    study.add_movements(
        [StudyMovement(0, recording.id, 0, *span, probability=0.5, measures={"step": 0.1}) for span in spans]
    )
    return study


@pytest.fixture
def study(tmp_path):
    with filled(tmp_path / "study") as study:
        yield study


def test_a_decision_keeps_other_fields_and_survives_reopening(study):
    first, second, _ = study.movements()
    study.decide("anna", first.id, state="accept", emotion="surprise", units=[{"number": 1}, UnitCode(2, "left", "B")])
    study.decide("anna", first.id, onset=12)
    study.decide("ben", second.id, state="reject")
    with Study.open(study.folder) as again:
        (anna,) = again.decisions("anna")
        assert (anna.onset, anna.apex, anna.offset, anna.emotion, anna.state) == (12, 20, 35, "surprise", "accept")
        assert [str(unit) for unit in anna.units] == ["1", "L2B"]
        assert again.coders() == ["anna", "ben"]
        assert again.movements() == study.movements()


def test_two_coders_share_a_candidate_and_not_a_decision(study):
    id = study.movements()[0].id
    study.decide("anna", id, state="accept")
    study.decide("ben", id, state="reject")
    assert [(each.coder, each.state) for each in study.decisions()] == [("anna", "accept"), ("ben", "reject")]
    study.undo("anna")
    assert [(each.coder, each.state) for each in study.decisions()] == [("ben", "reject")]


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(st.sampled_from(["accept", "reject", "unsure", "undo", "redo", "other"]), max_size=25))
def test_undo_and_redo_are_those_of_a_list_of_states(tmp_path_factory, steps):
    with filled(tmp_path_factory.mktemp("undo") / "study") as study:
        ids = [each.id for each in study.movements()]
        states, later, now = [{}], [], {}
        for number, step in enumerate(steps):
            if step == "undo":
                assert (study.undo("anna") is not None) == (len(states) > 1)
                if len(states) > 1:
                    later.append(states.pop())
            elif step == "redo":
                assert (study.redo("anna") is not None) == bool(later)
                if later:
                    states.append(later.pop())
            else:
                id, state = ids[number % 2], "accept" if step == "other" else step
                if study.decisions("anna") and states[-1].get(id) == state:
                    continue  # nothing changes, nothing is written
                study.decide("anna", id, state=state)
                states.append({**states[-1], id: state})
                later.clear()
            now = {each.movement: each.state for each in study.decisions("anna")}
            assert now == states[-1]


def test_a_mark_needs_a_face_that_was_tracked(study):
    with pytest.raises(StudyError, match=r"recording 1 has no face 8\n  fix: mark on one of its faces: 1"):
        study.mark("anna", 1, 1, 2, 3, face=7)
    assert study.decisions() == []


def test_a_mark_is_undone_and_comes_back(study):
    recording = study.recordings()[0].id
    mark = study.mark("anna", recording, 500, 510, 520, emotion="fear")
    assert mark in study.movements() and study.decisions("anna")[0].emotion == "fear"
    study.undo("anna")
    assert mark not in study.movements() and study.decisions("anna") == []
    study.redo("anna")
    assert mark in study.movements()


def test_rows_of_actions_cannot_be_changed_or_removed(study):
    study.decide("anna", study.movements()[0].id, state="accept")
    study.decide("anna", study.movements()[0].id, state="reject")
    study.undo("anna")
    assert [each.kind for each in study.history("anna")] == ["decide", "decide", "undo"]
    assert study.history("anna")[-1].decision.state == "accept"
    with sqlite3.connect(study.folder / "study.db") as raw:
        for statement in ("DELETE FROM action", "UPDATE action SET coder = 'x'"):
            with pytest.raises(sqlite3.IntegrityError, match="actions are never"):
                raw.execute(statement)


def test_a_second_window_does_not_overwrite_the_first(study):
    id = study.movements()[0].id
    seen = study.decide("anna", id, after=0, state="accept").action
    with pytest.raises(ChangedMeanwhile, match="another window"):
        study.decide("anna", id, after=0, state="reject")
    assert study.decide("anna", id, after=seen, state="reject").state == "reject"


def test_edits_before_a_decision_are_drafts(study):
    id = study.movements()[0].id
    study.decide("anna", id, onset=11)
    assert study.decisions("anna") == []
    assert study.decisions("anna", drafts=True)[0].onset == 11
    assert study.decide("anna", id, state="accept").onset == 11


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"state": "acept"}, "did you mean 'accept'"),
        ({"emotion": "joy"}, r"\[study.toml\] has no emotion 'joy'"),
        ({"onset": 30}, "not in order"),
        ({"offset": 1000}, "frames from 0 to 999"),
        ({"units": [{"number": 12}, {"number": 12}]}, "given twice"),
        ({"units": [{"number": 12, "intensity": "F"}]}, "12F is not an action unit"),
        ({"colour": 1}, "no part of a decision 'colour'"),
    ],
)
def test_impossible_decisions_are_refused_and_nothing_is_written(study, fields, words):
    with pytest.raises((StudyError, ConfigError), match=words):
        study.decide("anna", study.movements()[0].id, **fields)
    assert study.history() == []


def test_a_coder_who_is_not_named_is_refused(study):
    (study.folder / "study.toml").write_text('coders = ["anna", "ben"]\n[people]\n"../anna.mp4" = ["anna", "eva"]\n')
    with Study.open(study.folder) as study:
        with pytest.raises(ConfigError, match=r"no coder in study.toml 'ana'\n  fix: did you mean 'anna'"):
            study.decide("ana", study.movements()[0].id, state="accept")
        study.decide("agreed", study.movements()[0].id, state="accept")
        assert study.person(study.recording(1), 1) == "eva"


def test_a_line_about_no_recording_is_refused_with_the_paths_it_may_mean(study):
    """Every command that uses the people of a study says so; ignored, one person would be several."""
    study.decide("anna", study.movements()[0].id, state="accept")
    toml = study.folder / "study.toml"
    before = toml.read_text()
    assert '# "../recordings/day1/anna.mp4" = "anna"' in before and "as shown on the page" not in before
    toml.write_text(before + '"anna.mp4" = "p01"\n')
    words = (
        r"\[people\] in study.toml names 'anna.mp4', which is not a recording of this study"
        r"\n  fix: write the path of the recording from the study: '../anna.mp4'$"
    )
    with Study.open(study.folder) as again:
        for use in (lambda: add_recordings(again, []), lambda: agreement(again), lambda: export_study(again, "x.csv")):
            with pytest.raises(ConfigError, match=words):
                use()
    toml.write_text(before + '"day1/ana.mp4" = "p01"\n')
    with Study.open(study.folder) as again, pytest.raises(ConfigError, match=r"study: '\.\./anna\.mp4'"):
        again.check_people()
    toml.write_text(before + '"../anna.mp4" = "p01"\n')
    with Study.open(study.folder) as again:
        again.check_people()
        assert [each.person for each in again.recordings()] == ["p01"]


def test_files_of_one_name_are_people_of_their_own(tmp_path):
    with Study.create(tmp_path / "study") as study:
        paths = ("../a/sub01/EP01.mp4", "../a/sub02/EP01.mp4", "../a/sub02/EP02.mp4", "../EP03.mkv", "../EP03.mp4")
        for number, path in enumerate(paths):
            study.add_recording(path, f"{number:064d}", frames=1000, fps=100.0)
        recordings = {each.path: each for each in study.recordings()}
        names = [recordings[path].name for path in paths]
        assert names == ["sub01-EP01", "sub02-EP01", "EP02", "EP03.mkv", "EP03.mp4"]
        assert [recordings[path].person for path in paths] == names
        assert study.person(recordings[paths[0]], 1) == "sub01-EP01-2"


parts = st.sampled_from(["a", "b", "a-b", "a.x"])


@given(st.sets(st.tuples(st.sampled_from(["", "../"]), st.lists(parts, min_size=1, max_size=3)).map(
    lambda each: f"../{each[0]}{'/'.join(each[1])}"), max_size=8), st.booleans())  # fmt: skip
def test_names_of_recordings_are_always_distinct(stems, converted):
    paths = [f"{stem}{ending}" for stem in sorted(stems) for ending in (".mp4", ".mkv")[: 1 + converted]]
    names = distinct_names(tuple(paths))
    assert list(names) == paths and len(set(names.values())) == len(paths)
    files = [PurePosixPath(path).stem for path in paths]
    if len(set(files)) == len(files):
        assert list(names.values()) == files


def test_a_candidate_that_comes_again_keeps_its_decisions(study):
    first, second, third = study.movements()
    study.decide("anna", first.id, state="accept")
    again = StudyMovement(0, first.recording, 0, second.onset, second.apex, second.offset, probability=0.9)
    assert study.add_movements([again]) == [second.id]
    study.keep_movements(first.recording, [second.id])
    assert [(each.id, each.probability) for each in study.movements()] == [(first.id, 0.5), (second.id, 0.9)]
    assert third not in study.movements()


def test_acknowledged_decisions_survive_a_kill(study):
    """Another process decides in a loop and is killed: every decision it reported is stored."""
    code = (
        "import sys; from epir.annotation.study import Study\n"
        f"study = Study.open({str(study.folder)!r}); id = study.movements()[0].id\n"
        "for n in range(10**6): study.decide('anna', id, state='accept', note=str(n)); print(n, flush=True)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        last = [process.stdout.readline() for _ in range(30)][-1]
        process.kill()
        last = int((last + process.stdout.read()).split("\n")[-2])
    assert int(study.decisions("anna")[0].note) >= last >= 29
    shutil.copy(study.folder / "study.db", study.folder.parent / "copy.db")
    with sqlite3.connect(study.folder.parent / "copy.db") as copy:  # the file alone is a backup
        assert copy.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert copy.execute("SELECT COUNT(*) FROM action").fetchone()[0] > last


def test_a_full_disk_loses_nothing_and_says_so(study):
    id = study.movements()[0].id
    study.decide("anna", id, state="accept")
    pages = study._connection.execute("PRAGMA page_count").fetchone()[0]
    study._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(MachineError, match="the disk is full; nothing was saved"):
        for number in range(100):
            study.decide("anna", id, state="accept", note=f"{number}" * 1000)
    study._connection.execute("PRAGMA max_page_count = 100000")
    assert study.decide("anna", id, state="unsure").state == "unsure"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_study_can_be_read(study):
    study.decide("anna", study.movements()[0].id, state="accept")
    study.close()
    study.folder.chmod(0o555)
    (study.folder / "study.db").chmod(0o444)
    try:
        with Study.open(study.folder) as again:
            assert len(again.decisions()) == 1
            with pytest.raises(MachineError, match="cannot be written"):
                again.undo("anna")
    finally:
        study.folder.chmod(0o755)


def test_a_folder_that_is_not_a_study_is_refused(tmp_path, study):
    with pytest.raises(StudyError, match="is not a study"):
        Study.open(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(OutputError, match="not a study that epir made"):
        Study.create(tmp_path / "other")
    study._connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    with pytest.raises(StudyError, match="newer epir"):
        Study.open(study.folder)
    (study.folder / "study.db").write_bytes(b"no database" * 1000)
    with pytest.raises(StudyError, match="damaged"):
        Study.open(study.folder)
