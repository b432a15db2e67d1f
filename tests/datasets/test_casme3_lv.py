from epir.datasets.registry import load_corpus, load_long_videos
from epir.datasets.survey import expected_further

SHEET = "CAS(ME)3_part_A_v2.xls"
HEADER = ["Subject", "Filename", "Onset", "Apex", "Offset", "AU", "Expression type", "Objective class"]
LABELS = "cas(me)3_part_A_ME_label_JpgIndex_v2.xlsx"
MICRO, MACRO = "Micro-expression", "Macro-expression"


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


def written(folder, release, rows=ROWS, name=SHEET):
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


def test_onsets_of_0(tmp_path, release):
    written(tmp_path, release)
    corpus = load_corpus("casme3-lv", tmp_path)
    videos = {video.key: video for video in corpus.videos}
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
    found = {clip.clip: clip.emotion for clip in corpus.clips}
    assert (found["a_355"], found["d_112"], found["d_2647"]) == ("disgust", "fear", "")
    assert corpus.notes[-1].endswith("by frames; 2 micro-expressions have none")


def test_versions_by_the_number_of_micro_expressions_else_by_name(tmp_path, release):
    written(tmp_path, release, name="CAS(ME)3_part_A_v1.xls")
    assert load_corpus("casme3-lv", tmp_path).sheet == "v1"
    many = [row("spNO.1", "a", 10 * n, 10 * n + 2, 10 * n + 5) for n in range(1, 861)]
    written(tmp_path, release, many, name="CAS(ME)3_part_A_v1.xls")
    assert load_corpus("casme3-lv", tmp_path).sheet == "v2"
    assert expected_further("casme3-lv", "v2")["macro"] + expected_further("casme3-lv", "v2")["micro"] == 4206
    assert expected_further("casme3-lv", "v1") == {"micro": 921, "macro": 3285}


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
