from epir.datasets.registry import load_corpus

SHEET = "cas(me)3_part_A_ME_label_JpgIndex_v2.xlsx"


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
    assert corpus.emotions["others"] == 161
    assert not [defect for defect in corpus.faults if "folder" not in defect.problem]


def test_two_clips_of_one_video_have_their_own_names(tmp_path, release):
    release.casme3_sheet(tmp_path / SHEET)
    assert {key for key in by_key(load_corpus("casme3", tmp_path)) if key.startswith("casme3/spNO.40/e")} == {
        "casme3/spNO.40/e_1812",
        "casme3/spNO.40/e_2327",
    }


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
