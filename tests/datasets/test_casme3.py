from epir.datasets.registry import load_corpus, load_long_videos
from epir.datasets.survey import expected_copy

SHEET = "cas(me)3_part_A_ME_label_JpgIndex_v2.xlsx"
LONG_SHEET = "CAS(ME)3_part_A_v2.xls"
HEADER = ["Subject", "Filename", "Onset", "Apex", "Offset", "AU", "Expression type", "Objective class"]
LABELS = "cas(me)3_part_A_ME_label_JpgIndex_v2.xlsx"
MICRO, MACRO = "Micro-expression", "Macro-expression"


def by_key(corpus):
    return {clip.key: clip for clip in corpus.clips}


def test_cells_of_text_and_every_broken_row(tmp_path, release):
    release.casme3_sheet(tmp_path / SHEET)
    corpus = load_corpus("casme3", tmp_path)
    clips = by_key(corpus)
    assert (len(corpus), corpus.sheet) == (860, "v2")
    assert clips["casme3/spNO.149/d_112"].apex == 160
    assert clips["casme3/spNO.214/c_5"].offset == 34
    assert clips["casme3/spNO.216/d_3647"].onset == 2647
    assert clips["casme3/spNO.216/e_0"].onset == 1
    assert clips["casme3/spNO.216/e_0"].apex is None
    assert clips["casme3/spNO.40/e_1812"].offset == 1845
    assert clips["casme3/spNO.40/e_2327"].offset == 2403
    assert len(corpus.corrected) == 6
    assert {key for key in clips if key.startswith("casme3/spNO.40/e")} == {
        "casme3/spNO.40/e_1812", "casme3/spNO.40/e_2327",
    }  # fmt: skip
    assert corpus.emotions["others"] == 161
    assert not [defect for defect in corpus.faults if "folder" not in defect.problem]


def rows(*lines):
    return [(subject, video, *map(str, numbers), "4", "III", emotion) for subject, video, *numbers, emotion in lines]


def test_full_sequences(tmp_path, release):
    release.casme3_sheet(
        tmp_path / SHEET, rows(("spNO.1", "a", 355, 360, 370, "disgust"), ("spNO.14", "J", 5, 9, 12, "Others"))
    )
    first = release.frames(tmp_path / "part_A_split" / "part_A" / "spNO.1" / "A" / "color", range(8, 500), "{}.jpg")
    release.frames(tmp_path / "part_A_split" / "part_A" / "spNO.1" / "A" / "depth", range(8, 500), "{}.png")
    second = release.frames(tmp_path / "part_A_split" / "part_A" / "spNo.14" / "j" / "color", range(1, 30), "{}.jpg")
    corpus = load_corpus("casme3", tmp_path)
    clips = by_key(corpus)
    assert clips["casme3/spNO.1/a_355"].frames == first
    assert clips["casme3/spNO.14/j_5"].frames == second
    assert (corpus.tree, corpus.defects) == ("full", ())


def test_trimmed_clips_whose_case_differs(tmp_path, release):
    release.casme3_sheet(
        tmp_path / SHEET,
        rows(
            ("spNO.1", "a", 355, 360, 370, "disgust"),
            ("spNO.216", "d", 3647, 2668, 2694, "others"),
            ("spNO.216", "e", 0, 0, 25, "others"),
        ),
    )
    clips = tmp_path / "Part_A_ME_clip"
    there = release.frames(clips / "frame" / "spNo.1_a_355", range(355, 371), "{}.jpg")
    release.frames(clips / "depth" / "spNo.1_a_355", range(355, 371), "{}.png")
    corrected = release.frames(clips / "frame" / "spNO.216_d_2647", range(2647, 2695), "{}.jpg")
    as_written = release.frames(clips / "frame" / "spNO.216_e_0", range(1, 26), "{}.jpg")
    corpus = load_corpus("casme3", tmp_path)
    assert [clip.frames for clip in corpus.clips] == [there, corrected, as_written]
    assert corpus.tree == "clips"
    assert corpus.faults == ()


def test_what_is_missing_in_the_release_is_known_but_key_frames_are_not(tmp_path, release):
    release.casme3_sheet(
        tmp_path / SHEET,
        rows(
            ("spNO.1", "a", 7, 7, 20, "disgust"), ("spNO.1", "b", 30, 35, 40, "fear"), ("spNO.1", "c", 1, 5, 9, "fear")
        ),
    )
    home = tmp_path / "part_A" / "spNO.1"
    release.frames(home / "a" / "color", [7, 8, *range(12, 21)], "{}.jpg")
    release.frames(home / "b" / "color", [n for n in range(30, 41) if n != 35], "{}.jpg")
    release.frames(home / "c" / "color", range(1, 10), "{}.jpg")
    corpus = load_corpus("casme3", tmp_path)
    assert [(one.clip, one.known) for one in corpus.defects] == [
        ("casme3/spNO.1/a_7", True),
        ("casme3/spNO.1/a_7", True),
        ("casme3/spNO.1/b_30", False),
    ]
    assert corpus.faults[0].problem == "the apex frame 35 is missing (the folder has 30-40)"


def row(subject, video, onset, apex, offset, kind=MICRO):
    """All cells are text but the last frame: four cells of the sheet are numbers."""
    return (subject, video, str(onset), str(apex), offset, "4+7", kind, "III")


ROWS = [
    row("spNO.1", "a", 355, 360, 370),
    row("spNO.1", "a", 356, 400, 420, MACRO),
    row("spNO.1", "a", 356, 400, 421, MACRO),  # macro-expressions may share their onset
    row("spNO.14", "J", 5, 9, 12),
    row("spNO.149", "d", 112, 160, 358),
    row("spNO.215", "l", 0, 40, 80, MACRO),
    row("spNO.216", "d", 2647, 2668, 2694),
    row("spNO.216", "e", 0, 0, 25),
    row("spNO.40", "e", 1812, 1820, 1845),
]
EMOTIONS = [
    ("spNO.1", "a", 355, 360, 370, "disgust"),
    ("spNO.14", "J", 5, 9, 12, "Others"),
    ("spNO.149", "d", 112, 83, 358, "fear"),  # the label sheet is broken where the other one is right
    ("spNO.216", "d", 3647, 2668, 2694, "anger"),
    ("spNO.216", "e", 0, 0, 25, "happy"),
    ("spNO.40", "e", 1812, 1820, 0, "sad"),
]


def written(folder, release, rows=ROWS, name=LONG_SHEET):
    blinks = [["Subject", "Filename", "Onset", "Offset"], ["spNO.1", "a", "3", "9"]]
    return release.old_workbook(folder / name, {"eye blink": blinks, "AU+Emotion": [HEADER, *rows]})


def labels(folder, release, rows=EMOTIONS):
    texts = [(s, f, *map(str, numbers), "4", "III", word) for s, f, *numbers, word in rows]
    release.casme3_sheet(folder / LABELS, texts)


def test_an_old_workbook_with_blinks_before_the_movements(tmp_path, release):
    written(tmp_path, release)
    corpus = load_corpus("casme3-lv", tmp_path)
    assert (corpus.name, corpus.sheet, len(corpus)) == ("casme3-lv", "v2", 6)
    assert [clip.key for clip in corpus.clips][:2] == ["casme3/spNO.1/a_355", "casme3/spNO.14/j_5"]
    videos = {video.key: video for video in corpus.videos}
    assert [(one.kind, one.onset, one.offset) for one in videos["casme3-lv/spNO.1/a"].intervals] == [
        ("micro", 355, 370),
        ("macro", 356, 420),
        ("macro", 356, 421),
    ]
    # Onsets of 0 are put right.
    assert videos["casme3-lv/spNO.215/l"].intervals[0].onset == 1
    (micro,) = videos["casme3-lv/spNO.216/e"].intervals
    assert (micro.onset, micro.apex, micro.offset) == (1, None, 25)
    assert sorted(one.field for one in corpus.corrected) == ["onset", "onset"]
    assert not [one for one in corpus.faults if one.kind != "no folder"]


def test_emotions_are_joined_by_order_so_that_broken_rows_keep_theirs(tmp_path, release):
    written(tmp_path, release)
    labels(tmp_path, release)
    corpus = load_corpus("casme3-lv", tmp_path)
    assert [clip.emotion for clip in corpus.clips] == ["disgust", "others", "fear", "anger", "happy", "sad"]
    assert corpus.notes[-1] == f"emotions from {LABELS}, row by row"
    assert {one.emotion for video in corpus.videos for one in video.of_kind("macro")} == {""}


def test_sheets_that_do_not_run_parallel_are_joined_by_frames(tmp_path, release):
    written(tmp_path, release)
    labels(tmp_path, release, EMOTIONS[::-1])
    corpus = load_corpus("casme3-lv", tmp_path)
    emotions = {clip.clip: clip.emotion for clip in corpus.clips}
    assert (emotions["a_355"], emotions["d_112"], emotions["d_2647"]) == ("disgust", "fear", "")
    assert corpus.notes[-1].endswith("by frames; 2 micro-expressions have none")


def test_versions_by_the_number_of_micro_expressions_else_by_name(tmp_path, release):
    written(tmp_path, release, name="CAS(ME)3_part_A_v1.xls")
    assert load_corpus("casme3-lv", tmp_path).sheet == "v1"
    many = [row("spNO.1", "a", 10 * n, 10 * n + 2, 10 * n + 5) for n in range(1, 861)]
    written(tmp_path, release, many, name="CAS(ME)3_part_A_v1.xls")
    assert load_corpus("casme3-lv", tmp_path).sheet == "v2"
    later = expected_copy("casme3-lv", "v2")["further"]
    assert later["macro"] + later["micro"] == 4206
    assert expected_copy("casme3-lv", "v1")["further"] == {"micro": 921, "macro": 3285}


def test_gaps_in_a_video_are_known_and_do_not_shift_it(tmp_path, release):
    written(tmp_path, release, ROWS[:3])
    there = release.frames(tmp_path / "part_A" / "spNO.1" / "A" / "color", [8, *range(355, 365), 370, 500], "{}.jpg")
    release.frames(tmp_path / "part_A" / "spNO.1" / "A" / "depth", range(8, 20), "{}.png")
    release.frames(tmp_path / "part_A" / "spNo.1" / "b" / "color", range(8, 20), "{}.jpg")
    first, second = load_long_videos("casme3-lv", tmp_path)
    assert (first.path, first.first, first.frames) == (there, 8, 493)
    assert (second.key, second.intervals) == ("casme3-lv/spNO.1/b", ())
    kinds = {one.kind for one in load_corpus("casme3-lv", tmp_path).faults}
    assert kinds == {"missing key frame"}  # frame 400 of the macro-expressions
