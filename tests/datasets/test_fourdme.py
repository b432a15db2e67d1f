from epir.core.records import Clip
from epir.datasets.protocols import get_protocol
from epir.datasets.registry import load_corpus

CLASSES = ["Positive", "Negative", "Surprise", "Repression", "Others"]
HEADER = [
    "sub_ID",
    "fold_name",
    "Emotion",
    "Onset",
    "Apex",
    "Offset",
    "AUs",
    "fold",
    "eye blink",
    *CLASSES,
    "AU1",
    "AU4",
]
SHEET = "4DME_Labelling_Micro_release v1.xlsx"


def row(subject, clip, *words, units="4"):
    marks = [int(name.lower() in words) for name in CLASSES]
    return (subject, clip, "/".join(words), 3, 5, 9, units, "x", 0, *marks, 0, 1)


def written(folder, release, rows, header=HEADER):
    return release.workbook(folder / SHEET, header, rows)


def test_one_class_or_several(tmp_path, release):
    written(
        tmp_path, release, [row(1, "a", "negative"), row(1, "b", "surprise", "positive"), row(2, "c", "repression")]
    )
    corpus = load_corpus("4dme", tmp_path)
    assert [clip.emotion for clip in corpus.clips] == ["negative", "positive+surprise", "repression"]
    assert "more than one class: 1 clip" in corpus.notes
    labels = [get_protocol("sde-4dme").label(clip) for clip in corpus.clips]
    assert labels == ["negative", None, "repression"]
    assert get_protocol("cde-all").label(corpus.clips[2]) == "negative"
    assert get_protocol("sde-4dme").label(Clip("4dme", "01", "a", "Others")) == "others"


def test_static_units_are_dropped(tmp_path, release):
    written(tmp_path, release, [row(1, "a", "negative", units="4+7(k)"), row(1, "b", "others", units="45 (k)")])
    corpus = load_corpus("4dme", tmp_path)
    assert [clip.extra.get("action_units") for clip in corpus.clips] == ["4", "0"]
    assert "static action units, marked (k), dropped: 2 clips" in corpus.notes


def test_the_units_of_two_rows_are_swapped_in_a_complete_sheet(tmp_path, release):
    rows = [row(1 + n % 41, f"c{n}", "negative", units=n + 1) for n in range(267)]
    written(tmp_path, release, rows)
    corpus = load_corpus("4dme", tmp_path)
    units = [clip.extra["action_units"] for clip in corpus.clips]
    assert units[143:147] == ["144", "146", "145", "147"]
    assert {one.field for one in corpus.corrected} == {"action_units"}
    written(tmp_path, release, rows[:200])
    assert load_corpus("4dme", tmp_path).corrected == ()


def test_columns_that_end_in_an_apostrophe_and_the_cropped_twin(tmp_path, release):
    written(tmp_path, release, [row(1, "a", "negative")], [f"{name}'" for name in HEADER])
    extras = tmp_path / "4DME_Labelling_Micro_extras_release v1.xlsx"
    release.workbook(extras, ["sub_ID", "fold_name", "self-report emo'", "video emo'"], [(1, "a", "fear", "fear")])
    gray = release.frames(tmp_path / "gray_micro" / "1" / "a", range(3, 10), "{}.jpg")
    cropped = release.frames(tmp_path / "gray_micro_crop" / "1" / "a", range(3, 10), "{}.jpg")
    assert load_corpus("4dme", tmp_path).clips[0].frames == cropped
    corpus = load_corpus("4dme", tmp_path, tree="gray")
    assert (corpus.clips[0].frames, corpus.clips[0].key, corpus.defects) == (gray, "4dme/01/a", ())
