import sys
from dataclasses import replace

import pympi
import pytest
from praatio import textgrid

from epir.core.errors import DatasetError, MissingExtra
from epir.datasets.annotations import (
    Clock,
    Tier,
    TierInterval,
    TierNames,
    import_rows,
    manifest_text,
    read_tiers,
    video_names,
    without_overlap,
    write_eaf,
    write_textgrid,
)
from epir.datasets.manifest import read_manifest

SMILE = Tier("micro-expression", (TierInterval(0.13, 0.52, "positive"), TierInterval(1.0, 1.2, "surprise")))
APEX = Tier("apex", (TierInterval(0.22, 0.23, "apex"),), points=True)


def test_an_elan_file_holds_tiers_in_milliseconds_and_names_its_video(tmp_path):
    video = tmp_path / "a film.mp4"
    video.touch()
    path = write_eaf(tmp_path / "out" / "a.eaf", [SMILE, APEX], video)
    eaf = pympi.Eaf(str(path))
    assert sorted(eaf.get_tier_names()) == ["apex", "micro-expression"]
    assert sorted(eaf.get_annotation_data_for_tier("micro-expression")) == [
        (130, 520, "positive"),
        (1000, 1200, "surprise"),
    ]
    link = eaf.get_linked_files()[0]
    assert link["MEDIA_URL"] == video.resolve().as_uri()
    assert link["RELATIVE_MEDIA_URL"] == "../a film.mp4"
    assert [each.name for each in path.parent.iterdir()] == ["a.eaf"]
    assert read_tiers(path).media.resolve() == video


def test_a_praat_file_holds_intervals_and_points(tmp_path):
    path = write_textgrid(tmp_path / "a.TextGrid", [SMILE, APEX], 2.0)
    grid = textgrid.openTextgrid(str(path), includeEmptyIntervals=False)
    assert grid.tierNames == ("micro-expression", "apex")
    assert [tuple(each) for each in grid.getTier("micro-expression").entries] == [
        (0.13, 0.52, "positive"),
        (1.0, 1.2, "surprise"),
    ]
    assert [tuple(each) for each in grid.getTier("apex").entries] == [(0.22, "apex")]
    assert grid.maxTimestamp == pytest.approx(2.0, abs=0.01)


@pytest.mark.parametrize("ending", ["eaf", "TextGrid"])
def test_what_was_written_is_read_again(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    write_eaf(path, [SMILE, APEX]) if ending == "eaf" else write_textgrid(path, [SMILE, APEX], 2.0)
    tiers = read_tiers(path)
    assert tiers.get("Micro-Expression").intervals == SMILE.intervals
    assert tiers.get("apex").intervals[0].start == 0.22
    assert tiers.get("gaze") is None


def test_no_tiers_make_a_file_too(tmp_path):
    assert read_tiers(write_eaf(tmp_path / "a.eaf", [])).tiers[0].intervals == ()


def test_overlapping_intervals_go_to_several_tiers():
    one, two, three = TierInterval(0, 2, "a"), TierInterval(1, 3, "b"), TierInterval(2, 4, "c")
    assert without_overlap("rejected", [two, three, one]) == [
        Tier("rejected", (one, three)),
        Tier("rejected 2", (two,)),
    ]
    assert without_overlap("rejected", []) == []


def test_files_that_cannot_be_read(tmp_path):
    broken = tmp_path / "a.eaf"
    broken.write_text("no xml")
    with pytest.raises(DatasetError, match=r"a.eaf cannot be read(.|\n)*open it in ELAN"):
        read_tiers(broken)
    with pytest.raises(DatasetError, match="there is no file"):
        read_tiers(tmp_path / "gone.eaf")
    (tmp_path / "a.txt").touch()
    with pytest.raises(DatasetError, match=r"is not an annotation file(.|\n)*\.eaf, \.textgrid or \.csv"):
        read_tiers(tmp_path / "a.txt")


@pytest.mark.parametrize(("module", "ending"), [("pympi", "eaf"), ("praatio", "TextGrid")])
def test_without_the_extra_the_error_says_how_to_install_it(tmp_path, monkeypatch, module, ending):
    monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / f"a.{ending}"
    path.touch()
    with pytest.raises(MissingExtra, match=r'pip install -c constraints.txt ".\[annotate\]"'):
        read_tiers(path)


def clock(path):
    return Clock(100.0, 1 if path.is_dir() else 0)


@pytest.fixture
def video(tmp_path):
    place = tmp_path / "s01.mp4"
    place.touch()
    return place


def test_time_stamps_find_the_nearest_frame():
    clock = Clock(30.0, last=4, stamps=(0.0, 0.033, 0.067, 0.108, 0.15))
    assert [clock.frame(stamp) for stamp in clock.stamps] == [0, 1, 2, 3, 4]
    assert [clock.frame(seconds) for seconds in (-0.1, 0.05, 0.051, 0.0875, 0.13)] == [0, 1, 2, 2, 4]
    assert [clock.frame(seconds) for seconds in (0.15, 0.192, 0.2, 1.15)] == [4, 4, 6, 34]  # it is shown for 42 ms
    assert Clock(30.0, last=0, stamps=(0.0,)).frame(0.033) == 0


def tiers(person=""):
    return [
        Tier(f"micro-expression{person}", (TierInterval(0.13, 0.52, "positive"), TierInterval(2, 2.3, "surprise"))),
        Tier(f"apex{person}", (TierInterval(0.22, 0.23, "apex"),), points=True),
        Tier(f"action units{person}", (TierInterval(0.13, 0.52, "6+L12"),)),
    ]


def test_tiers_become_clips_in_frames(tmp_path, video):
    path = write_eaf(tmp_path / "coded" / "s01.eaf", tiers(), video)
    rows = import_rows([path], clock).rows
    assert [row["clip"] for row in rows] == ["s01_01", "s01_02"]
    first, second = rows
    assert (first["onset"], first["apex"], first["offset"], first["fps"]) == ("13", "22", "52", "100")
    assert (first["emotion"], first["action_units"], first["subject"]) == ("positive", "6+L12", "s01")
    assert (second["onset"], second["apex"], second["offset"], second["action_units"]) == ("200", "", "230", "")


def test_the_manifest_is_a_corpus(tmp_path, video):
    path = write_eaf(tmp_path / "coded" / "s01.eaf", tiers(), video)
    manifest = tmp_path / "mine" / "manifest.csv"
    manifest.parent.mkdir()
    manifest.write_text(manifest_text(import_rows([path], clock, subject="anna").rows, manifest.parent))
    corpus = read_manifest(manifest, root=manifest.parent)
    assert [(clip.subject, clip.clip, clip.onset, clip.apex) for clip in corpus.clips] == [
        ("anna", "s01_01", 13, 22),
        ("anna", "s01_02", 200, None),
    ]
    assert corpus.clips[0].frames.resolve() == video
    assert corpus.clips[0].extra["action_units"] == "6+L12"


def test_a_praat_file_takes_the_video_of_its_name(tmp_path, video):
    path = write_textgrid(tmp_path / "s01.TextGrid", tiers(), 3.0)
    assert {row["frames"] for row in import_rows([path], clock).rows} == {str(video)}
    path = write_textgrid(tmp_path / "other.TextGrid", tiers(), 3.0)
    with pytest.raises(DatasetError, match=r"other.mp4, which does not exist(.|\n)*--video FILE"):
        import_rows([path], clock)
    assert import_rows([path], clock, video=video).rows[0]["frames"] == str(video)


def test_pictures_are_counted_from_the_first_number(tmp_path):
    frames = tmp_path / "s01"
    frames.mkdir()
    path = write_textgrid(tmp_path / "s01.TextGrid", tiers(), 3.0)
    assert import_rows([path], clock).rows[0]["onset"] == "14"


def test_tiers_of_another_name(tmp_path, video):
    path = write_eaf(tmp_path / "s01.eaf", [Tier("ME", (TierInterval(0, 1, "disgust"),))], video)
    assert import_rows([path], clock, names=TierNames(emotion="me")).rows[0]["emotion"] == "disgust"
    with pytest.raises(DatasetError, match=r"no tier 'micro-expression'; its tiers are: ME(.|\n)*--tier NAME"):
        import_rows([path], clock)


def test_several_people_of_one_video(tmp_path, video):
    path = write_eaf(tmp_path / "s01.eaf", [*tiers(" of 0"), *tiers(" of 1")], video)
    rows = import_rows([path], clock).rows
    assert [row["subject"] for row in rows] == ["s01-0", "s01-0", "s01-1", "s01-1"]
    assert len({row["clip"] for row in rows}) == 4


def test_elan_names_the_person(tmp_path, video):
    named = [replace(tier, person="p03") for tier in tiers(" of 1")]
    path = write_eaf(tmp_path / "s01.eaf", [*tiers(" of 0"), *named], video)
    assert [tier.person for tier in read_tiers(path).tiers] == ["", "", "", "p03", "p03", "p03"]
    imported = import_rows([path], clock)
    assert [row["subject"] for row in imported.rows] == ["s01-0", "s01-0", "p03", "p03"]
    assert imported.unnamed == 1
    assert {row["subject"] for row in import_rows([path], clock, subject="x").rows} == {"x-0", "x-1"}


def test_numbers_past_the_end_are_told(tmp_path, video):
    files = [
        write_eaf(tmp_path / "s01.eaf", tiers(), video),
        write_eaf(tmp_path / "short.eaf", [Tier("micro-expression", (TierInterval(0.1, 0.2, "joy"),))], video),
    ]
    imported = import_rows(files, lambda path: Clock(100.0, last=51))
    words = f"the offset 52 is past the end of {video}, whose last frame is 51 (and 2 more)"
    assert imported.past_the_end == {str(files[0]): words}
    assert [row["offset"] for row in imported.rows] == ["52", "230", "20"]


def place(tmp_path, *names, folders=False):
    for name in names:
        path = tmp_path / name
        (path if folders else path.parent).mkdir(parents=True, exist_ok=True)
        if not folders:
            path.touch()
    return [str(tmp_path / name) for name in names]


def test_videos_of_one_name_are_named_after_their_folders(tmp_path):
    paths = place(tmp_path, "anna/1/interview.mp4", "anna/2/interview.mp4", "ben/2/interview.mov", "ben/2/other.mp4")
    assert list(video_names(paths).values()) == ["1-interview", "anna-2-interview", "ben-2-interview", "other"]
    paths = place(tmp_path, "a.mp4", "a.mkv")
    assert list(video_names([*paths, f"{tmp_path}/x/../a.mp4"]).values()) == ["a.mp4", "a.mkv"]


def test_a_folder_keeps_its_dots(tmp_path):
    folders = place(tmp_path, "spNO.1_a_355", "spNO.2_b_10", folders=True)
    assert list(video_names(folders).values()) == ["spNO.1_a_355", "spNO.2_b_10"]


def test_two_interviews_are_two_people(tmp_path):
    place(tmp_path, "anna/interview.mp4", "ben/interview.mp4")
    files = [write_textgrid(tmp_path / name / "interview.TextGrid", tiers(), 3.0) for name in ("anna", "ben")]
    imported = import_rows(files, clock)
    assert [(row["subject"], row["clip"]) for row in imported.rows] == [
        ("anna-interview", "anna-interview_01"), ("anna-interview", "anna-interview_02"),
        ("ben-interview", "ben-interview_01"), ("ben-interview", "ben-interview_02"),
    ]  # fmt: skip
    assert imported.unnamed == 2
    imported = import_rows(files, clock, subject="carl")
    assert ({row["subject"] for row in imported.rows}, imported.unnamed) == ({"carl"}, 0)
    (tmp_path / "events.csv").write_text(
        "file,subject,emotion,onset\nanna/interview.mp4,,joy,1\nben/interview.mp4,ben,joy,1\n"
    )
    imported = import_rows([tmp_path / "events.csv"], clock)
    assert ([row["subject"] for row in imported.rows], imported.unnamed) == (["anna-interview", "ben"], 1)


def test_a_csv_of_events(tmp_path, video):
    path = tmp_path / "events.csv"
    path.write_text(
        "status,file,onset,apex,offset,fps,class,units\n"
        "reported,s01.mp4,13,22,52,100,positive,L12\n"
        "rejected,s01.mp4,60,63,70,100,,\n"
        "none,s02.mp4,,,,100,no micro-expression found,\n"
    )
    (row,) = import_rows([path], clock).rows
    assert (row["clip"], row["onset"], row["emotion"], row["action_units"]) == ("s01_01", "13", "positive", "L12")
    assert row["frames"] == str(video)
    path.write_text("file,onset,class\ns02.mp4,13,positive\n")
    with pytest.raises(DatasetError, match=r"events.csv annotates .*s02.mp4, which does not exist\n.*its column file"):
        import_rows([path], clock)
    path.write_text("file,onset\na,1\n")
    with pytest.raises(DatasetError, match="has no column emotion"):
        import_rows([path], clock)


def test_the_people_of_one_video_stay_apart_in_a_csv_too(tmp_path, video):
    path = tmp_path / "events.csv"
    path.write_text("file,track,onset,class\ns01.mp4,0,13,joy\ns01.mp4,1,20,joy\n")
    assert [row["subject"] for row in import_rows([path], clock).rows] == ["s01-0", "s01-1"]
    assert [row["subject"] for row in import_rows([path], clock, subject="x").rows] == ["x-0", "x-1"]
    path.write_text("file,track,onset,class,subject\ns01.mp4,0,13,joy,anna\ns01.mp4,1.0,20,joy,ben\n")
    assert [row["subject"] for row in import_rows([path], clock).rows] == ["anna", "ben"]
    path.write_text("file,track,onset,class\ns01.mp4,1,13,joy\n")
    assert [row["subject"] for row in import_rows([path], clock).rows] == ["s01"]


def test_nothing_annotated_is_an_error(tmp_path, video):
    path = write_eaf(tmp_path / "s01.eaf", [Tier("micro-expression", ())], video)
    with pytest.raises(DatasetError, match="no movement is annotated"):
        import_rows([path], clock)


def test_a_file_without_movements_does_not_stop_the_others(tmp_path, video):
    files = [
        write_eaf(tmp_path / "s01.eaf", tiers(), video),
        write_eaf(tmp_path / "empty.eaf", [Tier("micro-expression", ())], video),
        write_eaf(tmp_path / "other.eaf", [Tier("ME", (TierInterval(0, 1, "disgust"),))], video),
    ]
    imported = import_rows(files, clock)
    assert len(imported.rows) == 2
    assert imported.without_movements == {
        str(files[1]): "no movement is annotated",
        str(files[2]): "it has no tier 'micro-expression'; its tiers are: ME",
    }


def test_what_a_library_prints_is_no_part_of_the_answer(tmp_path, video, monkeypatch, capsys):
    path = write_textgrid(tmp_path / "s01.TextGrid", tiers(), 3.0)
    real = textgrid.openTextgrid
    monkeypatch.setattr(textgrid, "openTextgrid", lambda *a, **b: (sys.stdout.write("a remark\n"), real(*a, **b))[1])
    assert len(import_rows([path], clock).rows) == 2
    assert capsys.readouterr() == ("", "a remark\n")
