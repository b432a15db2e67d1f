import shutil

import pytest

from epir.core.errors import DatasetError
from epir.datasets.base import check_corpus
from epir.datasets.registry import load_corpus

HEADER = ["Subject", "Filename", "", "OnsetF", "ApexF1", "ApexF2", "OffsetF", "", "AU", "Emotion"]
CORRECTED = {40: (100, 120, 149), 42: (101, 110, 119), 43: (57, 65, 74)}


def row(subject, clip, onset=10, apex=13, offset=20, word="tense", second=0):
    return (subject, clip, None, onset, apex, second, offset, None, "4", word)


def written(folder, release, rows, name="casme.xlsx"):
    return release.workbook(folder / name, HEADER, rows)


def test_the_first_of_two_apexes_and_both_spellings_of_frames(tmp_path, release):
    written(tmp_path, release, [row(1, "EP01_5", 113, 120, 130, second=125), row(12, "EP02_1", 7, 9, 12)])
    first = release.frames(tmp_path / "Cropped" / "sub01" / "EP01_5", range(113, 131), "reg_EP01_5-{}.jpg")
    second = release.frames(tmp_path / "Cropped" / "sub12" / "EP02_1", range(7, 13), "reg_EP02_1-{:03d}.jpg")
    corpus = load_corpus("casme", tmp_path)
    assert [(clip.key, clip.apex, clip.frames, clip.fps) for clip in corpus.clips] == [
        ("casme/sub01/EP01_5", 120, first, 60.0),
        ("casme/sub12/EP02_1", 9, second, 60.0),
    ]
    assert (corpus.tree, corpus.defects) == ("cropped", ())
    release.frames(tmp_path / "CASME_raw_selected" / "sub01" / "EP01_5", range(113, 131), "EP01_5-{}.jpg")
    assert load_corpus("casme", tmp_path, tree="selected").clips[0].frames.parents[1].name == "CASME_raw_selected"


def test_rows_that_are_put_right_in_a_complete_sheet_of_189(tmp_path, release):
    rows = [row(1 + n % 19, f"EP{n:03d}_1") for n in range(189)]
    written(tmp_path, release, rows)
    corpus = load_corpus("casme", tmp_path)
    clips = corpus.clips
    for number, frames in CORRECTED.items():
        assert (clips[number].onset, clips[number].apex, clips[number].offset) == frames
    assert (clips[54].offset, clips[140].offset) == (40, 142)
    assert len(corpus.corrected) == 11
    assert (clips[41].onset, clips[41].offset) == (10, 20)
    written(tmp_path, release, rows[:100])
    assert load_corpus("casme", tmp_path).corrected == ()


def test_a_sheet_of_casme2_is_not_taken(tmp_path, release):
    written(tmp_path, release, [row(1, "EP01_5")])
    release.casme2_sheet(tmp_path / "CASME2-coding-20190701.xlsx", "2019")
    assert len(load_corpus("casme", tmp_path)) == 1


def test_two_versions_of_the_sheet(tmp_path, release):
    header = [*HEADER[:7], "", "Onset", "Total", *HEADER[8:]]  # Onset and Total are durations in milliseconds
    rows = [(1 + n % 19, f"EP{n:03d}_1", None, 73, 81, "\\", 91, None, 150.0, 316.7, 4, "tense") for n in range(193)]
    release.old_workbook(tmp_path / "CASME-coded-20190721.xls", {"Sheet1": [header, *rows]})
    corpus = load_corpus("casme", tmp_path)
    assert (corpus.sheet, len(corpus), corpus.corrected) == ("2019", 193, ())
    assert (corpus.clips[0].onset, corpus.clips[0].apex, corpus.clips[0].offset) == (73, 81, 91)
    assert load_corpus("casme", tmp_path, sheet=written(tmp_path, release, [row(1, "a")])).sheet == "2013"


ROW = ("01", "EP02_01f", None, 46, 59, 97, None, 4, "disgust")


def sheet_of_2014(folder, release, *rows):
    return release.casme2_sheet(folder / "CASME2-coding-20140508.xlsx", "2014", rows)


def by_key(corpus):
    return {clip.key: clip for clip in corpus.clips}


def test_a_small_tree(casme2_small):
    corpus = load_corpus("casme2", casme2_small)
    clip = by_key(corpus)["casme2/sub01/EP02_01f"]
    assert (clip.onset, clip.apex, clip.offset, clip.fps) == (46, 59, 86, 200.0)
    assert clip.emotion == "happiness"
    assert clip.person == "casme2/sub01"
    assert clip.frames == casme2_small / "Cropped-updated" / "Cropped" / "sub01" / "EP02_01f"
    assert clip.extra == {"action_units": "12"}
    assert repr(corpus) == "Corpus(casme2, sheet 2014, cropped frames: clips 4, people 4, corrected 1, defects 0)"


def test_special_clips(casme2_small):
    corpus = load_corpus("casme2", casme2_small)
    clips = by_key(corpus)
    assert clips["casme2/sub04/EP12_01f"].apex is None
    assert clips["casme2/sub16/EP01_08"].offset == 96
    (correction,) = corpus.corrected
    assert (correction.clip, correction.old, correction.new) == ("casme2/sub16/EP01_08", "110", "96")
    assert {(defect.clip, defect.known) for defect in corpus.defects} == {
        ("casme2/sub04/EP12_01f", True),
        ("casme2/sub05/EP09_05f", True),
    }
    assert corpus.faults == ()


@pytest.mark.parametrize("subject", ["1", 1, "01", "sub01", "Sub1", " 01 "])
@pytest.mark.parametrize("folder", ["sub01", "Sub1", "SUB01", "01"])
def test_subjects_and_folders_in_any_spelling(tmp_path, release, subject, folder):
    sheet_of_2014(tmp_path, release, (subject, *ROW[1:-1], "Disgust "))
    there = release.frames(tmp_path / folder / "ep02_01F", range(46, 98), "img{:04d}.JPG")
    corpus = load_corpus("casme2", tmp_path)
    (clip,) = corpus.clips
    assert (clip.subject, clip.clip, clip.emotion, clip.frames) == ("sub01", "EP02_01f", "disgust", there)
    assert corpus.defects == ()


def test_a_sheet_resaved_without_its_blank_columns(tmp_path, release):
    header = [name for name in release.CASME2_HEADER if name]
    release.workbook(tmp_path / "CASME2-coding-20140508.xlsx", header, [(1, "EP02_01f", 46, 59, 97, 4, "disgust")])
    assert load_corpus("casme2", tmp_path).clips[0].offset == 97


@pytest.mark.parametrize(
    ("folder", "kind"), [("CASME2-RAW", "raw"), ("CASME2_RAW_selected", "selected"), ("Cropped", "cropped")]
)
def test_trees_are_recognised(tmp_path, release, folder, kind):
    sheet_of_2014(tmp_path, release, ROW)
    release.frames(tmp_path / folder / "sub01" / "EP02_01f", range(1, 120))
    corpus = load_corpus("casme2", tmp_path)
    assert (corpus.tree, corpus.faults) == (kind, ())
    assert f"frames from {folder}" in corpus.notes


def test_of_two_trees_the_more_complete_one_is_taken_unless_told(casme2_small, release):
    raw = casme2_small / "CASME2-RAW"
    shutil.copytree(casme2_small / "Cropped-updated" / "Cropped", raw)
    corpus = load_corpus("casme2", casme2_small)
    assert corpus.tree == "cropped"  # of equals the first
    assert "other frames there: raw (choose with --tree)" in corpus.notes
    assert load_corpus("casme2", casme2_small, tree="raw").clips[0].frames.parent.parent == raw
    shutil.rmtree(casme2_small / "Cropped-updated" / "Cropped" / "sub01")
    assert load_corpus("casme2", casme2_small).tree == "raw"
    with pytest.raises(DatasetError, match=r"has no 'selected' frames\n  fix: choose one of: cropped, raw"):
        load_corpus("casme2", casme2_small, tree="selected")


def test_missing_folders_and_frames_are_listed(casme2_small):
    home = casme2_small / "Cropped-updated" / "Cropped"
    shutil.rmtree(home / "sub05")
    (home / "sub01" / "EP02_01f" / "reg_img59.jpg").unlink()
    (home / "sub01" / "EP02_01f" / "reg_img60.jpg").unlink()
    for picture in (home / "sub16" / "EP01_08").iterdir():
        picture.unlink()
    corpus = load_corpus("casme2", casme2_small)
    assert [(defect.clip, defect.problem) for defect in corpus.faults] == [
        ("casme2/sub01/EP02_01f", "the apex frame 59 is missing (the folder has 46-86)"),
        ("casme2/sub01/EP02_01f", "1 frame of 46-86 missing: 60"),
        ("casme2/sub05/EP09_05f", "no folder with its frames was found"),
        ("casme2/sub16/EP01_08", "its folder holds no pictures"),
    ]
    assert by_key(corpus)["casme2/sub05/EP09_05f"].frames is None


def test_cells_that_make_no_sense_are_defects_and_the_rest_is_read(tmp_path, release):
    rows = [
        ("01", "EP02_01f", None, "early", 59, 97, None, 4, "disgust"),
        ("01", "EP03_01", None, 46, 99, 97, None, 4, "hapiness"),
        ("01", "EP04_01", None, 0, 59, "", None, 4, "disgust"),
        ("Remarks", None, None, None, None, None, None, None, None),
        (None, None, None, None, None, None, None, None, "disgust"),
    ]
    sheet_of_2014(tmp_path, release, *rows)
    corpus = load_corpus("casme2", tmp_path)
    assert len(corpus) == 3
    problems = [defect.problem for defect in corpus.faults if "folder" not in defect.problem]
    assert problems == [
        "the onset is 'early', which is not a frame number",
        "the emotion 'hapiness' is not one of: disgust, fear, happiness, others, repression, sadness, surprise",
        "the apex 99 is after the offset 97",
        "the sheet gives no onset",
        "the sheet gives no offset",
    ]


def test_both_sheets_the_newest_is_taken_and_said(tmp_path, release):
    for version, date in (("2014", "20140508"), ("2019", "20190701")):
        release.casme2_sheet(tmp_path / f"CASME2-coding-{date}.xlsx", version)
    corpus = load_corpus("casme2", tmp_path)
    assert corpus.sheet == "2019"
    assert "other sheets there: CASME2-coding-20140508.xlsx (choose with --sheet)" in corpus.notes
    assert load_corpus("casme2", tmp_path, sheet=tmp_path / "CASME2-coding-20140508.xlsx").sheet == "2014"


@pytest.mark.parametrize("version", ["2014", "2019"])
def test_the_version_is_told_by_content_not_by_name(tmp_path, release, version):
    rows = [row[:9] for row in release.casme2_rows(version)]
    release.workbook(tmp_path / "CASME2-coding-updated.xlsx", release.CASME2_HEADER, rows)
    assert load_corpus("casme2", tmp_path).sheet == version


def test_the_version_of_a_part_of_a_sheet(tmp_path, release):
    release.workbook(tmp_path / "CASME2-coding.xlsx", [*release.CASME2_HEADER, "Objective Classes"], [(*ROW, 3)])
    assert load_corpus("casme2", tmp_path).sheet == "2019"
    release.workbook(tmp_path / "CASME2-coding.xlsx", release.CASME2_HEADER, [ROW])
    assert load_corpus("casme2", tmp_path).sheet == "unknown"


def test_a_clip_that_is_there_twice(tmp_path, release):
    sheet_of_2014(tmp_path, release, ROW, ("1", "ep02_01f", *ROW[2:]))
    corpus = load_corpus("casme2", tmp_path)
    assert "it is listed twice, in rows 2 and 3: delete one of the two" in [one.problem for one in corpus.faults]
    with pytest.raises(DatasetError, match=r"casme2/sub01/ep02_01f: it is listed twice, in rows 2 and 3"):
        check_corpus(corpus)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([("one", *ROW[1:])], r"row 2: the subject is 'one'\n  fix: correct that cell"),
        ([], r"has no rows below its header\n  fix: give another sheet"),
    ],
)
def test_a_sheet_that_cannot_be_read(tmp_path, release, rows, words):
    sheet_of_2014(tmp_path, release, *rows)
    with pytest.raises(DatasetError, match=words):
        load_corpus("casme2", tmp_path)


def test_a_sheet_without_the_apex(tmp_path, release):
    release.workbook(
        tmp_path / "CASME2-coding-1.xlsx", ["Subject", "Filename", "OnsetFrame", "OffsetFrame", "Estimated Emotion"], []
    )
    with pytest.raises(
        DatasetError, match=r"no column 'ApexFrame' .*its columns are: Subject, Filename, OnsetFrame, OffsetFrame"
    ):
        load_corpus("casme2", tmp_path)


def rows_of(*clips):
    return [(subject, clip, None, 46, 59, 86, None, "4", "disgust") for subject, clip in clips]


@pytest.mark.parametrize("home", ["CASME2_compressed video", "somewhere/videos", "."])
def test_the_tree_of_compressed_videos_and_an_old_sheet(tmp_path, release, home):
    cells = [list(row) for row in rows_of(("01", "EP02_01f"), ("02", "EP01_2"))]
    release.old_workbook(tmp_path / "CASME2-coding-20140508.xls", {"Sheet1": [release.CASME2_HEADER, *cells]})
    for name in ("sub01/EP02_01f.avi", "sub02/ep01_2.AVI"):
        (tmp_path / home / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / home / name).write_bytes(b"RIFF")
    corpus = load_corpus("casme2", tmp_path)
    assert (corpus.tree, corpus.defects, len(corpus.present)) == ("video", (), 2)
    clip = by_key(corpus)["casme2/sub01/EP02_01f"]
    assert clip.frames == tmp_path / home / "sub01" / "EP02_01f.avi"
    assert (clip.onset, clip.apex, clip.offset) == (45, 58, 85)  # frames of a video are counted from 0
    assert "frames of a video are counted from 0: frame 1 of the sheet is frame 0" in corpus.notes


def test_pictures_are_preferred_to_videos_and_an_empty_video_is_a_defect(casme2_small):
    video = casme2_small / "videos" / "sub01" / "EP02_01f.avi"
    video.parent.mkdir(parents=True)
    video.touch()
    corpus = load_corpus("casme2", casme2_small)
    assert corpus.tree == "cropped"
    assert "other frames there: video (choose with --tree)" in corpus.notes
    corpus = load_corpus("casme2", casme2_small, tree="video")
    problems = {defect.clip: defect.problem for defect in corpus.faults}
    assert problems["casme2/sub01/EP02_01f"] == "its video is empty"
    assert corpus.present == ()


def test_a_partial_copy_counts_what_is_there(casme2_small):
    shutil.rmtree(casme2_small / "Cropped-updated" / "Cropped" / "sub04")
    for picture in (casme2_small / "Cropped-updated" / "Cropped" / "sub05" / "EP09_05f").iterdir():
        picture.unlink()
    corpus = load_corpus("casme2", casme2_small)
    assert [clip.subject for clip in corpus.present] == ["sub01", "sub16"]
    assert "clips 2 of 4," in repr(corpus)


@pytest.mark.parametrize(
    ("files", "seen"),
    [
        (["Cropped.zip", "CASME2-RAW.zip"], "2 archives not unpacked (CASME2-RAW.zip, Cropped.zip)"),
        (["Cropped/sub01_EP02_01f_img46.jpg", "Cropped/sub01_EP02_01f_img47.jpg"], "2 pictures in one folder (Cropped"),
        (["Subject_sub01/EP02_01f/img46.jpg", "Subject_sub02/EP01_2/img46.jpg"], "2 folders (Subject_sub01/EP02_01f,"),
        (["sub01_EP02_01f.avi", "sub02_EP01_2.avi", "x.mp4"], "3 videos (sub01_EP02_01f.avi, sub02_EP01_2.avi, ...)"),
        (["sub01/EP02_01f/readme.txt"], "neither pictures nor videos"),
        ([], "neither pictures nor videos (CASME2-coding-20140508.xlsx)"),
    ],
)
def test_another_layout_is_told_with_the_one_that_is_expected(tmp_path, release, files, seen):
    sheet_of_2014(tmp_path, release, *rows_of(("01", "EP02_01f"), ("02", "EP01_2")))
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    corpus = load_corpus("casme2", tmp_path)
    assert corpus.present == ()
    if files == ["sub01/EP02_01f/readme.txt"]:  # the layout is right, the folders are empty
        assert corpus.layout == ""
        return
    assert corpus.layout.startswith("frames are expected as Cropped/sub01/EP02_01f/reg_img46.jpg; found instead: ")
    assert seen in corpus.layout


def test_archives_without_a_sheet_are_told(tmp_path):
    (tmp_path / "CASME2.zip").touch()
    with pytest.raises(
        DatasetError, match=r"it holds 1 archive not unpacked \(CASME2.zip\)\n.*expected as Cropped/sub"
    ):
        load_corpus("casme2", tmp_path)
