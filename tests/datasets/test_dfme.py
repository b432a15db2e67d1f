import pytest

from epir.core.errors import DatasetError
from epir.datasets.registry import load_corpus
from epir.datasets.survey import survey

HEADER = ["Subject", "Filename", "OnsetFrame", "ApexFrame", "OffsetFrame", "Emotion", "EmotionId", "Fps", "AU"]
WORDS = ["anger", "contempt", "disgust", "fear", "happiness", "sadness", "surprise"]
COUNTS = {
    "train": (176, [161, 100, 548, 265, 206, 278, 298]),
    "test_A": (42, [39, 34, 129, 62, 63, 46, 101]),
    "test_B": (41, [41, 37, 58, 38, 42, 35, 48]),
}


def row(subject, number, word="fear", *, onset=0, fps=500, units=4):
    name = f"sub{subject:04d}"
    return (name, f"{name}_{number:02d}", onset, onset + 2, onset + 4, word, WORDS.index(word), fps, units)


def written(folder, release, **parts):
    for part, rows in parts.items():
        release.workbook(folder / f"DFME_{part}.xlsx", HEADER, rows)


def test_three_sheets_are_one_corpus_with_a_fixed_split(tmp_path, release):
    written(tmp_path, release, train=[row(3, 1), row(3, 2, fps=300)], test_A=[row(7, 1)], test_B=[row(1, 1, fps=200)])
    for home, name in (("train_data", "sub0003_01"), ("train_data", "sub0003_02"), ("test_data_B", "sub0001_01")):
        release.frames(tmp_path / home / name, range(5), "{:05d}.png")
    release.frames(tmp_path / "test_data_A" / "sub0007_01", range(5), "{:05d}.png")
    corpus = load_corpus("dfme", tmp_path)
    assert [(clip.key, clip.extra["split"], clip.fps) for clip in corpus.clips] == [
        ("dfme/sub0003/sub0003_01", "train", 500.0),
        ("dfme/sub0003/sub0003_02", "train", 300.0),
        ("dfme/sub0007/sub0007_01", "test-a", 500.0),
        ("dfme/sub0001/sub0001_01", "test-b", 200.0),
    ]
    assert [note for note in corpus.notes if note.startswith("test-b")] == ["test-b: 1 clip in DFME_test_B.xlsx"]
    assert corpus.defects == ()


def test_frame_0_is_a_frame(tmp_path, release):
    written(tmp_path, release, train=[row(3, 1, onset=0), row(3, 2, onset=20)])
    corpus = load_corpus("dfme", tmp_path)
    assert [(clip.onset, clip.apex) for clip in corpus.clips] == [(0, 2), (20, 22)]
    assert {one.kind for one in corpus.defects} == {"no folder"}


@pytest.mark.parametrize("fps", ["fast", 0, -30, "inf"])
def test_an_impossible_frame_rate_is_a_defect(tmp_path, release, fps):
    written(tmp_path, release, train=[row(3, 1, fps=fps)])
    corpus = load_corpus("dfme", tmp_path)
    assert corpus.unusable == {"dfme/sub0003/sub0003_01": f"the fps is '{fps}', which is not a frame rate"}
    assert corpus.clips[0].fps == 200.0


def test_descriptors_and_head_movements_are_no_action_units(tmp_path, release):
    units = [4, "L12+R14", "AD38+4+M57", "AD31"]
    written(tmp_path, release, train=[row(3, n, units=cell) for n, cell in enumerate(units)])
    annotated = [clip.extra.get("action_units") for clip in load_corpus("dfme", tmp_path).clips]
    assert annotated == ["4", "L12+R14", "4", "0"]


@pytest.mark.parametrize(
    ("name", "part"),
    [("test_data_A.xlsx", "test-a"), ("DFME_testB.xlsx", "test-b"), ("DFME_training_data.xlsx", "train")],
)
def test_a_sheet_alone_is_told_by_its_name(tmp_path, release, name, part):
    release.workbook(tmp_path / name, HEADER, [row(3, 1)])
    assert load_corpus("dfme", tmp_path).clips[0].extra["split"] == part


def test_a_name_that_says_nothing(tmp_path, release):
    release.workbook(tmp_path / "DFME.xlsx", HEADER, [row(3, 1)])
    with pytest.raises(DatasetError, match=r"DFME.xlsx does not say which part .*\n  fix: call the three sheets"):
        load_corpus("dfme", tmp_path)


def test_test_sheets_without_labels(tmp_path, release):
    without = [*HEADER[:5], "Fps"]
    release.workbook(tmp_path / "DFME_test_A.xlsx", without, [("sub0003", "sub0003_01", 0, 2, 4, 200)])
    corpus = load_corpus("dfme", tmp_path)
    assert corpus.clips[0].emotion == ""
    assert {one.kind for one in corpus.defects} == {"no folder"}


def test_the_counts_of_the_challenge(tmp_path, release):
    first = 1
    for part, (people, counts) in COUNTS.items():
        words = [word for word, count in zip(WORDS, counts, strict=True) for _ in range(count)]
        written(
            tmp_path, release, **{part: [row(first + n % people, n // people, word) for n, word in enumerate(words)]}
        )
        first += people
    corpus = load_corpus("dfme", tmp_path)
    result = survey(corpus)
    assert result.expected.clips == len(corpus) == 2629
    assert corpus.emotions == dict(sorted(result.expected.classes.items(), key=lambda item: -item[1]))
    assert len(corpus.people) == result.expected.people
    splits = [clip.extra["split"] for clip in corpus.clips]
    assert {name: splits.count(name) for name in result.further} == {
        name: wanted for name, (_, wanted) in result.further.items()
    }
