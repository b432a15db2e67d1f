import csv
from pathlib import Path

import cv2
import numpy as np
import pytest

import epir
from epir.core.config import override, read_toml
from epir.core.errors import ConfigError, EpirError
from epir.datasets.registry import load_corpus
from epir.datasets.survey import survey
from epir.frames.reader import open_frames
from epir.synthetic.corpus import (
    CROP,
    FACE,
    GAP,
    PANELS,
    TITLE,
    CorpusSettings,
    data_card,
    motion_sheet,
    people_sheet,
    plan_corpus,
    portrait_of,
    tile,
    write_corpus,
)
from epir.synthetic.identity import draw_identity
from epir.synthetic.moving import MovingFace


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"people": 0}, r"--people must be at least 1, not 0\n  fix: give --people 1 or more"),
        (
            {"clips": 0, "idle": 0},
            r"--clips and --idle must be 0 or more and not both 0, not 0 and 0\n  fix: give --clips 1 or more",
        ),
        ({"clips": -1}, r"not -1 and 3"),
        ({"classes": 1}, r"there is no list of 1 classes\n  fix: use one of: 3, 5, 7"),
        ({"size": 40}, r"a frame cannot be 40 px wide\n  fix: give --size from 96 to 2048"),
        ({"size": 5000}, r"a frame cannot be 5000 px wide"),
        ({"fps": 5.0}, r"at 5 frames a second .* no frame between"),
        ({"quality": 0}, r"the jpg quality cannot be 0\n  fix: give --quality from 1 to 100"),
        ({"picture": "gif"}, r"\[picture\] has no choice 'gif'"),
    ],
)
def test_impossible_settings_are_refused_before_drawing(changes, words):
    with pytest.raises(ConfigError, match=words):
        CorpusSettings(**changes)


def test_nuisances_are_changed_by_their_dotted_names():
    assert override(CorpusSettings(), ["nuisances.blink=0.5", "people=3"]).nuisances.blink == 0.5
    with pytest.raises(ConfigError, match=r"\[nuisances\] has no setting 'blnk'\n  fix: did you mean 'blink'\?"):
        override(CorpusSettings(), ["nuisances.blnk=0.5"])


SMALL = CorpusSettings(people=2, clips=3, idle=1, size=96, fps=25.0, truth=True)


def contents(folder: Path):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("synthetic") / "corpus"
    return folder, write_corpus(folder, SMALL)


def test_a_written_corpus_has_no_defects(corpus):
    folder, written = corpus
    corpus = load_corpus("synthetic", folder)
    result = survey(corpus)
    assert result.is_clean and written.clips == len(corpus.clips) == 8 and written.people == 2
    assert dict(corpus.emotions) == {"negative": 2, "positive": 2, "surprise": 2, "none": 2}
    assert set(result.protocols) == {"cde", "sde"} and all(counts.clips == 6 for counts, _ in result.protocols.values())


def test_the_sheet_agrees_with_the_plan(corpus):
    folder, _ = corpus
    plans = {plan.name: plan for plan in plan_corpus(SMALL)}
    for clip in load_corpus("synthetic", folder).clips:
        plan = plans[clip.clip]
        assert clip.emotion == plan.emotion and clip.fps == 25 and clip.extra["kind"] == plan.kind
        with open_frames(clip.frames) as frames:
            assert frames.numbers == tuple(plan.numbers)
            assert frames.read(frames.numbers[0]).shape == (96, 96, 3)
        if plan.course:
            assert (clip.onset, clip.apex, clip.offset) == (plan.course.onset, plan.course.apex, plan.course.offset)
            assert clip.extra["action_units"] == plan.expression.units
            assert float(clip.extra["intensity"]) == pytest.approx(plan.intensity, abs=6e-4)
        else:
            assert clip.apex is None and "action_units" not in clip.extra


def test_the_settings_are_kept_beside_it(corpus):
    assert read_toml(CorpusSettings, corpus[0] / "corpus.toml") == SMALL
    assert cv2.imread(str(corpus[0] / "people.png")).shape[0] >= 90


def test_the_true_flow_is_kept_for_every_expression(corpus):
    folder, _ = corpus
    plans = [plan for plan in plan_corpus(SMALL) if plan.course]
    kept = sorted(path.stem for path in (folder / "truth").rglob("*.npz"))
    assert kept == sorted(plan.name for plan in plans)
    plan = plans[0]
    face = MovingFace(portrait_of(0, plan.subject, 96), draw_identity(0, plan.subject).geometry, plan.movement)
    onset, apex = plan.state(plan.course.onset), plan.state(plan.course.apex)
    with np.load(folder / "truth" / plan.subject / f"{plan.name}.npz") as truth:
        np.testing.assert_array_equal(truth["flow"], face.true_flow(onset, apex))
        assert set(np.unique(truth["layer"])) <= {0, 1, 2, 3}


def test_two_workers_write_the_same_bytes_as_one(tmp_path):
    tiny = CorpusSettings(people=2, clips=1, idle=0, size=96, fps=10.0, truth=True)
    for workers in (1, 2):
        write_corpus(tmp_path / str(workers), tiny, workers=workers)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_the_first_people_of_a_larger_corpus_are_the_same():
    small = {plan.name: repr(plan) for plan in plan_corpus(CorpusSettings(people=1, clips=3))}
    large = {plan.name: repr(plan) for plan in plan_corpus(CorpusSettings(people=3, clips=3))}
    assert all(large[name] == plan for name, plan in small.items())
    assert repr(plan_corpus(CorpusSettings(people=1, clips=3, seed=1))[0]) not in small.values()


@pytest.mark.parametrize(("classes", "clips"), [(3, 4), (5, 7), (7, 3)])
def test_classes_come_in_equal_parts(classes, clips):
    plans = plan_corpus(CorpusSettings(people=classes, clips=clips, idle=3, classes=classes))
    counts = {}
    for plan in plans:
        counts[plan.emotion] = counts.get(plan.emotion, 0) + 1
    assert counts.pop("none") == 3 * classes
    assert set(counts.values()) == {clips}


def test_nothing_is_replaced_without_force(corpus, tmp_path):
    with pytest.raises(
        EpirError,
        match=r"exists already\n  fix: choose another name, or replace it with --force \(force=True in Python\)",
    ):
        write_corpus(corpus[0], SMALL)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    with pytest.raises(EpirError, match=r"that epir made\n  fix: choose another name"):
        write_corpus(tmp_path / "mine", SMALL, force=True)
    assert (tmp_path / "mine" / "thesis.tex").exists()


def test_force_replaces_a_corpus_and_png_keeps_every_bit(tmp_path):
    tiny = CorpusSettings(people=1, clips=1, idle=0, size=96, fps=10.0, picture="png")
    write_corpus(tmp_path / "c", tiny)
    first = contents(tmp_path / "c")
    write_corpus(tmp_path / "c", CorpusSettings(people=1, clips=1, idle=0, size=96, fps=10.0, seed=3), force=True)
    assert contents(tmp_path / "c").keys() != first.keys() and any(name.endswith(".png") for name in first)
    assert not any(path.name.startswith(".") for path in tmp_path.iterdir())


def test_an_interruption_leaves_nothing_behind(tmp_path, monkeypatch):
    def broken(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("epir.synthetic.corpus.write_sheet", broken)
    with pytest.raises(KeyboardInterrupt):
        write_corpus(tmp_path / "c", CorpusSettings(people=1, clips=1, idle=0, size=96, fps=10.0))
    assert list(tmp_path.iterdir()) == []


def test_at_least_one_worker_is_needed(tmp_path):
    with pytest.raises(ConfigError, match=r"--workers must be at least 1, not 0\n  fix: leave it out for one per core"):
        write_corpus(tmp_path / "c", SMALL, workers=0)


def test_a_corpus_without_its_sheet_says_how_to_make_one(tmp_path):
    with pytest.raises(EpirError, match=r"there is no annotations.csv in .*\n  fix: write a corpus there: epir synth"):
        load_corpus("synthetic", tmp_path)
    (tmp_path / "maps.npy").touch()
    with pytest.raises(EpirError, match=r"\n  fix: give the folder that epir synth wrote"):
        load_corpus("synthetic", tmp_path)
    with pytest.raises(EpirError, match=r"there is no sheet .*mine.csv\n  fix: check the path given with --sheet"):
        load_corpus("synthetic", tmp_path, sheet=tmp_path / "mine.csv")


def test_a_lost_frame_is_found_by_the_check(corpus, tmp_path):
    folder = tmp_path / "copy"
    write_corpus(folder, CorpusSettings(people=1, clips=1, idle=0, size=96, fps=10.0))
    with (folder / "annotations.csv").open() as file:
        row = next(csv.DictReader(file))
    (folder / row["frames"] / f"img{int(row['apex']):04d}.jpg").unlink()
    result = survey(load_corpus("synthetic", folder))
    assert not result.is_clean and "apex frame" in result.corpus.defects[0].problem


def test_a_data_card_counts_the_clips():
    settings = CorpusSettings(people=2, clips=3, idle=1, size=96, fps=50)
    plans = plan_corpus(settings)
    card = data_card(settings, plans)
    head = card.split("---")[1].splitlines()
    assert "license: apache-2.0" in head and "- n<1K" in head and "- video-classification" in head
    counted = [int(line.split("|")[2]) for line in card.splitlines() if line.startswith("| ") and "clips" not in line]
    assert sum(counted) == len(plans) == 8
    assert f"{len(plans)} clips of 2 synthetic people" in card and "96 x 96 px, 50 frames a second" in card
    assert "- 1K<n<10K" in data_card(settings, plans * 500)


def test_synth_writes_a_corpus_from_python(tmp_path):
    written = epir.synth(tmp_path / "c", people=1, clips=1, idle=0, size=96, fps=50)
    assert (written.people, written.clips) == (1, 1) and (tmp_path / "c" / "README.md").read_text().startswith(
        "---\nlicense"
    )
    with pytest.raises(ConfigError, match="'peple'"):
        epir.synth(tmp_path / "d", peple=1)


def test_pictures_lie_side_by_side_in_order():
    sheet = tile([np.full((50, 40, 3), value, np.uint8) for value in (10, 20, 30, 40)], columns=3)
    assert sheet.shape == (2 * 50 + GAP, 3 * 40 + 2 * GAP, 3)
    assert sheet[25, 20, 0] == 10 and sheet[25, -20, 0] == 30 and sheet[-25, 20, 0] == 40 and sheet[-25, -20, 0] == 255


def test_everyone_is_on_the_sheet_of_people():
    sheet = people_sheet(0, ("001", "002", "003"))
    assert sheet.shape == (FACE, 3 * FACE + 2 * GAP, 3)
    assert np.abs(sheet[:, :FACE].astype(int) - sheet[:, -FACE:]).mean() > 5


def test_the_sheet_of_motion_has_a_row_for_each_emotion():
    sheet = motion_sheet(0, plan_corpus(CorpusSettings(people=1, clips=3, idle=1)))
    assert sheet.shape == (3 * (TITLE + CROP + GAP), len(PANELS) * (CROP + GAP) - GAP, 3)
    onset, apex, more = (sheet[TITLE : TITLE + CROP, n * (CROP + GAP) :][:, :CROP].astype(int) for n in range(3))
    assert 0 < np.abs(apex - onset).mean() < np.abs(more - onset).mean()


def test_without_expressions_the_sheet_of_motion_is_empty():
    assert (motion_sheet(0, plan_corpus(CorpusSettings(people=1, clips=0, idle=1))) == 255).all()
