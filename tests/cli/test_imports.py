"""The verbs `import-annotations` (also of exported predictions), `import-maps` and `import-predictions`."""

import json
import shutil
from pathlib import Path

import cv2
import numpy as np
import pytest

from epir.core.errors import EpirError
from epir.core.seeds import generator
from epir.datasets.annotations import Tier, TierInterval, write_eaf, write_textgrid
from epir.faces.align import Crop
from epir.frames.reader import open_frames
from epir.maps.mapset import load_maps
from epir.maps.prepare import prepare
from epir.recognition.answer import ActionUnit, Answer, Person
from epir.recognition.outputs import write_tables
from epir.spotting.regions import GROUPS, REGIONS
from epir.spotting.timeline import FaceMovement, Timeline
from epir.synthetic.clip import Course, expose
from epir.synthetic.corpus import portrait_of
from epir.synthetic.expressions import ActiveUnit
from epir.synthetic.identity import draw_identity
from epir.synthetic.movement import draw_movement
from epir.synthetic.moving import MovingFace, State

PREDICTIONS = """corpus,subject,clip,truth,prediction
casme2,sub01,EP02_01f,positive,positive
casme2,sub01,EP02_02f,negative,positive
samm,006,006_1_2,surprise,surprise
"""


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    """A second of a synthetic face that smiles, 50 frames a second."""
    random, identity = generator(3, "import"), draw_identity(3, "a")
    portrait = portrait_of(3, "a", 200)
    face = MovingFace(portrait, identity.geometry, draw_movement((ActiveUnit(12, 1, 1),), identity.geometry, random))
    course = Course(onset=10, apex=16, offset=30)
    path = tmp_path_factory.mktemp("video") / "s01.mp4"
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"mp4v"), 50, (200, 200))
    for number in range(40):
        state = State(intensity=0.7 * course.intensity(number))
        frame = expose(face.render(state), np.zeros(3, np.float32), 1.0, portrait.canvas, random)
        writer.write(np.ascontiguousarray(frame[..., ::-1]))
    writer.release()
    return path


@pytest.fixture
def run(invoke):
    return lambda *words: invoke("import-annotations", *words)


def predicted(video):
    """An answer as `predict` gives it."""
    movement = FaceMovement(10, 16, 30, 0.02, "lip corners", seconds=(0.2, 0.32, 0.6), side="both")
    motion, skin = np.zeros((40, len(GROUPS)), np.float32), np.zeros((40, len(REGIONS)), np.float32)
    numbers, crops = np.arange(40), (Crop(100, 110, 90),) * 40
    timeline = Timeline(50.0, numbers, numbers / 50, motion, skin, motion[:, 0], crops, (movement,))
    return Answer(
        str(video), "positive", {"negative": 0.2, "positive": 0.8}, 10, 16, 30, 0.2, 0.32, 0.6, 50.0, 40, 0,
        units=(ActionUnit(12, "both", 0.9),), timeline=timeline, people=(Person(0, timeline),),
    )  # fmt: skip


@pytest.mark.parametrize("name", ["s01.eaf", "s01.TextGrid", "events.csv"])
def test_from_a_prediction_over_its_file_to_a_map_set(run, video, tmp_path, name):
    write_tables(video, predicted(video), tmp_path)
    manifest = tmp_path / "mine" / "manifest.csv"
    further = ("--video", video) if name.endswith("TextGrid") else ()
    result = run(tmp_path / name, *further, "--subject", "anna", "--out", manifest)
    assert result.exit_code == 0, result.output
    prepare("manifest", manifest, tmp_path / "maps", workers=1)
    maps = load_maps(tmp_path / "maps")
    (clip,) = maps.clips
    assert (clip.subject, clip.emotion, clip.onset, clip.apex, clip.offset) == ("anna", "positive", 10, 16, 30)
    assert clip.extra["action_units"] == "12"
    assert np.abs(maps.maps[0, :2]).max() > 0.1  # the smile


def test_import_annotations_prints_counts_and_the_next_step(run, video, tmp_path):
    tiers = [Tier("micro-expression", (TierInterval(0.2, 0.6, "positive"),))]
    files = [write_eaf(tmp_path / name, tiers, video) for name in ("a.eaf", "b.eaf")]
    result = run(*files, "--out", tmp_path / "manifest.csv")
    assert "2 clips of 1 person" in result.stdout and "next: epir prepare manifest" in result.stdout
    with pytest.raises(EpirError, match="exists already"):
        run(*files, "--out", tmp_path / "manifest.csv")
    values = json.loads(run(*files, "--out", tmp_path / "manifest.csv", "--force", "--json").stdout)
    assert (values["clips"], values["people"]) == (2, 1)


@pytest.mark.parametrize("subjects", [("s1", "s2"), ("", "")], ids=["with subjects", "without"])
def test_videos_count_as_people_only_without_subjects(run, video, tmp_path, subjects):
    second = shutil.copy(video, tmp_path / "second.mp4")
    rows = [f"{path},{name},positive,1,3" for path, name in zip((video, second), subjects, strict=True)]
    (tmp_path / "own.csv").write_text("\n".join(["file,subject,emotion,onset,apex", *rows]) + "\n")
    printed = run(tmp_path / "own.csv", "--out", tmp_path / "manifest.csv").stdout
    assert "2 clips of 2 people" in printed
    assert ("each video counts as another person" in printed) == (subjects == ("", ""))


UNEVEN = [20 * n for n in range(30)] + [600 + 25 * n for n in range(60)]  # 1/600 s: 30 frames a second, then 24


def annotated(path, seconds):
    """A Praat file beside a video, with a movement of 0.1 s at each of these times."""
    tier = Tier("micro-expression", tuple(TierInterval(start, start + 0.1, "fear") for start in seconds))
    return write_textgrid(path.with_suffix(".TextGrid"), [tier], seconds[-1] + 0.1)


def imported_onsets(run, file, *words):
    manifest = file.with_suffix(".csv")
    result = run(file, "--out", manifest, "--force", *words)
    assert result.exit_code == 0, result.output
    return [int(row.split(",")[4]) for row in manifest.read_text().splitlines()[1:]], result.stdout


@pytest.mark.parametrize("kind", ["uneven.mp4", "uneven.mkv", "cut.ts", "cut.mpg"])
def test_times_become_the_frames_that_have_them(run, tmp_path, numbered, kind):
    path = tmp_path / kind
    if kind.startswith("uneven"):
        numbered.write(path, times=UNEVEN, count=90)
    else:  # it begins between two key frames: the decoder gives no frame before the second
        codec = ("libx264", None) if kind.endswith("ts") else ("mpeg2video", {"bf": "2"})
        content = numbered.write(path, *codec, count=200).read_bytes()
        path.write_bytes(content[len(content) // 3 :])
    with open_frames(path) as frames:
        seconds = [frame.seconds for frame in frames]
    onsets, printed = imported_onsets(run, annotated(path, [seconds[n] for n in (20, 40, 70)]))
    assert onsets == [20, 40, 70]
    assert "past the end" not in printed


def test_a_rate_is_for_folders_alone_and_the_end_is_told(run, tmp_path, numbered):
    path = numbered.write(tmp_path / "uneven.mp4", times=UNEVEN, count=90)
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(90):
        (folder / f"{number:02d}.png").touch()
    both = [annotated(place, [1.0, 3.0]) for place in (path, folder)]
    assert imported_onsets(run, both[0], both[1], "--fps", 24)[0] == [30, 78, 24, 72]
    file = annotated(path, [1.0, 5.0])  # the last frame is shown from 3.458 to 3.5 s
    onsets, printed = imported_onsets(run, file)
    assert onsets[0] == 30 and onsets[1] > 89
    words = f"{file}: the onset {onsets[1]} is past the end of {path}, whose last frame is 89 (and 1 more)"
    assert f"note: {words}; correct it, or name the right video with --video\n" in printed
    values = json.loads(run(file, "--out", tmp_path / "m.csv", "--json").stdout)
    assert values["past_the_end"] == {str(file): words.removeprefix(f"{file}: ")}


def test_two_interviews_are_two_people_with_a_note(run, video, tmp_path):
    files = []
    for name in ("anna", "ben"):
        (tmp_path / name).mkdir()
        files.append(annotated(Path(shutil.copy(video, tmp_path / name / "interview.mp4")), [0.2]))
    printed = run(*files, "--out", tmp_path / "manifest.csv").stdout
    assert "2 clips of 2 people" in printed and "each video counts as another person" in printed
    rows = (tmp_path / "manifest.csv").read_text().splitlines()[1:]
    assert [row.split(",")[:2] for row in rows] == [
        ["anna-interview_01", "anna-interview"], ["ben-interview_01", "ben-interview"],
    ]  # fmt: skip


def test_pictures_need_a_rate(run, tmp_path):
    folder = tmp_path / "s01"
    folder.mkdir()
    for number in (5, 6, 7):
        cv2.imwrite(str(folder / f"{number}.png"), np.zeros((8, 8, 3), np.uint8))
    path = write_textgrid(tmp_path / "s01.TextGrid", [Tier("micro-expression", (TierInterval(0.01, 0.02, "fear"),))], 1)
    with pytest.raises(EpirError, match="fix: give --fps"):
        run(path, "--out", tmp_path / "manifest.csv")
    assert run(path, "--fps", 100, "--out", tmp_path / "manifest.csv").exit_code == 0
    assert ",6,,7,100," in (tmp_path / "manifest.csv").read_text()


def test_maps_become_a_map_set(invoke, tmp_path):
    random = np.random.default_rng(0)
    (tmp_path / "flow").mkdir()
    for name in ("a", "b"):
        np.save(tmp_path / "flow" / f"{name}.npy", random.normal(size=(3, 6, 6)).astype(np.float32))
    (tmp_path / "labels.csv").write_text("subject,clip,emotion\n1,a,joy\n2,b,fear\n")
    call = ("import-maps", tmp_path / "flow", "--labels", tmp_path / "labels.csv", "--out", tmp_path / "m")
    printed = invoke(*call).stdout
    assert (
        "2 maps of 2 people, 6 x 6 px" in printed and "1 joy, 1 fear" in printed and "digest of the files: " in printed
    )
    values = json.loads(invoke(*call, "--force", "--json").stdout)
    assert (values["clips"], values["people"], values["copies"], len(values["digest"])) == (2, 2, [], 64)
    with pytest.raises(EpirError, match=r"row 2: the label is 'joy', not 0 to 1 \(x, y\)"):
        invoke(*call, "--force", "--classes", "x,y")


def test_predictions_become_a_run(invoke, tmp_path):
    (tmp_path / "table.csv").write_text(PREDICTIONS)
    words = ("import-predictions", tmp_path / "table.csv", "--protocol", "cde", "--name", "HTNet")
    printed = invoke(*words, "--out", tmp_path / "run").stdout
    assert "trained elsewhere: not checked" in printed and "HTNet" in printed
    values = json.loads(invoke(*words, "--out", tmp_path / "run", "--force", "--json").stdout)
    assert values["not_checked"]["accuracy"] == 0.666667
