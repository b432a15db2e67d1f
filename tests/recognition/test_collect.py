import csv

import pytest

from epir.core.errors import EpirError, EpirWarning
from epir.recognition import collect
from epir.recognition.collect import CollectOptions, collect_events, videos_of


@pytest.fixture
def options(trained):
    return CollectOptions(model=str(trained.folder))


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_every_movement_of_every_video_and_the_errors(video, options, tmp_path):
    table = tmp_path / "events.csv"
    done = collect_events([str(video), str(tmp_path / "gone.mp4")], table, options)
    assert (done.answered, done.known, done.movements) == (1, 0, 1)
    assert [name for name, _ in done.errors] == [str(tmp_path / "gone.mp4")]
    written = rows(table)
    assert written[0]["file"] == str(video) and written[0]["status"] == "reported"
    assert written[-1]["error"].startswith("there is no folder or video")
    assert len({row["settings"] for row in written}) == 1


def test_a_second_run_resumes_the_first(video, folder, options, tmp_path, monkeypatch):
    table = tmp_path / "events.csv"
    collect_events([str(video), "gone.mp4"], table, options)
    asked = []
    answer = collect._answer
    monkeypatch.setattr(collect, "_answer", lambda job, options: asked.append(job[0]) or answer(job, options))
    before = table.read_text()
    done = collect_events([str(video), "gone.mp4", str(folder)], table, options)
    assert asked == ["gone.mp4", str(folder)]  # what failed is tried again
    assert (done.answered, done.known) == (1, 1)
    assert table.read_text().startswith(before.splitlines()[0])
    assert next(row["file"] for row in rows(table)) == str(video)


def test_an_input_that_changed_or_rows_that_were_edited_are_answered_again(video, options, tmp_path):
    table, films = tmp_path / "events.csv", [tmp_path / "a.mp4", tmp_path / "b.mp4"]
    for film in films:
        film.write_bytes(video.read_bytes())
    names = [str(film) for film in films]
    collect_events(names, table, options)
    first = table.read_text()
    films[1].write_bytes(b"no video")
    with pytest.warns(EpirWarning, match=r"b\.mp4 has changed since: answered again$"):
        done = collect_events(names, table, options)
    assert (done.known, len(done.errors)) == (1, 1) and rows(table)[-1]["error"]
    films[1].write_bytes(video.read_bytes())
    collect_events(names, table, options)
    assert table.read_text() == first
    cell = f",{rows(table)[0]['onset']},"
    table.write_text(first.replace(cell, ",99,", 1))
    with pytest.warns(EpirWarning, match=r"a\.mp4 was edited in the table but is not an input: kept$"):
        collect_events(names[1:], table, options)
    with pytest.warns(EpirWarning, match=r"a\.mp4 was edited in the table: answered again$"):
        assert collect_events(names, table, options).answered == 1
    assert table.read_text() == first


def test_an_interrupted_run_keeps_its_rows(video, options, tmp_path, monkeypatch):
    answer = collect._answer

    def stopping(job, options):
        if job[0] != str(video):
            raise KeyboardInterrupt
        return answer(job, options)

    monkeypatch.setattr(collect, "_answer", stopping)
    with pytest.raises(KeyboardInterrupt):
        collect_events([str(video), "later.mp4"], tmp_path / "events.csv", options)
    assert {row["file"] for row in rows(tmp_path / "events.csv")} == {str(video)}


def test_a_table_never_mixes_two_settings(video, options, tmp_path):
    table = tmp_path / "events.csv"
    collect_events([str(video)], table, options)
    other = CollectOptions(model=options.model, sensitivity="high")
    with pytest.raises(EpirError, match=r"another model or other settings(.|\n)*--force"):
        collect_events([str(video)], table, other)
    assert collect_events([str(video)], table, other, force=True).answered == 1


@pytest.mark.parametrize("force", [False, True])
def test_a_table_of_another_program_is_never_replaced(video, options, tmp_path, force):
    table = tmp_path / "annotations.csv"
    table.write_text("a,b\n1,2\n")
    with pytest.raises(
        EpirError, match=r"is not a table that this command wrote\n  fix: choose another name; the file stays"
    ):
        collect_events([str(video)], table, options, force=force)
    assert table.read_text() == "a,b\n1,2\n"


def test_a_folder_is_replaced_by_its_videos(tmp_path):
    for name in ("b.mp4", "a.MOV", "sub/c.avi", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    names = [each.removeprefix(f"{tmp_path}/") for each in videos_of([str(tmp_path)])]
    assert names == ["a.MOV", "b.mp4", "sub/c.avi"]
    pictures = tmp_path / "frames"
    pictures.mkdir()
    (pictures / "1.png").touch()
    assert videos_of([str(pictures), "x.mp4"]) == [str(pictures), "x.mp4"]


@pytest.mark.slow
def test_two_workers_give_the_same_table(video, folder, options, tmp_path):
    inputs = [str(video), str(folder)]
    one, two = (tmp_path / f"{count}.csv" for count in (1, 2))
    collect_events(inputs, one, options, workers=1)
    collect_events(inputs, two, options, workers=2)
    assert one.read_text() == two.read_text()


@pytest.mark.parametrize("force", [False, True])
def test_a_table_never_replaces_an_input_or_a_folder(video, options, tmp_path, force):
    film = tmp_path / "film.mp4"
    film.write_bytes(video.read_bytes())
    with pytest.raises(EpirError, match="is an input of this command"):
        collect_events([str(film)], film, options, force=force)
    with pytest.raises(EpirError, match="is an input of this command"):
        collect_events([str(tmp_path)], film, options, force=force)  # as one of the videos of a folder
    assert film.read_bytes() == video.read_bytes()
    (tmp_path / "mine").mkdir()
    with pytest.raises(EpirError, match="is a folder, not a file"):
        collect_events([str(film)], tmp_path / "mine", options, force=force)
