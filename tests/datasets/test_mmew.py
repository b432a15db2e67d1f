import pytest

from epir.datasets.base import all_corrections
from epir.datasets.registry import load_corpus
from epir.datasets.survey import survey

HEADER = [
    "Subject", "Filename", "OnsetFrame", "ApexFrame", "OffsetFrame", "Action Units", "Estimated Emotion", "remarks",
]  # fmt: skip
COUNTS = {"happiness": 36, "surprise": 89, "anger": 8, "disgust": 72, "fear": 16, "sadness": 13, "others": 66}
CODES = {word: f"{n:02d}" for n, word in enumerate(["", "happiness", "surprise", "disgust", "others", "fear"]) if word}
CODES |= {"sadness": "06", "anger": "07"}
BY_ROW = {int(one.clip.split()[-1]): {} for one in all_corrections() if one.clip.startswith("mmew/")}
for one in all_corrections():
    if one.clip.startswith("mmew/"):
        BY_ROW[int(one.clip.split()[-1])][one.field] = int(one.new)


def row(subject, word, number, onset=1, apex=5, offset=9):
    return (subject, f"S{subject:02d}-{CODES[word]}-{number:03d}", onset, apex, offset, 4, word, None)


def all_rows():
    """300 rows of 30 people."""
    words = [word for word, count in COUNTS.items() for _ in range(count)]
    return [row(1 + n % 30, word, n) for n, word in enumerate(words)]


def written(folder, release, rows, name="MMEW_Micro_Exp.xlsx"):
    return release.workbook(folder / name, HEADER, rows)


@pytest.mark.parametrize(
    ("home", "word"),
    [("S03/happiness", "happiness"), ("happiness", "happiness"), ("repression", "others")],
)
def test_with_and_without_a_folder_for_the_subject(tmp_path, release, home, word):
    written(tmp_path, release, [row(3, word, 2)])
    there = release.frames(tmp_path / "Micro_Expression" / home / f"S03-{CODES[word]}-002", range(1, 12), "{}.jpg")
    release.frames(tmp_path / "Macro_Expression" / "S03" / "happiness", [1], "S03-01-00{}.jpg")
    corpus = load_corpus("mmew", tmp_path)
    (clip,) = corpus.clips
    assert (clip.key, clip.frames, clip.fps) == (f"mmew/S03/S03-{CODES[word]}-002", there, 90.0)
    assert (clip.emotion, clip.onset, clip.apex, clip.offset) == (word, 1, 5, 9)
    assert (corpus.defects, corpus.corrected) == ((), ())


def test_frames_are_counted_anew_only_where_the_folder_lacks_them(tmp_path, release):
    written(tmp_path, release, [row(3, "fear", 1, 101, 105, 111), row(3, "fear", 2, 101, 105, 111)])
    home = tmp_path / "Micro_Expression" / "fear"
    release.frames(home / "S03-05-001", range(1, 12), "{}.jpg")
    release.frames(home / "S03-05-002", range(101, 112), "{}.jpg")
    corpus = load_corpus("mmew", tmp_path)
    assert [(clip.onset, clip.apex, clip.offset) for clip in corpus.clips] == [(1, 5, 11), (101, 105, 111)]
    assert [(one.field, one.old, one.new) for one in corpus.corrected] == [
        ("onset", "101", "1"),
        ("apex", "105", "5"),
        ("offset", "111", "11"),
    ]
    assert "trimmed" in corpus.corrected[0].reason
    assert corpus.defects == ()


@pytest.mark.parametrize("there", [[*range(1, 10), *range(11, 41)], range(11, 41)])
def test_a_lost_onset_does_not_move_the_clip(tmp_path, release, there):
    written(tmp_path, release, [row(3, "fear", 1, 10, 18, 38)])
    release.frames(tmp_path / "Micro_Expression" / "fear" / "S03-05-001", there, "{}.jpg")
    corpus = load_corpus("mmew", tmp_path)
    assert [(clip.onset, clip.apex, clip.offset) for clip in corpus.clips] == [(10, 18, 38)]
    assert corpus.corrected == () and "the onset frame 10 is missing" in corpus.faults[0].problem


def test_sixteen_rows_are_put_right_in_a_complete_sheet(tmp_path, release):
    written(tmp_path, release, all_rows())
    corpus = load_corpus("mmew", tmp_path)
    assert len(BY_ROW) == 16
    for number, fields in BY_ROW.items():
        assert (corpus.clips[number].apex, corpus.clips[number].offset) == (fields["apex"], fields["offset"])
    assert len(corpus.corrected) == 32
    assert not [one for one in corpus.faults if one.kind != "no folder"]


def test_not_in_a_part_of_the_sheet_nor_where_the_folder_says_otherwise(tmp_path, release):
    written(tmp_path, release, all_rows()[:100])
    assert load_corpus("mmew", tmp_path).corrected == ()
    rows = all_rows()
    written(tmp_path, release, rows)
    release.frames(tmp_path / "Micro_Expression" / "x" / rows[33][1], range(1, 20), "{}.jpg")  # ends before 40 and 75
    clip = load_corpus("mmew", tmp_path).clips[33]
    assert (clip.apex, clip.offset) == (5, 9)


@pytest.mark.parametrize(
    ("name", "version"),
    [("MMEW_Micro_Exp.xlsx", "v1"), ("MMEW_Micro_Exp (20).xlsx", "v1"), ("MMEW_Micro_Exp_v2.xlsx", "v2")],
)
def test_the_counts_of_a_complete_copy(tmp_path, release, name, version):
    rows = all_rows()
    written(tmp_path, release, rows, name)
    for number, (_, clip, *_) in enumerate(rows):
        numbers = {1, 5, 9, *BY_ROW.get(number, {}).values()}
        release.frames(tmp_path / "Micro_Expression" / "all" / clip, numbers, "{}.jpg")
    result = survey(load_corpus("mmew", tmp_path))
    assert (result.corpus.sheet, result.departures) == (version, ())
    counts_of = {name: (counts.clips, counts.people) for name, (counts, _) in result.protocols.items()}
    assert counts_of == {"sde-mmew": (234, 30), "sde-mmew-4": (263, 30), "sde-mmew-6": (234, 30)}
