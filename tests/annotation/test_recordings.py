"""Videos are identified by their bytes: moved ones keep their decisions, changed ones are refused."""

import shutil

import pytest

from epir.annotation.recordings import add_recordings, check_recording, find_recordings
from epir.annotation.schema import StudyError
from epir.annotation.study import Study
from epir.core.errors import EpirWarning, FrameError


@pytest.fixture
def folder(tmp_path, numbered):
    folder = tmp_path / "recordings"
    (folder / "day2").mkdir(parents=True)
    numbered.write(folder / "b.mp4", count=40)
    numbered.write(folder / "day2" / "a.mkv", count=50)
    (folder / "notes.txt").touch()
    (folder / ".hidden.mp4").touch()
    return folder


def test_videos_are_found_at_any_depth_and_studies_are_skipped(folder):
    with Study.create(folder / "study") as study:
        shutil.copy(folder / "b.mp4", study.folder / "copy.mp4")
    assert [path.name for path in find_recordings([folder])] == ["b.mp4", "a.mkv"]
    assert [path.name for path in find_recordings([folder / "day2", folder / "b.mp4", folder])] == ["a.mkv", "b.mp4"]
    (folder / "empty").mkdir()
    with pytest.raises(FrameError, match=r"there is no video in .*\n  fix: videos end in"):
        find_recordings([folder / "empty"])
    with pytest.raises(FrameError, match="there is no folder or video"):
        find_recordings([folder / "c.mp4"])


def test_one_damaged_video_of_a_folder_does_not_end_the_others(folder):
    (folder / "broken.mp4").write_bytes(b"no video at all")
    with pytest.warns(EpirWarning, match=r"left out: .*broken\.mp4 cannot be opened"):
        assert [path.name for path in find_recordings([folder])] == ["b.mp4", "a.mkv"]
    with pytest.raises(FrameError, match=r"broken\.mp4"):
        find_recordings([folder, folder / "broken.mp4"])
    for path in (folder / "b.mp4", folder / "day2" / "a.mkv"):
        path.unlink()
    with pytest.raises(FrameError, match=r"broken\.mp4"), pytest.warns(EpirWarning):
        find_recordings([folder])


def test_a_second_call_adds_and_reads_only_new_videos(folder, numbered, monkeypatch):
    with Study.create(folder.parent / "study") as study:
        first = add_recordings(study, find_recordings([folder]))
        assert [(each.path, each.frames, each.person) for each in first] == [
            ("../recordings/b.mp4", 40, "b"),
            ("../recordings/day2/a.mkv", 50, "a"),
        ]
        numbered.write(folder / "c.mp4", count=30)
        read = []
        from epir.annotation import recordings

        digest = recordings.file_digest
        monkeypatch.setattr(recordings, "file_digest", lambda path: (read.append(path.name), digest(path))[1])
        again = add_recordings(study, find_recordings([folder]))
        assert read == ["c.mp4"] and again[0] == first[0] and len(study.recordings()) == 3


def test_a_moved_folder_keeps_its_decisions(folder):
    with Study.create(folder.parent / "study") as study:
        first = add_recordings(study, find_recordings([folder]))
        study.mark("anna", first[0].id, 1, 2, 3)
        moved = folder.rename(folder.parent / "elsewhere")
        again = add_recordings(study, find_recordings([moved]))
        assert [each.id for each in again] == [each.id for each in first]
        assert again[0].path == "../elsewhere/b.mp4" and len(study.decisions()) == 1


def test_a_copy_is_left_out_and_the_first_file_stays(folder):
    copy = folder / "day2" / "z.mp4"
    shutil.copy(folder / "b.mp4", copy)
    with Study.create(folder.parent / "study") as study:
        for _ in range(2):
            with pytest.warns(EpirWarning, match=r"left out: .*day2/z\.mp4 is a copy of \.\./recordings/b\.mp4"):
                add_recordings(study, find_recordings([folder]))
            assert [each.person for each in study.recordings()] == ["b", "a"]
        (folder / "b.mp4").unlink()
        add_recordings(study, find_recordings([folder]))
        assert [each.person for each in study.recordings()] == ["a", "z"]


def test_a_changed_video_is_refused(folder, numbered):
    with Study.create(folder.parent / "study") as study:
        recording, video = add_recordings(study, find_recordings([folder]))[0], folder / "b.mp4"
        video.touch()  # another time, the same bytes
        assert check_recording(study, recording) == video
        numbered.write(video, count=41)
        for refused in (lambda: check_recording(study, recording), lambda: add_recordings(study, [video])):
            with pytest.raises(StudyError, match="has changed since it was added"):
                refused()
        video.unlink()
        with pytest.raises(StudyError, match=r"was moved or removed\n  fix: put it back"):
            check_recording(study, recording)
