import pytest

from epir.datasets.registry import load_corpus


def by_name(corpus):
    return {clip.clip: clip for clip in corpus.clips}


def test_the_preamble_is_passed_over_and_two_apexes_are_corrected(tmp_path, release):
    release.samm_sheet(tmp_path / "SAMM_Micro_FACS_Codes_v2.xlsx")
    corpus = load_corpus("samm", tmp_path)
    clips = by_name(corpus)
    assert len(corpus) == 159
    assert clips["028_4_1"].apex == 1134
    assert clips["032_3_1"].apex == 4930
    assert {one.clip for one in corpus.corrected} == {"samm/028/028_4_1", "samm/032/032_3_1"}
    assert corpus.sheet == "v2"
    assert clips["025_1_1"].emotion == "other"
    assert clips["025_1_1"].extra == {"action_units": "L12A", "objective_class": "7"}


@pytest.mark.parametrize("name", ["SAMM_20181215_Micro_FACS_Codes_v2.xlsx", "samm_micro_facs_codes_v2.xlsx"])
@pytest.mark.parametrize("picture", ["006_{:05d}.jpg", "006_{}.jpg"])
def test_names_of_files_and_frames(tmp_path, release, name, picture):
    release.samm_sheet(
        tmp_path / name, [(6, "006_1_2", 2, 5562, 5588, 5632, 71, "Micro - 1/2", "12", "Happiness", 1, None)]
    )
    there = release.frames(tmp_path / "SAMM" / "006" / "006_1_2", range(5562, 5633), picture)
    corpus = load_corpus("samm", tmp_path)
    (clip,) = corpus.clips
    assert (clip.key, clip.frames, clip.fps) == ("samm/006/006_1_2", there, 200.0)
    assert corpus.defects == ()


def test_a_trimmed_copy_with_the_header_on_top(tmp_path, release):
    header = ["Subject", "Filename", "Onset Frame", "Apex Frame", "Offset Frame", "Estimated Emotion"]
    release.workbook(tmp_path / "SAMM.xlsx", header, [("006", "006_1_2", 5562, 5588, 5632, "Happiness")])
    corpus = load_corpus("samm", tmp_path)
    assert corpus.clips[0].subject == "006"
    assert corpus.sheet == "unknown"


def test_the_cropped_copy_has_the_same_tree(tmp_path, release):
    release.samm_sheet(tmp_path / "SAMM_Micro_FACS_Codes_v2.xlsx")
    release.frames(tmp_path / "SAMM_CROP" / "006" / "006_An_0", range(5562, 5633))
    assert load_corpus("samm", tmp_path).tree == "cropped"
