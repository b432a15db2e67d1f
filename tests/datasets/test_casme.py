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


def test_raw_frames(tmp_path, release):
    written(tmp_path, release, [row(1, "EP01_5", 113, 120, 130)])
    release.frames(tmp_path / "CASME_raw_selected" / "sub01" / "EP01_5", range(113, 131), "EP01_5-{}.jpg")
    corpus = load_corpus("casme", tmp_path)
    assert (corpus.tree, corpus.defects) == ("selected", ())


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
