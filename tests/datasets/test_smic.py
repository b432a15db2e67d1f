import pytest

from epir.core.errors import DatasetError
from epir.datasets.registry import load_corpus
from epir.datasets.smic import clip_name
from epir.frames.reader import open_frames


def clip_folder(release, folder, first=559740, name="reg_image{:06d}.bmp"):
    return release.frames(folder, range(first, first + 12), name)


def test_labels_and_frames_come_from_the_folders(tmp_path, release):
    there = clip_folder(release, tmp_path / "SMIC_all_cropped/HS/s1/micro/negative/s1_ne_01")
    clip_folder(release, tmp_path / "SMIC_all_cropped/HS/s1/non_micro/s1_no_01")
    corpus = load_corpus("smic", tmp_path)
    (clip,) = corpus.clips
    assert clip.key == "smic/s01/s01_ne_01"
    assert (clip.onset, clip.apex, clip.offset, clip.fps) == (559740, None, 559751, 100.0)
    assert (clip.emotion, clip.frames) == ("negative", there)
    assert (corpus.sheet, corpus.tree, corpus.defects) == ("hs", "cropped", ())


def test_the_copy_of_a_picture_is_told_and_not_read(tmp_path, release):
    there = clip_folder(release, tmp_path / "SMIC_all_cropped/HS/s1/micro/negative/s1_ne_01")
    (there / "reg_image559745 (1).bmp").touch()
    corpus = load_corpus("smic", tmp_path)
    assert (corpus.clips[0].onset, corpus.clips[0].offset) == (559740, 559751)
    assert [one.problem for one in corpus.faults] == ["reg_image559745 (1).bmp is a copy and is not read: remove it"]
    with open_frames(there) as frames:
        assert frames.numbers == tuple(range(559740, 559752))


@pytest.mark.parametrize("root", ["", "SMIC_all_raw", "SMIC_all_raw/HS"])
def test_any_folder_on_the_way_can_be_given(tmp_path, release, root):
    clip_folder(release, tmp_path / "SMIC_all_raw/HS/s20/micro/surprise/s20_sur_11", 17581039, "image{}.bmp")
    (clip,) = load_corpus("smic", tmp_path / root).clips
    assert clip.key == "smic/s20/s20_sur_11"
    assert clip.onset == 17581039


def test_parts_are_kept_apart(tmp_path, release):
    for part in ("HS", "VIS", "NIR"):
        clip_folder(release, tmp_path / part / "s11" / "micro" / "positive" / "s11_po_01")
    assert load_corpus("smic", tmp_path).clips[0].clip == "s11_po_01"
    for part in ("vis", "NIR"):
        (clip,) = load_corpus("smic", tmp_path, part=part).clips
        assert clip.key == f"smic/s11/{part.lower()}_s11_po_01"
        assert clip.fps == 25.0
        assert clip.frames.parts[-5] == part.upper()


@pytest.mark.parametrize(("here", "root"), [("VIS", "."), ("VIS/s11", ".."), (".", "VIS/s11/..")])
def test_a_folder_given_as_a_dot_has_its_name(tmp_path, release, monkeypatch, here, root):
    clip_folder(release, tmp_path / "VIS/s11/micro/positive/s11_po_01")
    monkeypatch.chdir(tmp_path / here)
    with pytest.raises(DatasetError, match=r"no clips of the part hs .*\n  fix: found there: vis \(frames\)"):
        load_corpus("smic", root)
    corpus = load_corpus("smic", root, part="vis")
    assert (len(corpus), corpus.notes) == (1, ("frames from VIS",))


def test_cropped_and_raw_beside_each_other(tmp_path, release):
    for tree in ("SMIC_all_cropped", "SMIC_all_raw"):
        clip_folder(release, tmp_path / tree / "HS" / "s1" / "micro" / "negative" / "s1_ne_01")
    corpus = load_corpus("smic", tmp_path)
    assert (len(corpus), corpus.tree) == (1, "cropped")
    assert "other frames there: raw (choose with --tree)" in corpus.notes
    assert load_corpus("smic", tmp_path, tree="raw").tree == "raw"
    with pytest.raises(
        DatasetError, match=r"no selected frames of the part hs of SMIC\n  fix: found there: hs \(cropped\), hs \(raw\)"
    ):
        load_corpus("smic", tmp_path, tree="selected")


def test_known_flaws_of_the_cropped_tree(tmp_path, release):
    cropped, raw = tmp_path / "SMIC_all_cropped" / "HS", tmp_path / "SMIC_all_raw" / "HS"
    for home in (cropped, raw):
        (home / "s18" / "micro" / "surprise" / "s18_sur_03").mkdir(parents=True)
    folder = clip_folder(release, cropped / "s3/micro/positive/s3_po_08")
    (folder / "reg_image559745.bmp").unlink()
    corpus = load_corpus("smic", tmp_path)
    assert [(one.clip, one.known) for one in corpus.defects] == [
        ("smic/s03/s03_po_08", True),
        ("smic/s18/s18_sur_03", True),
    ]
    assert [one.known for one in load_corpus("smic", tmp_path, tree="raw").defects] == [False]
    folder = clip_folder(release, cropped / "s4/micro/positive/s4_po_01")
    (folder / "reg_image559745.bmp").unlink()
    (defect,) = load_corpus("smic", tmp_path).faults
    assert defect.problem == "1 frame of 559740-559751 missing: 559745"


def test_folders_that_contradict_the_name(tmp_path, release):
    clip_folder(release, tmp_path / "HS/s4/micro/positive/s4_ne_01")
    clip_folder(release, tmp_path / "HS/s5/micro/negative/s6_ne_01")
    corpus = load_corpus("smic", tmp_path)
    assert corpus.clips[0].emotion == "positive"
    assert [one.problem for one in corpus.faults] == [
        "it lies under 'positive', but its name says 'negative'",
        "it lies under s05, but its name says s06",
    ]


def test_a_clip_that_is_there_twice(tmp_path, release):
    for name in ("s1_ne_01", "s01_ne_01"):
        clip_folder(release, tmp_path / "HS" / "s1" / "micro" / "negative" / name)
    with pytest.raises(DatasetError, match=r"the clip smic/s01/s01_ne_01 exists twice: .*\n  fix: remove one"):
        load_corpus("smic", tmp_path)


def test_nothing_there(tmp_path):
    with pytest.raises(
        DatasetError,
        match=r"holds no clips of the part hs of SMIC; found instead: nothing\n  fix: .*HS/s1/micro/negative/s1_ne_01",
    ):
        load_corpus("smic", tmp_path)
    with pytest.raises(DatasetError, match=r"SMIC has no part 'uv'\n  fix: use one of: hs, vis, nir"):
        load_corpus("smic", tmp_path, part="uv")


def test_another_part_is_named(tmp_path, release):
    clip_folder(release, tmp_path / "VIS/s11/micro/positive/s11_po_01")
    with pytest.raises(
        DatasetError, match=r"no clips of the part hs of SMIC\n  fix: found there: vis \(frames\); choose with --part"
    ):
        load_corpus("smic", tmp_path)


def long_tree(release, root, part="HS"):
    home = root / "SMIC-E_raw image" / f"{part}_long" / f"SMIC-{part}-E"
    rows = [
        (1, "s1_ne_01", 559740, 559760, 21, None, None, None, None, None, None, "negative", 559700, 559800, 101),
        (3, "s03_po_02", 100020, 100030, 11, 100050, 100060, 11, 0, 0, 0, "positive", 100000, 100099, 100),
        (None,) * 15,
        ("TotalMF: number of micro frames", *[None] * 14),
    ]
    release.workbook(root / f"SMIC-{part}-E_annotation_2019.xlsx", release.SMIC_E_HEADER, rows)
    release.frames(home / "s01" / "s01_ne_01", range(559700, 559801), "image{}.jpg")
    release.frames(home / "s03" / "s03_po_02", range(100000, 100100), "image{}.jpg")
    return home


def test_long_clips_come_with_a_sheet(tmp_path, release):
    home = long_tree(release, tmp_path)
    corpus = load_corpus("smic", tmp_path, part="hs-e")
    assert [(clip.key, clip.onset, clip.offset, clip.emotion) for clip in corpus.clips] == [
        ("smic/s01/s01_ne_01", 559740, 559760, "negative"),
        ("smic/s03/s03_po_02", 100020, 100030, "positive"),
        ("smic/s03/s03_po_02_2", 100050, 100060, "positive"),
    ]
    assert corpus.clips[2].frames == home / "s03" / "s03_po_02"
    assert all(clip.apex is None for clip in corpus.clips)
    assert (corpus.sheet, corpus.defects) == ("hs-e", ())


def test_long_clips_of_another_camera_have_names_of_their_own(tmp_path, release):
    long_tree(release, tmp_path, "VIS")
    assert load_corpus("smic", tmp_path, part="vis-e").clips[0].key == "smic/s01/vis_s01_ne_01"


def test_long_clips_are_not_taken_for_trimmed_ones(tmp_path, release):
    long_tree(release, tmp_path)
    with pytest.raises(
        DatasetError,
        match=r"no clips of the part hs of SMIC\n  fix: these are the long clips of SMIC-E: add --part hs-e",
    ):
        load_corpus("smic", tmp_path)
    with pytest.raises(DatasetError, match=r"SMIC has no annotation sheet\n  fix: leave --sheet out"):
        load_corpus("smic", tmp_path, sheet="x.xlsx")


def test_names_in_full():
    assert clip_name("s1_ne_01") == clip_name("S01_NE_1") == "s01_ne_01"


@pytest.mark.parametrize(
    ("names", "seen"),
    [
        (["SMIC.rar"], r"1 archive not unpacked \(SMIC.rar\)"),
        (["HS/s1/s1_ne_01.avi"], r"1 video \(HS/s1/s1_ne_01.avi\)"),
        (["sub01/EP02_01f/1.jpg", "s2/other/1.jpg"], r"pictures in 2 folders \(s2/other, sub01/EP02_01f\)"),
    ],
)
def test_what_is_there_instead_is_told(tmp_path, names, seen):
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    with pytest.raises(DatasetError, match=rf"of SMIC; found instead: {seen}\n  fix: unpack it so"):
        load_corpus("smic", tmp_path)
