"""The way from a sheet to clips, with a corpus that does not exist."""

from dataclasses import replace

import pytest

from epir.core.errors import DatasetError
from epir.datasets.base import Defect
from epir.datasets.folders import Layouts
from epir.datasets.loading import SheetFormat, _with_known_share, load_sheet

FORM = SheetFormat(
    corpus="moon",
    title="The Moon Corpus",
    fps=50.0,
    sheets=("moon*.csv",),
    columns={
        "subject": ("Who",),
        "clip": ("What",),
        "onset": ("From",),
        "offset": ("To",),
        "emotion": ("Feels",),
    },
    further={"weather": ("Weather",)},
    passed_on=("weather",),
    subject="s{:04d}".format,
    words=frozenset({"joy"}),
    layouts=Layouts({"{subject}/{clip}": "frames"}, {}),
)


def sheet(root, *rows, header="Who,What,From,To,Feels,Weather"):
    path = root / "moon_v7.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_a_corpus_is_described_by_names_alone(tmp_path, release):
    sheet(tmp_path, "s3,dance,1,9,JOY,fine")
    there = release.frames(tmp_path / "deep" / "down" / "0003" / "DANCE", range(1, 10))
    corpus = load_sheet(FORM, tmp_path)
    (clip,) = corpus.clips
    assert clip.key == "moon/s0003/dance"
    assert (clip.onset, clip.apex, clip.offset, clip.fps, clip.emotion) == (1, None, 9, 50.0, "joy")
    assert (clip.extra, clip.frames) == ({"weather": "fine"}, there)
    assert (corpus.sheet, corpus.tree, corpus.defects) == ("v7", "frames", ())
    assert corpus.notes == ("annotations from moon_v7.csv", "frames from deep/down")


def test_more_missing_frames_than_any_release_lacks_are_of_this_copy():
    known = [Defect(f"moon/s1/{n}", "3 frames missing", known=True, kind="missing frames") for n in range(21)]
    other = Defect("moon/s1/0", "the sheet gives no apex", known=True, kind="no apex")
    assert _with_known_share([*known, other], 210) == (*known, other)
    assert [one.known for one in _with_known_share([*known, other], 100)] == [False] * 21 + [True]


def test_columns_that_may_be_missing(tmp_path):
    sheet(tmp_path, "1,a,1,9,joy", header="Who,What,From,To,Feels")
    assert load_sheet(FORM, tmp_path).clips[0].extra == {}


@pytest.mark.parametrize("written", ["046", "46.0", " 46 "])
def test_a_name_with_a_number_has_one_spelling(tmp_path, written):
    sheet(tmp_path, f"1,a,{written},90,joy,")
    form = replace(FORM, clip="{clip}_{onset}", clip_case=str.upper)
    assert load_sheet(form, tmp_path).clips[0].clip == "A_46"


def test_a_clip_without_a_name(tmp_path):
    sheet(tmp_path, "1,,46,90,joy,")
    with pytest.raises(DatasetError, match=r"row 2: the clip is ''"):
        load_sheet(FORM, tmp_path)


def test_a_row_may_describe_several_clips(tmp_path):
    sheet(tmp_path, "1,a,46,90,joy,")

    def twice(disk, content):
        rows = [replace(row, cells={**row.cells, "clip": name}) for row in content.rows for name in ("a", "b")]
        return rows, ["every row is two clips"]

    form = replace(FORM, events=twice)
    assert load_sheet(form, tmp_path).notes[-1] == "every row is two clips"
    assert [clip.clip for clip in load_sheet(form, tmp_path).clips] == ["a", "b"]
