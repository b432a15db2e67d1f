import pytest

from epir.core.errors import DatasetError
from epir.datasets.intervals import (
    Interval,
    LongVideo,
    find_intervals,
    first_and_length,
    in_order,
    read_intervals,
    write_intervals,
)

HEADER = "corpus,subject,video,path,fps,kind,onset,apex,offset,emotion\n"


def written(folder, *lines):
    path = folder / "intervals.csv"
    path.write_text(HEADER + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_both_ends_belong_to_the_interval():
    assert len(Interval("a", "1", "micro", 10, 12, 19)) == 10
    assert len(Interval("a", "1", "micro", 7, None, 7)) == 1


def test_what_is_written_is_read_back(tmp_path):
    videos = [
        LongVideo(
            "mine",
            "anna",
            "talk",
            tmp_path / "anna" / "talk.mp4",
            29.97,
            400,
            (
                Interval("talk", "anna", "micro", 5, 8, 12, "negative"),
                Interval("talk", "anna", "macro", 100, None, 160),
            ),
        ),
        LongVideo("mine", "ben", "quiet", tmp_path / "ben" / "quiet", 200.0, None, (), first=559740),
    ]
    write_intervals(tmp_path / "intervals.csv", videos)
    assert read_intervals(find_intervals(tmp_path)) == videos
    assert "anna/talk.mp4" in (tmp_path / "intervals.csv").read_text()


def test_a_list_with_only_the_columns_that_are_needed(tmp_path):
    folder = tmp_path / "v"
    folder.mkdir()
    for number in (8, 9, 30):
        (folder / f"img{number}.jpg").touch()
    path = tmp_path / "own.csv"
    path.write_text("subject;video;path;fps;kind;onset;offset\nanna;a;v;30;Macro;9;20\nanna;a;v;30;micro;8;9\n")
    (video,) = read_intervals(path, corpus="lab")
    assert (video.key, video.person, video.first, video.frames) == ("lab/anna/a", "lab/anna", 8, 23)
    assert [(one.kind, one.onset) for one in video.intervals] == [("micro", 8), ("macro", 9)]
    assert [one.offset for one in video.of_kind("macro")] == [20]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("m,anna,a,a.mp4,30,blink,1,2,3,", "row 2: the kind is 'blink'\n  fix: use one of: micro, macro"),
        ("m,anna,a,a.mp4,30,micro,9,,3,", "row 2: the offset 3 is before the onset 9"),
        ("m,anna,a,a.mp4,30,micro,9,,,", "row 2: the offset is empty\n  fix: give both ends"),
        ("m,anna,a,a.mp4,fast,micro,1,,3,", "row 2: the fps is 'fast', which is not a frame rate"),
        ("m,anna,a,a.mp4,30,micro,1.5,,3,", "row 2: the onset is '1.5', which is not a frame number"),
        ("m,anna,,a.mp4,30,micro,1,,3,", "row 2: the video is empty"),
    ],
)
def test_a_row_that_cannot_be_is_named(tmp_path, line, problem):
    with pytest.raises(DatasetError) as error:
        read_intervals(written(tmp_path, line))
    assert problem in str(error.value)


def test_a_video_has_one_path(tmp_path):
    path = written(tmp_path, "m,anna,a,a.mp4,30,micro,1,,3,", "m,anna,a,b.mp4,30,micro,1,,3,")
    with pytest.raises(DatasetError, match=r"row 3: m/anna/a has another path or fps"):
        read_intervals(path)


def test_no_list_and_an_empty_list(tmp_path):
    with pytest.raises(DatasetError, match=r"there is no intervals.csv in .*\n  fix: .*epir synth .* --long"):
        find_intervals(tmp_path)
    with pytest.raises(DatasetError, match="lists no videos"):
        read_intervals(written(tmp_path))


def test_an_interval_cannot_end_before_it_begins():
    with pytest.raises(DatasetError, match="ends at 3, before its onset 9"):
        Interval("a", "anna", "micro", 9, None, 3)


def test_order_and_span():
    first, second = Interval("a", "1", "macro", 1, None, 50), Interval("a", "1", "micro", 9, None, 12)
    assert in_order([second, first]) == (first, second)
    assert first_and_length([8, 9, 30]) == (8, 23)
    assert first_and_length([]) is None
