"""Malformed input to every reader: it is read, or refused with an EpirError, and within five seconds.

A few dozen cases each in every test run, hundreds in slow ones, thousands with `pytest tests/test_fuzz.py -m fuzz`. The
cases are the same in each run. What is changed is a good file: its bytes, one of its values, or the file itself becomes
a pipe, a device, a folder or a loop of links.
"""

import json
import os
import shutil
import signal
from contextlib import contextmanager
from pathlib import Path

import av
import cv2
import hypothesis
import numpy as np
import openpyxl
import pytest
import tomli_w
from hypothesis import strategies as st
from skimage.data import astronaut

from epir.core import config
from epir.core.errors import EpirError
from epir.core.records import Clip
from epir.datasets.annotations import import_rows
from epir.datasets.intervals import read_intervals
from epir.datasets.manifest import read_labels, read_manifest
from epir.evaluation.experiment import Experiment, read_experiment, resolve_settings
from epir.evaluation.fold import ClipRecord, FoldRecord
from epir.evaluation.store import open_run, open_store
from epir.flow.recipe import FlowRecipe
from epir.frames.reader import open_frames, same_size
from epir.maps.mapset import load_maps, save_maps
from epir.models.predict import TorchBackend
from epir.models.registry import create_model, model_settings
from epir.models.seen import Seen, read_seen
from epir.recognition.recognizer import Recognizer

SECONDS = 5
CASES = [  # per reader
    40,
    pytest.param(250, marks=pytest.mark.slow),
    pytest.param(3000, marks=pytest.mark.fuzz),
]
NASTY = (
    b"", b"\0", b"\r", b"\r\n", b'"', b"'", b",", b";", b"\t", b"[", b"{", b"}", b"-", b"NaN", b"inf", b"-1", b"null",
    b"true", b"1e999", b"1" + b"0" * 20, b"9" * 5000, b"[" * 3000, b"\xff\xfe", b"\xef\xbb\xbf", "ä".encode("latin-1"),
    "😀".encode(), b"x" * 140_000, b"../../../etc/passwd", b"\xed\xa0\x80", b"\x93NUMPY", b"PK\x03\x04",
)  # fmt: skip
VALUES = (
    None, True, False, 0, -1, 10**23, 10**400, 1e308, float("nan"), float("inf"), 0.5, "", "x", "\0", "x" * 5000,
    [], [1], ["a", "a"], {}, {"a": 1}, [[[]]], [None], {"name": 7},
)  # fmt: skip
KINDS = ("pipe", "folder", "loop", "device", "gone", "unreadable text")


@contextmanager
def at_most(seconds: float):
    def stop(*_):
        raise AssertionError(f"not done after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@st.composite
def changed_bytes(draw, content: bytes):
    """The content with one to three pieces replaced, removed, doubled or cut off."""
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(content)))
        end = min(len(content), place + draw(st.sampled_from([0, 1, 2, 8, 64, 1000])))
        how = draw(st.sampled_from(["insert", "replace", "double", "cut", "flip", "encoding"]))
        if how == "insert":
            content = content[:place] + draw(st.sampled_from(NASTY)) + content[end:]
        elif how == "replace":
            content = content[:place] + draw(st.binary(max_size=8)) + content[end:]
        elif how == "double":
            content = content[:end] + content[place:]
        elif how == "cut":
            content = content[:place]
        elif how == "flip" and place < len(content):
            content = content[:place] + bytes([content[place] ^ (1 << draw(st.integers(0, 7)))]) + content[place + 1 :]
        elif how == "encoding":
            encoding = draw(st.sampled_from(["utf-16", "utf-16-le", "utf-32"]))
            content = content.decode("latin-1").encode(encoding)
    return content


@st.composite
def changed_values(draw, values):
    """A nested value with one part of it, at any depth, replaced, removed, or another one added."""
    if isinstance(values, dict) and values and draw(st.integers(0, 3)):
        name = draw(st.sampled_from(sorted(values)))
        if draw(st.integers(0, 9)) == 0:
            return {key: value for key, value in values.items() if key != name}
        return {**values, name: draw(changed_values(values[name]))}
    if isinstance(values, list) and values and draw(st.booleans()):
        place = draw(st.integers(0, len(values) - 1))
        return [*values[:place], draw(changed_values(values[place])), *values[place + 1 :]]
    return draw(st.sampled_from(VALUES))


def become(path: Path, kind: str) -> None:
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind in ("loop", "device"):
        path.symlink_to(path if kind == "loop" else "/dev/zero")
    elif kind == "unreadable text":
        path.write_bytes(bytes(range(256)) * 20)


def write_plain(path: Path, values: object) -> None:
    """Values as the ending of the file wants them."""
    if path.suffix == ".toml":
        try:
            text = tomli_w.dumps(values)
        except (TypeError, AttributeError, ValueError):  # what TOML does not have
            text = str(values)[:1000]
        path.write_text(text, errors="replace")
        return
    try:
        path.write_text(json.dumps(values))
    except ValueError:  # numbers of hundreds of digits
        path.write_text("1" * 5000)


def tries(good: Path, names, read, place: Path, count: int) -> None:
    """Change one file of a good folder, `count` times, and read it; anything but an EpirError fails."""
    originals = {name: (good / name).read_bytes() for name in names}

    @hypothesis.settings(
        max_examples=count,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate],
    )
    @hypothesis.given(data=st.data())
    def one(data):
        name = data.draw(st.sampled_from(names))
        if place.exists():
            shutil.rmtree(place)
        shutil.copytree(good, place)
        how = data.draw(st.integers(0, 9))
        if how == 0:
            become(place / name, data.draw(st.sampled_from(KINDS)))
        elif how < 6 and name.endswith((".json", ".toml")):
            path = place / name
            values = json.loads(originals[name]) if name.endswith(".json") else config.toml_values(path)
            write_plain(path, data.draw(changed_values(values)))
        else:
            (place / name).write_bytes(data.draw(changed_bytes(originals[name])))
        with at_most(SECONDS):
            try:
                read(place)
            except EpirError as error:
                assert error.fix and error.problem

    one()


# ------------------------------------------------------------------------------------------------- the good ones


def map_set(folder: Path):
    clips = [Clip("samm", f"{n:03d}", f"c{n}", "anger", 5, 9, 12, 200.0, extra={"au": "4"}) for n in range(3)]
    save_maps(folder, np.random.default_rng(0).normal(size=(3, 3, 4, 4)), clips, recipe={"name": "epir", "digest": "x"})
    return ["maps.npy", "clips.csv", "meta.json"]


def model_folder(folder: Path):
    notes = {
        "temperature": 0.8,
        "threshold": 0.5,
        "mirror": True,
        "shift": 1,
        "recipe": FlowRecipe().to_meta(),
        "units": {"present": [1.0, 0.0], "side": [1.0, 0.0], "side_margin": 1.0, "thresholds": {"12": 0.4}},
        "data": {"corpora": {"synthetic": 3}},
    }
    seen = Seen(people=frozenset({"a/1"}), maps=frozenset({1, 2}), ancestors=({"name": "x"},))
    network = create_model("ststnet", map_size=12)
    network.save_pretrained(folder, labels=("negative", "positive", "surprise"), notes=notes, seen=seen)
    return ["config.json", "model.safetensors", "seen.json", "seen.npy"]


def use_model(folder: Path):
    read_seen(folder)
    recognizer = Recognizer(TorchBackend(folder))
    size = recognizer.backend.config.map_size
    scores = recognizer.backend.predict(np.ones((1, 3, size, size))).scores
    assert np.isfinite(scores).all() and len(recognizer.labels) == scores.shape[1]


def run_folder(folder: Path):
    classes = ("negative", "positive", "surprise")
    experiment = Experiment("cde", classes, model_settings("ststnet"), maps=("d1",), clips="d2")
    labels = ("negative", "positive", "surprise")
    clip = ClipRecord("samm", "1", "c", *labels, 0, "samm/1", (0.5, 0.3, 0.2), by_epoch=(1,))
    with open_store(folder, experiment) as store:
        store.add(FoldRecord("samm/1", 0, "", (clip,), loss=(1.0,), best_epoch=1))
        store.describe({"engine": "local", "workers": 1})
        store.finish({"samm/1": ["samm/1/c"]})
    return ["config.toml", "scores.json", "environment.json", "folds/samm+1__seed0.json"]


def use_run(folder: Path):
    run = open_run(folder)
    assert run.main and run.predictions and run.name


def sheets(folder: Path):
    (folder / "frames").mkdir(parents=True)
    (folder / "frames" / "img1.jpg").write_bytes(b"")
    (folder / "manifest.csv").write_text(
        "clip,subject,emotion,frames,onset,apex,offset,fps\na,1,anger,frames,1,2,3,200\nb,2,joy,frames,1,,,\n"
    )
    (folder / "intervals.csv").write_text(
        "corpus,subject,video,path,fps,kind,onset,apex,offset,emotion,first,frames\nx,1,v,frames,30,micro,3,4,9,joy,1,99\n"
    )
    (folder / "labels.csv").write_text("word,class\nanger,negative\njoy,positive\n")
    (folder / "annotated.csv").write_text("file,emotion,onset,apex,offset\nframes,anger,1,2,3\n")
    book = openpyxl.Workbook()
    for row in (["clip", "subject", "emotion", "frames", "onset"], ["a", 1, "anger", "frames", 1.0]):
        book.active.append(row)
    book.save(folder / "sheet.xlsx")
    return ["manifest.csv", "intervals.csv", "labels.csv", "annotated.csv", "sheet.xlsx"]


def use_sheets(folder: Path):
    for read in (
        lambda: read_manifest(folder / "manifest.csv", root=folder),
        lambda: read_manifest(folder / "sheet.xlsx", root=folder),
        lambda: read_intervals(folder / "intervals.csv"),
        lambda: read_labels(folder / "labels.csv"),
        lambda: import_rows([folder / "annotated.csv"], lambda _: None),
    ):
        try:
            read()
        except EpirError as error:
            assert error.fix


def pictures(folder: Path):
    """Three frames of a head in each kind of picture, which OpenCV writes, under one numbering."""
    folder.mkdir(parents=True)
    names = ["img1.jpg", "img2.png", "img3.bmp", "img4.webp", "img5.jpg"]
    for number, name in enumerate(names):
        cv2.imwrite(str(folder / name), np.roll(astronaut()[60:140, 180:260, ::-1], number, axis=1))
    return names


def use_pictures(folder: Path):
    """Every frame is given, or a note or an error says why not: nothing is silently left out."""
    with open_frames(folder) as frames:
        notes = frames.inspect(0, 1 << 40)
        given = [frame.number for frame in same_size(frames)]
        assert len(given) == len(frames.numbers) or any("cannot be opened" in note for note in frames.notes)
        assert len(frames.numbers) == 5 or notes or frames.numbers in ((1, 2, 3, 4), (2, 3, 4, 5))


def videos(folder: Path):
    folder.mkdir(parents=True)
    names = {"a.avi": "mjpeg", "b.avi": "mpeg4", "c.mp4": "libx264", "d.webm": "libvpx"}
    for name, codec in names.items():
        with av.open(str(folder / name), "w") as container:
            stream = container.add_stream(codec, 25)
            stream.width, stream.height, stream.codec_context.thread_count = 64, 64, 1
            stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
            for number in range(8):
                pixels = np.ascontiguousarray(np.roll(astronaut()[60:124, 180:244], number, axis=1))
                container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
            container.mux(stream.encode(None))
    return list(names)


def use_videos(folder: Path):
    """A video that gives fewer frames than it was written with says that it ends early or is damaged."""
    for path in sorted(folder.iterdir()):
        try:
            with open_frames(path) as frames:
                count = sum(1 for _ in same_size(frames))
                assert count and (frames.announced is None or frames.announced <= path.stat().st_size)
        except EpirError as error:
            assert error.fix


READERS = {
    "pictures": (pictures, use_pictures),
    "videos": (videos, use_videos),
    "map set": (map_set, load_maps),
    "model folder": (model_folder, use_model),
    "run": (run_folder, use_run),
    "sheets": (sheets, use_sheets),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("count", CASES)
def test_a_malformed_file_is_refused_or_read(reader, count, tmp_path):
    make, read = READERS[reader]
    names = make(tmp_path / "good")
    read(tmp_path / "good")  # the good one is good
    tries(tmp_path / "good", names, read, tmp_path / "changed", count)


@pytest.mark.parametrize("count", CASES)
def test_a_malformed_setting_is_refused_or_taken(count, tmp_path):
    names = [f"training.{name}" for name in config.setting_names(type(resolve("ststnet").training))]
    names += [f"model.{name}" for name in config.setting_names(type(resolve("epir").model))]
    texts = [value.decode("utf-8", "replace") for value in NASTY] + [str(value)[:200] for value in VALUES]

    @hypothesis.settings(max_examples=count, derandomize=True, database=None, phases=[hypothesis.Phase.generate])
    @hypothesis.given(st.sampled_from(names), st.sampled_from(texts) | st.text(max_size=20) | st.integers().map(str))
    def one(name, text):
        with at_most(SECONDS):
            try:
                resolve("epir" if name.startswith("model") else "ststnet", f"{name}={text}")
            except EpirError as error:
                assert error.fix

    one()


def resolve(model, *changes):
    return resolve_settings(model, training="scratch", changes=changes, classes=3, map_size=28)


def test_a_settings_file_that_is_no_file_is_refused(tmp_path):
    (tmp_path / "config.toml").mkdir()
    with pytest.raises(EpirError, match="is a folder, not a file"):
        read_experiment(tmp_path / "config.toml")
