import pytest

from epir.core.errors import DatasetError
from epir.datasets.casme_sq import SUBJECTS, VIDEO_NAMES, video_name
from epir.datasets.registry import load_corpus, load_long_videos
from epir.datasets.survey import survey

SHEET = "CAS(ME)^2code_final(Updated).xlsx"
MICRO, MACRO = "micro-expression", "macro-expression"


def row(subject, clip, onset, apex, offset, kind, valence="negative", units=4, report="disgust"):
    return (subject, clip, onset, apex, offset, units, valence, kind, report)


DEFECTS = [
    row(1, "anger1_1", 557, 572, 608, MACRO, units="4+10+14+15"),
    row(1, "anger1_2", 700, 712, 0, MACRO),  # no offset; 13 frames long, and macro all the same
    row(1, "anger1_10", 900, 906, 912, MICRO, "surprise"),
    row(11, "disgust1_5", 1221, 1230, 1224, MACRO),
    row(14, "happy2_1", 2169, 2203, 2202, MACRO, "positive", report="happyiness"),
    row(15, "anger1_12", 2407, 2455, 2451, MACRO, units="NULL"),
    row(17, "anger1_1", 30, 0, 60, MACRO),
    row(22, "happy5_1", 20, 25, 32, MICRO, "positive"),
]


def written(path, release, rows=DEFECTS):
    rules = [
        ("naming rule1", [(SUBJECTS[one[0] - 1], f"s{SUBJECTS[one[0] - 1]}", one[0]) for one in rows]),
        ("naming rule2", list(VIDEO_NAMES.items())),
    ]
    return release.workbook(path, rows[0], rows[1:], page="CASFEcode_final", further_pages=rules)


@pytest.fixture
def copy(tmp_path, release):
    written(tmp_path / SHEET, release)
    home = tmp_path / "rawpic"
    for folder, spans in {
        "s15/15_0401girlcrashing": [(1, 1), (557, 608), (700, 712), (900, 912), (950, 950)],
        "s15/15_0508funnydunkey": [(1, 1), (40, 40)],
        "s27/27_0101disgustingteeth": [(1221, 1230)],
        "s31/31_0503unnyfarting": [(2169, 2203)],
        "s32/32_0401girlcrashing": [(2407, 2455)],
        "s34/34_0401girlcrashing": [(30, 60)],
        "s40/40_0508funnydunkey": [(20, 32)],
    }.items():
        numbers = [number for first, last in spans for number in range(first, last + 1)]
        release.frames(home / folder, numbers, "img{:03d}.jpg")
    return tmp_path


def by_name(videos):
    return {f"{video.subject}/{video.name}": video for video in videos}


def test_micro_expressions_are_the_clips(copy):
    corpus = load_corpus("casme-sq", copy)
    assert [clip.key for clip in corpus.clips] == ["casme-sq/s15/anger1_10", "casme-sq/s40/happy5_1"]
    clip = corpus.clips[0]
    assert (clip.onset, clip.apex, clip.offset, clip.emotion, clip.fps) == (900, 906, 912, "surprise", 30.0)
    assert clip.frames == copy / "rawpic" / "s15" / "15_0401girlcrashing"
    assert clip.extra == {"action_units": "4", "self_report": "disgust"}
    assert (corpus.tree, corpus.faults) == ("raw", ())


def test_the_kind_stands_in_the_sheet_and_a_missing_offset_is_the_apex(copy, release):
    videos = by_name(load_long_videos("casme-sq", copy))
    anger = videos["s15/anger1"]
    assert [(one.kind, one.onset, one.apex, one.offset) for one in anger.intervals] == [
        ("macro", 557, 572, 608),
        ("macro", 700, 712, 712),
        ("micro", 900, 906, 912),
    ]
    assert len(anger.intervals[1]) == 13
    assert (anger.corpus, anger.fps, anger.first, anger.frames) == ("casme-sq", 30.0, 1, 950)
    (note,) = [note for note in load_corpus("casme-sq", copy).notes if "offset" in note]
    # the same sheet, with a micro-expression whose offset is lost
    lost = [(*one[:4], 0, *one[5:]) if one[1] == "anger1_10" else one for one in DEFECTS]
    written(copy / SHEET, release, lost)
    corpus = load_corpus("casme-sq", copy)
    assert corpus.clips[0].offset is None and any("gives no offset" in one.problem for one in corpus.faults)
    assert [each for each in corpus.notes if "offset" in each] == [note]
    assert note == "1 macro-expressions without an offset end at their apex, as in the organisers' ground truth"


def test_videos_without_any_expression_and_a_misspelt_folder(copy):
    videos = by_name(load_long_videos("casme-sq", copy))
    assert (videos["s15/happy5"].intervals, videos["s15/happy5"].frames) == ((), 40)
    assert videos["s31/happy2"].path.name == "31_0503unnyfarting"
    assert {video_name(f"31_{code}anything") for code in VIDEO_NAMES} == set(VIDEO_NAMES.values())


def test_apexes_after_the_offset_and_an_apex_that_is_missing(copy):
    videos = by_name(load_long_videos("casme-sq", copy))
    names = ("s27/disgust1", "s31/happy2", "s32/anger1", "s34/anger1")
    assert [(one.onset, one.apex, one.offset) for name in names for one in videos[name].intervals] == [
        (1221, 1224, 1224), (2169, 2202, 2202), (2407, 2451, 2451), (30, None, 60),
    ]  # fmt: skip
    corpus = load_corpus("casme-sq", copy)
    assert [(one.clip, one.known) for one in corpus.defects] == [("casme-sq/s34/anger1_1", True)]
    assert ("casme-sq/s31/happy2_1", "self_report", "happyiness", "happiness") in {
        (one.clip, one.field, one.old, one.new) for one in corpus.corrected
    }


def test_two_versions_of_the_action_units(tmp_path, release):
    written(tmp_path / "CAS(ME)^2code_final.xlsx", release)
    assert load_corpus("casme-sq", tmp_path).sheet == "updated"  # by the first row, whatever the file is called
    rows = [row(1, "anger1_1", 557, 572, 608, MACRO, units="4+15")]
    written(tmp_path / "CAS(ME)^2code_final.xlsx", release, rows)
    assert load_corpus("casme-sq", tmp_path).sheet == "final"


def test_a_csv_export_has_a_tenth_column(tmp_path):
    path = tmp_path / "CAS(ME)^2code_final.csv"
    path.write_text("1,anger1_1,557,572,608,4+15,negative,macro-expression,disgust,52\n")
    (video,) = load_long_videos("casme-sq", tmp_path)
    assert (video.key, len(video.intervals[0]), video.frames) == ("casme-sq/s15/anger1", 52, None)
    assert not video.path.exists()


def test_videos_are_counted_from_0_and_intervals_from_1(tmp_path, release):
    written(tmp_path / SHEET, release, [row(1, "anger1_10", 900, 906, 912, MICRO)])
    place = tmp_path / "rawvideo" / "s15" / "15_0401girlcrashing.avi"
    place.parent.mkdir(parents=True)
    place.write_bytes(b"film")
    (clip,) = load_corpus("casme-sq", tmp_path).clips
    (video,) = load_long_videos("casme-sq", tmp_path)
    assert (clip.onset, clip.frames) == (899, place)
    assert (video.intervals[0].onset, video.first, video.path) == (900, 1, place)


def test_a_subject_and_a_video_that_cannot_be(tmp_path, release):
    written(tmp_path / SHEET, release, [row(1, "anger1_1", 1, 2, 3, MICRO)])
    path = tmp_path / "other.csv"
    for line, problem in (
        ("23,anger1_1,1,2,3,4,negative,micro-expression,pain", "the subject is '23', not a number from 1 to 22"),
        ("1,anger7_1,1,2,3,4,negative,micro-expression,pain", "there is no video 'anger7'"),
        (
            "1,anger1_1,1,2,3,4,negative,expression,pain",
            "row 1: 'expression' is neither a micro- nor a macro-expression",
        ),
    ):
        path.write_text(line + "\n")
        with pytest.raises(DatasetError) as error:
            load_corpus("casme-sq", tmp_path, sheet=path)
        assert problem in str(error.value)


def complete_rows():
    """357 rows with the counts of the release: 57 micro (14 people), 300 macro (20 people), 95 videos, 44 open ends."""
    stems = list(VIDEO_NAMES.values())
    places = [(person, stem) for stem in stems for person in range(1, 23)]
    macro_people = [n for n in range(1, 23) if n not in (12, 18)]
    micro = [(12, stems[i % 2]) for i in range(20)] + [(18, stems[i % 2]) for i in range(20)]
    micro += [(macro_people[i % 12], stems[0]) for i in range(17)]
    macro = [place for place in places if place[0] in macro_people][:91]
    macro = (macro * 4)[:300]
    rows, seen = [], {}
    for kind, where, words in (
        (MICRO, micro, ["negative"] * 21 + ["positive"] * 8 + ["surprise"] * 9 + ["others"] * 19),
        (MACRO, macro, ["negative"] * 105 + ["positive"] * 116 + ["surprise"] * 16 + ["others"] * 63),
    ):
        for number, ((person, stem), word) in enumerate(zip(where, words, strict=True)):
            running = seen[person, stem] = seen.get((person, stem), 0) + 1
            start = 100 * running
            offset = 0 if kind == MACRO and number < 44 else start + (9 if kind == MICRO else 40)
            rows.append(row(person, f"{stem}_{running}", start, start + 5, offset, kind, word, units="4+15"))
    return rows


def test_the_counts_of_a_complete_copy(tmp_path, release):
    rows = complete_rows()
    written(tmp_path / "CAS(ME)^2code_final.xlsx", release, rows)
    codes = {stem: code for code, stem in VIDEO_NAMES.items()}
    for person, stem in {(person, name.rpartition("_")[0]) for person, name, *_ in rows}:
        number = SUBJECTS[person - 1]
        place = tmp_path / "rawvideo" / f"s{number}" / f"{number}_{codes[stem]}x.avi"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"film")
    result = survey(load_corpus("casme-sq", tmp_path))
    assert result.departures == ()
    assert {name: found for name, (found, _) in result.further.items()} == {
        "videos": 95, "videos with movements": 95, "micro": 57, "macro": 300, "people in videos": 22,
    }  # fmt: skip
    assert "44 macro-expressions without an offset" in " ".join(result.corpus.notes)
    assert result.protocols["cde-all"][0].clips == 38
    assert result.is_clean
