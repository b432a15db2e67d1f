from itertools import cycle

import pytest

from epir.datasets.registry import load_corpus, load_long_videos
from epir.datasets.survey import survey

HEADER = [
    "Subject", "Filename", "Inducement Code", "Onset", "Apex", "Offset", "Duration", "Type", "Action Units", "Notes",
]  # fmt: skip
MICRO, MACRO = "Micro - 1/2", "Macro"
ONSET_0 = [
    "011_6_8", "011_6_10", "012_3_3", "018_3_3", "018_4_4", "018_4_7", "018_4_9", "018_6_2", "018_6_5", "020_6_3",
]  # fmt: skip
NO_APEX = {
    **dict.fromkeys(["010_1_3", "026_2_5", "036_6_2", "036_6_3"], MACRO),
    **dict.fromkeys(["028_4_1", "032_3_1"], MICRO),
}


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


def row(name, onset, apex, offset, kind=MACRO, units="12A"):
    return (name[:3], name, int(name.split("_")[1]), onset, apex, offset, offset - onset + 1, kind, units, None)


def written(path, release, rows, *, page="FACS_Movement_Only", preamble=9):
    above = [[f"remark {n}"] for n in range(preamble)]
    return release.workbook(path, HEADER, rows, page=page, above=above)


def test_the_first_version_has_fractions_onsets_of_0_and_two_long_offsets(tmp_path, release):
    rows = [
        row("006_1_2", 5562, 5588, 5632, MICRO),
        row("006_1_3", 1487.5, 1500.4, 1605.0),
        row("020_6_5", 100, 200, 5476),
        row("036_7_4", 100, 200, 8298),
        *(row(name, 0, 40, 300) for name in ONSET_0),
    ]
    written(tmp_path / "SAMM_LongVideos_V1_Release.xlsx", release, rows)
    corpus = load_corpus("samm-lv", tmp_path)
    assert corpus.sheet == "v1"
    assert "fractions of frames in 1 rows are rounded, as the organisers do" in corpus.notes
    macros = {one.video: one for video in corpus.videos for one in video.intervals if one.kind == "macro"}
    assert (macros["006_1"].onset, macros["006_1"].apex, macros["006_1"].offset) == (1488, 1500, 1605)
    macro = [one for video in corpus.videos for one in video.intervals if one.kind == "macro"]
    assert sum(one.onset == 1 for one in macro) == len(ONSET_0)  # none is dropped
    assert {macros["020_6"].offset, macros["036_7"].offset} >= {8201}
    assert 5001 in {one.offset for one in macro}
    assert {one.field for one in corpus.corrected} == {"onset", "offset"}
    assert len(corpus.corrected) == len(ONSET_0) + 2


def test_the_later_version_needs_no_correction(tmp_path, release):
    rows = [row("006_1_2", 5562, 5588, 5632, MICRO), row("011_6_8", 1, 40, 300), row("020_6_5", 100, 200, 5001)]
    path = written(tmp_path / "SAMM_LongVideos_V3_Release.xlsx", release, rows, page="Sheet1", preamble=0)
    assert path.exists()
    corpus = load_corpus("samm-lv", tmp_path)
    assert (corpus.sheet, corpus.corrected) == ("later", ())


def test_one_name_for_a_micro_and_a_macro_movement(tmp_path, release):
    rows = [row("037_4_1", 1488, 1500, 1577, MICRO), row("037_4_1", 1487, 1500, 1605)]
    written(tmp_path / "SAMM_LongVideos_V3_Release.xlsx", release, rows)
    (video,) = load_long_videos("samm-lv", tmp_path)
    assert [(one.kind, one.onset, one.offset) for one in video.intervals] == [
        ("macro", 1487, 1605),
        ("micro", 1488, 1577),
    ]
    assert [clip.key for clip in load_corpus("samm-lv", tmp_path).clips] == ["samm/037/037_4_1"]


def test_an_apex_of_minus_one_is_missing_and_known(tmp_path, release):
    rows = [row(name, 100, -1, 150, kind) for name, kind in NO_APEX.items()]
    written(tmp_path / "SAMM_LongVideos_V3_Release.xlsx", release, rows)
    corpus = load_corpus("samm-lv", tmp_path)
    assert {one.apex for video in corpus.videos for one in video.intervals} == {None}
    known = [one.clip for one in corpus.defects if one.kind == "no apex" and one.known]
    assert len(known) == len(NO_APEX)
    assert not [one for one in corpus.faults if one.kind != "no folder"]


def test_emotions_come_from_the_sheet_of_samm(tmp_path, release):
    written(tmp_path / "SAMM_LongVideos_V3_Release.xlsx", release, [row("006_1_2", 462, 488, 532, MICRO)])
    (clip,) = load_corpus("samm-lv", tmp_path).clips
    assert clip.emotion == ""
    assert "no emotions: put the sheet of SAMM" in load_corpus("samm-lv", tmp_path).notes[-1]
    release.samm_sheet(
        tmp_path / "SAMM_Micro_FACS_Codes_v2.xlsx",
        [("006", "006_1_2", 2, 5562, 5588, 5632, 71, MICRO, "12", "Happiness", 1, None)],
    )
    corpus = load_corpus("samm-lv", tmp_path)
    (clip,) = corpus.clips
    assert (clip.key, clip.emotion, clip.onset) == ("samm/006/006_1_2", "happiness", 462)  # its own frame numbers
    assert corpus.videos[0].intervals[0].emotion == "happiness"
    assert corpus.notes[-1] == "emotions from SAMM_Micro_FACS_Codes_v2.xlsx, for 1 of 1 micro-movements"
    assert survey(corpus).protocols.keys() == {"cde", "sde-samm"}


@pytest.mark.parametrize("picture", ["006_1_{:04d}.jpg", "006_1_{:05d}.jpg"])
def test_frames_with_four_or_five_digits_and_a_video_without_movements(tmp_path, release, picture):
    written(tmp_path / "SAMM_LongVideos_V3_Release.xlsx", release, [row("006_1_2", 10, 12, 14, MICRO)])
    there = release.frames(tmp_path / "SAMM_longvideos" / "006_1", range(1, 20), picture)
    release.frames(tmp_path / "SAMM_longvideos" / "006_2", range(1, 6), picture)
    corpus = load_corpus("samm-lv", tmp_path)
    assert corpus.clips[0].frames == there
    assert [(video.key, video.frames, len(video.intervals)) for video in corpus.videos] == [
        ("samm-lv/006/006_1", 19, 1),
        ("samm-lv/006/006_2", 5, 0),
    ]
    assert corpus.faults == ()


def test_the_counts_of_a_complete_copy(tmp_path, release):
    people = [f"{n:03d}" for n in range(6, 38) if n not in (27, 29)]  # 30 of them
    videos = [f"{person}_{code}" for code in range(1, 6) for person in people][:147]
    micro_videos = [name for name in videos if not name.startswith("008")][:79]
    macro_videos = [name for name in videos if not name.startswith("031")][:130]
    rows = [row(f"{name}_{i}", 10, 11, 12, MICRO) for i, name in zip(range(159), cycle(micro_videos), strict=False)]
    rows += [row(f"{name}_{i}", 9, 11, 13) for i, name in zip(range(200, 543), cycle(macro_videos), strict=False)]
    written(tmp_path / "SAMM_LongVideos_V3_Release.xlsx", release, rows)
    for name in videos:
        release.frames(tmp_path / "SAMM_longvideos" / name, range(9, 14), name + "_{:04d}.jpg")
    result = survey(load_corpus("samm-lv", tmp_path))
    assert result.is_clean, (result.departures, result.corpus.faults)
    assert {name: number for name, (number, _) in result.further.items() if "movements" not in name} == {
        "videos": 147, "micro": 159, "macro": 343, "people in videos": 30,
    }  # fmt: skip
