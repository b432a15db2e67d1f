import pytest

from epir.core.errors import DatasetError
from epir.datasets.registry import load_corpus, load_long_videos
from epir.datasets.survey import expected_copy, survey


def row(subject, name, first, onsets, *, first_frame=None):
    """A row of the sheet: up to three micro-expressions of 20 frames, in a recording of 200 frames."""
    spans = [cell for onset in onsets for cell in (onset, onset + 19, 20)]
    spans += [0] * (9 - len(spans))
    return (subject, name, *spans, name.split("_")[1], first if first_frame is None else first_frame, first + 199, 200)


ROWS = [
    row(1, "s1_ne_01", 559740, [559800]),
    row(3, "s3_sur_01", 308866, [308900, 308950, 309000], first_frame="no frame base"),
    ("There are 157 clips in this table",),
]


@pytest.fixture
def copy(tmp_path, release):
    release.workbook(tmp_path / "SMIC-HS-E_annotation_2019.xlsx", release.SMIC_E_HEADER, ROWS)
    home = tmp_path / "HS_long" / "SMIC_HS_E"
    release.frames(home / "s01" / "s1_ne_01", [559740, *range(559800, 559820), 559939], "image{}.jpg")
    release.frames(home / "s03" / "s3_sur_01", [308866, *range(308900, 309020), 309065], "image{}.jpg")
    return tmp_path


def test_recordings_with_up_to_three_micro_expressions(copy):
    first, second = load_long_videos("smic-e", copy)
    assert (first.key, first.first, first.frames, first.fps) == ("smic-e/s01/s01_ne_01", 559740, 200, 100.0)
    assert [(one.kind, one.onset, one.offset, one.emotion) for one in first.intervals] == [
        ("micro", 559800, 559819, "negative")
    ]
    assert first.intervals[0].onset - first.first + 1 == 61
    assert [one.onset for one in second.intervals] == [308900, 308950, 309000]
    assert second.first == 308866  # the sheet has a text there; the folder says it


def test_the_clips_are_those_of_smic(copy):
    corpus = load_corpus("smic-e", copy, part="hs")
    assert corpus.name == "smic-e"
    assert [clip.key for clip in corpus.clips] == [
        "smic/s01/s01_ne_01",
        "smic/s03/s03_sur_01",
        "smic/s03/s03_sur_01_2",
        "smic/s03/s03_sur_01_3",
    ]
    assert corpus.faults == ()


def test_another_order_of_columns_and_an_apex_that_is_not_official(tmp_path, release):
    header = [*release.SMIC_E_HEADER[::-1], "ApexF"]
    release.workbook(tmp_path / "SMIC-HS-E_annotation.xlsx", header, [(*ROWS[0][::-1], 559805)])
    corpus = load_corpus("smic-e", tmp_path)
    (clip,) = corpus.clips
    assert (clip.onset, clip.apex) == (559800, None)
    assert "the column ApexF is not part of the release and is not read" in corpus.notes


@pytest.mark.parametrize(("part", "fps"), [("vis", 25.0), ("nir", 25.0)])
def test_the_other_parts(tmp_path, release, part, fps):
    name = f"SMIC_{part.upper()}_E_annotation.xlsx"
    home = tmp_path / f"{part.upper()}_long"
    release.workbook(home / name, release.SMIC_E_HEADER, [row(11, "s11_po_01", 100, [120])])
    release.frames(home / f"SMIC-{part.upper()}-E" / "s11" / "s11_po_01", range(100, 150), "image{:06d}.jpg")
    (video,) = load_long_videos("smic-e", tmp_path, part=part)
    assert (video.key, video.fps) == (f"smic-e/s11/{part}_s11_po_01", fps)
    assert load_corpus("smic-e", tmp_path, part=part).faults == ()


def test_what_is_expected(copy):
    assert [expected_copy("smic-e", f"{part}-e")["further"]["videos"] for part in ("hs", "vis", "nir")] == [157, 71, 71]
    assert "2 videos, expected 157" in survey(load_corpus("smic-e", copy)).departures


def test_a_part_that_is_not_there(copy):
    with pytest.raises(DatasetError, match="SMIC has no part 'xx-e'"):
        load_corpus("smic-e", copy, part="xx")
