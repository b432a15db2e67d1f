"""An answer for the page: its pictures, curves and tables, and films of the right frames in the right places."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from epir.core.engines import Silent
from epir.flow.head_motion import without_head_motion
from epir.flow.map import area_average
from epir.frames import pace
from epir.frames.film import write_film
from epir.frames.reader import open_frames
from epir.frames.video import VideoFrames
from epir.recognition.answer import Person
from epir.web.outputs import (
    ARROWS,
    COLUMNS,
    Album,
    add_films,
    answer_output,
    motion_curves,
    sheet,
    strongest,
    thinned,
    thinned_places,
)
from epir.web.settings import CLIP_FRAMES, CURVE_POINTS, FILM_FRAMES


@pytest.fixture(scope="module")
def look(recognizer):
    """The answer for a clip, and its album of faces."""

    def predict(clip, **options):
        album = Album()
        return recognizer.predict(clip, **options, explain=False, watch=album.add), album

    return predict


@pytest.fixture(scope="module")
def looked(look, clip):
    return look(clip)


@pytest.fixture(scope="module")
def answer(looked):
    return looked[0]


def filmed(recognizer, answer, album, movements=12, rejected=24):
    """The result with its films, and their files."""
    result, _ = answer_output(answer, "/at/", movements=movements)
    return result, add_films(result, album, answer, recognizer.recipe, "/at/", rejected=rejected, progress=Silent())


@pytest.fixture(scope="module")
def output(recognizer, looked):
    return filmed(recognizer, *looked)


def cell(film, files, index):
    """One frame of a film, (s, s, 3)."""
    picture = np.array(Image.open(io.BytesIO(files[film["sheet"].removeprefix("/at/")])))
    row, column = divmod(index, film["columns"])
    size = film["size"]
    return picture[row * size : (row + 1) * size, column * size : (column + 1) * size]


def test_a_sheet_holds_its_frames_row_by_row():
    faces = [np.full((4, 4, 3), number, np.uint8) for number in range(COLUMNS + 3)]
    whole = sheet(faces)
    assert whole.shape == (8, 4 * COLUMNS, 3)
    assert whole[0, ::4, 0].tolist() == list(range(COLUMNS))
    assert whole[4, : 3 * 4 : 4, 0].tolist() == [COLUMNS, COLUMNS + 1, COLUMNS + 2]
    assert whole[4:, 12:].max() == 0
    assert sheet(faces[:2]).shape == (4, 8, 3)


@given(st.lists(st.integers(0, 999), unique=True, min_size=1).map(sorted), st.integers(1, 50), st.integers(0, 999))
def test_few_frames_are_kept_in_order_with_those_that_matter(numbers, most, kept):
    chosen = thinned(numbers, most, (kept,))
    assert list(chosen) == sorted(set(chosen)) and set(chosen) <= set(numbers)
    assert len(chosen) <= most + 1 and chosen[0] == numbers[0]
    assert (kept in chosen) or kept not in numbers


def test_a_movement_is_shown_from_before_its_onset_to_after_its_offset(output, answer):
    result, _ = output
    assert len(result["movements"]) == len(answer.all) > 0
    for number, each in enumerate(answer.all):
        film = result["movements"][number]["replay"]
        assert {each.onset, each.apex, each.offset} <= set(film["frames"])
        assert film["frames"][0] < each.onset and film["frames"][-1] > each.offset
        assert len(film["frames"]) == len(film["seconds"]) <= FILM_FRAMES + 3
        assert film["seconds"][film["frames"].index(each.apex)] == pytest.approx(each.apex_s, abs=1e-3)


def test_every_cell_shows_the_face_of_its_own_frame(output, answer, clip):
    (result, files), movement = output, answer.timeline.movements[0]
    film = result["movements"][0]["replay"]
    with open_frames(clip) as frames:
        for index, number in list(enumerate(film["frames"]))[::5]:
            crop = movement.crop.apply(frames.read(number), film["size"])
            assert np.abs(cell(film, files, index).astype(int) - crop).mean() < 4


def test_arrows_show_the_flow_behind_the_answer(output, answer):
    result, files = output
    film, movement = result["movements"][0]["replay"], answer.all[0]
    arrows = np.array(json.loads(files[film["flow"].removeprefix("/at/")]))  # (T, A, A, 2)
    assert arrows.shape == (len(film["frames"]), ARROWS, ARROWS, 2)
    assert not arrows[: film["frames"].index(movement.onset) + 1].any()
    flow = without_head_motion(movement.evidence.flow, "similarity")
    expected = 100 * area_average(flow, ARROWS) / flow.shape[0]
    at_apex = arrows[film["frames"].index(movement.apex)]
    assert np.corrcoef(at_apex.ravel(), expected.ravel())[0, 1] > 0.7
    assert np.abs(at_apex).max() == pytest.approx(np.abs(expected).max(), rel=0.5)


def test_the_whole_clip_is_shown_in_small_pictures(output, answer):
    film = output[0]["curves"][0]["film"]
    assert film["frames"] == answer.timeline.numbers.tolist()
    assert len(film["frames"]) <= CLIP_FRAMES
    assert "flow" not in film


def test_given_key_frames_are_filmed_from_the_onset_on(recognizer, look, clip):
    answer, album = look(clip, onset=40, apex=50)
    result, files = filmed(recognizer, answer, album)
    film = result["movements"][0]["replay"]
    assert film["frames"] == list(range(40, 61))
    assert result["curves"] == [] and result["rejected"] == []
    face = cell(film, files, 0)
    onset = np.array(Image.fromarray(answer.evidence.onset).resize(face.shape[:2]))
    assert np.abs(face.astype(int) - onset).mean() < 6


def test_a_given_onset_alone_is_filmed_to_the_apex_and_back(recognizer, look, clip):
    answer, album = look(clip, onset=40)
    film = filmed(recognizer, answer, album)[0]["movements"][0]["replay"]
    assert film["frames"] == list(range(40, 2 * answer.apex - 40 + 1))


def test_two_pictures_are_a_film_of_two_frames(recognizer, look, pictures):
    assert filmed(recognizer, *look(pictures))[0]["movements"][0]["replay"]["frames"] == [0, 1]


def test_a_clip_that_lies_on_its_side_is_filmed_upright(recognizer, look, clip, tmp_path):
    with open_frames(clip) as frames:
        turned = write_film(tmp_path / "turned.mp4", [np.rot90(frame.pixels).copy() for frame in frames], 100.0)
    faces = []
    for each in (turned, clip):
        result, files = filmed(recognizer, *look(each, onset=40, apex=42))
        faces.append(cell(result["movements"][0]["replay"], files, 0).astype(int))
    as_it_is, *rotated = (np.abs(np.rot90(faces[0], quarters) - faces[1]).mean() for quarters in range(4))
    assert as_it_is < min(rotated) / 2


@pytest.mark.parametrize("key_frames", [{}, {"onset": 40}, {"onset": 40, "apex": 50}])
def test_answer_and_films_need_one_pass_and_the_first_frames_for_the_rate(look, clip, monkeypatch, key_frames):
    decoded = []
    advance = VideoFrames._advance

    def counting(frames):
        picture = advance(frames)
        if picture is not None:
            decoded.append(frames._next - 1)
        return picture

    monkeypatch.setattr(VideoFrames, "_advance", counting)
    look(clip, **key_frames)
    again = len(decoded) - len(set(decoded))
    assert again <= (0 if key_frames else pace.MOST) and (key_frames or again < len(set(decoded)))


@pytest.fixture(scope="module")
def quiet(answer):
    """The same clip, in which the movement was rejected as a blink."""
    other = replace(answer.timeline.movements[0], kind="blink")
    timeline = replace(answer.timeline, movements=(), others=(other,))
    none = replace(answer, label="no micro-expression found", scores={}, all=(), timeline=timeline, track=None)
    return replace(none, people=(Person(0, timeline),))


def test_a_rejected_movement_is_filmed_too(recognizer, quiet, looked):
    other = quiet.timeline.others[0]
    film = filmed(recognizer, quiet, looked[1])[0]["rejected"][0]["replay"]
    assert {other.onset, other.apex, other.offset} <= set(film["frames"])
    assert "flow" not in film


def test_every_person_has_a_curve_and_a_film(recognizer, answer, looked):
    """A second person, track 3, who moves like the first."""
    moved = [replace(each, track=3) for each in answer.timeline.movements]
    other = replace(answer.all[0], track=3, timeline=replace(answer.timeline, movements=tuple(moved)))
    both = replace(answer, all=(*answer.all, other), people=(*answer.people, Person(3, other.timeline)))
    album = Album()
    album.people |= {0: looked[1].people[0], 3: looked[1].people[0]}
    assert list(both.timelines) == [0, 3]
    result, files = filmed(recognizer, both, album)
    assert [curve["track"] for curve in result["curves"]] == [0, 3]
    assert [len(curve["events"]) for curve in result["curves"]] == [1, 1]
    assert [curve["film"]["sheet"] for curve in result["curves"]] == ["/at/clip-0.jpg", "/at/clip-3.jpg"]
    assert sum(len(curve["film"]["frames"]) for curve in result["curves"]) <= CLIP_FRAMES
    assert {"clip-0.jpg", "clip-3.jpg"} <= set(files)


@pytest.mark.parametrize("name", ["=1+1.mp4", "+x.mp4", "-x.mp4", "@x.mp4"])
def test_a_name_that_a_spreadsheet_would_run_is_escaped(quiet, name):
    _, files = answer_output(replace(quiet, input=name), "/at/", movements=0)
    rows = list(csv.DictReader(io.StringIO(files["events.csv"].decode())))
    assert {row["file"] for row in rows} == {f"'{name}"}


def test_the_length_is_that_of_the_video_where_frames_are_repeated(look, clip, tmp_path):
    with open_frames(clip) as frames:
        taken = [frame.pixels for frame in frames]
    twice = write_film(tmp_path / "twice.mp4", [frame for frame in taken for _ in range(2)], 200.0)
    result, _ = answer_output(look(twice)[0], "/at/", movements=0)
    assert result["seconds"] == pytest.approx(len(taken) / 100, abs=0.02)


def test_a_result_is_json_and_lists_all_its_pictures(answer):
    result, pictures = answer_output(answer, "/at/", movements=12)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    listed = [*result["pictures"].values(), *(each for m in result["movements"] for each in m["pictures"].values())]
    listed.append(result["table"])
    assert sorted(listed) == sorted(f"/at/{name}" for name in pictures)


def test_only_the_strongest_movements_get_pictures(answer):
    result, pictures = answer_output(answer, "/at/", movements=0)
    assert set(pictures) == {"why.png", "timeline.png", "events.csv"}
    assert all(each["pictures"] == {} for each in result["movements"])
    assert strongest([0.1, 0.3, 0.2], 2) == [1, 2]


def test_a_model_without_tokens_has_no_pictures_of_them(answer):
    plain = replace(answer, tokens=None, all=tuple(replace(each, tokens=None) for each in answer.all))
    result, _ = answer_output(plain, "/at/", movements=1)
    assert set(result["movements"][0]["pictures"]) == {"onset", "apex", "flow"}


def test_the_curve_is_in_seconds_and_per_cent(answer):
    curve, timeline = motion_curves(answer)[0], answer.timeline
    assert curve["time"][-1] == pytest.approx((len(timeline.numbers) - 1) / timeline.fps)
    assert max(curve["energy"]) == pytest.approx(100 * float(timeline.face.max()), abs=1e-3)
    assert [each["frames"][1] for each in curve["events"]] == [each.apex for each in answer.all]


@pytest.mark.parametrize("length", [0, 1, CURVE_POINTS, CURVE_POINTS + 1, 12_000])
def test_a_long_curve_is_thinned_and_keeps_its_peaks(length):
    values = np.random.default_rng(length).random(length).astype(np.float32)
    places = thinned_places(values)
    assert len(places) == min(length, CURVE_POINTS)
    assert (np.diff(places) > 0).all()
    if length:
        assert values[places].max() == values.max()
