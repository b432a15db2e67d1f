"""What every test shares."""

import builtins
import io
import os
import shutil
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import hypothesis
import numpy as np
import pytest

# One thread for each process, before torch is imported: threads that wait for one another do so at full speed, and on a
# busy machine for minutes.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Machines are shared and noisy: no example is judged by the time it takes.
hypothesis.settings.register_profile("busy machine", deadline=None)
hypothesis.settings.load_profile("busy machine")

# Tests in the background of a shell ignore Ctrl-C, and so would every program that a test starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def own_signals():
    """A command that was stopped heeds no further signal; the tests after it do."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(autouse=True)
def same_random_weights():
    """Networks that a test draws are the same in every run, whichever tests came before."""
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(1)


@pytest.fixture(scope="session")
def head():
    """The astronaut's head, (180, 190, 3) uint8 RGB; the crop of its face is 84 px wide."""
    from skimage.data import astronaut

    return np.ascontiguousarray(astronaut()[40:220, 130:320])


@pytest.fixture(scope="session")
def head_crop(head):
    from epir.faces.finder import find_crop

    return find_crop(head)


@pytest.fixture(scope="session")
def pair_of(head, head_crop):
    """The head before and after a motion of `amplitude` px, without noise unless asked for."""
    from epir.bench.flow import warped_pair

    def make(kind, amplitude, noise=0.0):
        return warped_pair(head, head_crop, kind, amplitude, noise=noise)

    return make


@pytest.fixture(scope="session")
def rise_and_fall(pair_of):
    """Nine frames of an expression that comes and goes, strongest in the sixth; noise in each."""
    return [pair_of("bump", 3.0 * np.exp(-(((number - 6) / 2.0) ** 2)), noise=1.0).apex for number in range(1, 10)]


def write_frames(folder: Path, frames, *, name="img{}.jpg", first=1) -> Path:
    import cv2

    folder.mkdir(parents=True)
    for number, frame in enumerate(frames, start=first):
        cv2.imwrite(str(folder / name.format(number)), cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))
    return folder


@pytest.fixture
def face_clips(tmp_path, rise_and_fall):
    """Writes clips of `people` x `each` below tmp_path/corpus and gives them back, apexes annotated."""
    import cv2

    from epir.core.records import Clip

    def write(people=2, each=2, *, keys=(0, 5)):
        clips = []
        for person in range(people):
            for place in range(each):
                folder = tmp_path / "corpus" / f"s{person}" / f"c{place}"
                shift = person + 2 * place
                frames = [np.roll(rise_and_fall[number], shift, axis=1) for number in keys]
                folder.mkdir(parents=True)
                for number, frame in zip(keys, frames, strict=True):
                    cv2.imwrite(str(folder / f"img{number + 1}.jpg"), cv2.cvtColor(frame, cv2.COLOR_RGB2BGR))
                emotion = ("surprise", "positive")[place % 2]
                clips.append(Clip("drawn", f"s{person}", f"c{place}", emotion, 1, 6, 9, 200.0, folder))
        return clips

    return write


@pytest.fixture
def long_clip(tmp_path, rise_and_fall):
    """All nine frames of one clip, without an annotated apex."""
    from epir.core.records import Clip

    folder = write_frames(tmp_path / "long", rise_and_fall)
    return Clip("drawn", "s9", "long", "surprise", 1, None, 9, 200.0, folder)


@pytest.fixture(scope="session")
def cartoon():
    """A drawn face, (400, 400, 3) uint8 RGB: flat colours, sharp lines."""
    import cv2

    picture = np.full((400, 400, 3), (120, 190, 230), np.uint8)
    skin, ink = (250, 205, 165), (20, 20, 20)

    def ellipse(x, y, wide, high, colour, thickness=-1, first=0, last=360):
        cv2.ellipse(picture, (x, y), (wide, high), 0, first, last, colour, thickness, cv2.LINE_AA)

    ellipse(200, 120, 105, 95, (70, 40, 20))
    ellipse(200, 205, 95, 115, skin)
    ellipse(200, 205, 95, 115, ink, 3)
    for x in (162, 238):
        ellipse(x, 185, 20, 15, (255, 255, 255))
        ellipse(x, 187, 8, 9, (60, 40, 20))
        ellipse(x, 160, 24, 8, (60, 30, 10), 5, 200, 340)
    ellipse(200, 225, 10, 18, (225, 165, 130))
    ellipse(200, 235, 12, 7, (150, 90, 70), 3, 20, 160)
    ellipse(200, 265, 38, 14, (190, 60, 60))
    return picture


class NumberedVideo:
    """Videos whose frames carry their number in their pixels: sixteen squares, black or white."""

    side = 32

    def frame(self, number):
        frame = np.full((4 * self.side, 4 * self.side, 3), 128, np.uint8)
        for bit in range(16):
            top, left = self.side * (bit // 4), self.side * (bit % 4)
            frame[top : top + self.side, left : left + self.side] = 255 * (number >> bit & 1)
        return frame

    def read(self, pixels):
        """The number in a frame, at whatever size."""
        step = pixels.shape[0] // 4
        middles = pixels[step // 2 :: step, step // 2 :: step, 1].ravel()
        return sum(1 << bit for bit, value in enumerate(middles) if value > 128)

    def write(self, path, codec="libx264", options=None, *, count=260, times=None, gop=40):
        """Encode frames, by default with B-frames and open groups; `times` are time stamps in 1/600 s."""
        import av

        options = options or {"x264-params": "bframes=3:b-adapt=0:open-gop=1:scenecut=0", "crf": "20"}
        with av.open(str(path), "w") as container:
            stream = container.add_stream(codec, 30, options=options)
            stream.width = stream.height = 4 * self.side
            stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
            stream.codec_context.gop_size = gop
            stream.codec_context.time_base = Fraction(1, 600 if times else 30)
            for number in range(count):
                picture = av.VideoFrame.from_ndarray(self.frame(number), format="rgb24")
                picture.pts = times[number] if times else number
                picture.time_base = stream.codec_context.time_base
                container.mux(stream.encode(picture))
            container.mux(stream.encode(None))
        return path


@pytest.fixture(scope="session")
def numbered():
    return NumberedVideo()


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file of a folder with its bytes, by relative path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="session")
def bytes_in():
    return files_of


@pytest.fixture
def small_disk(tmp_path):
    """Mounts a disk of so many bytes below tmp_path; skipped where that is not permitted."""
    mounted = []

    def mount(size, *, read_only=False):
        place = tmp_path / f"disk{len(mounted)}"
        place.mkdir()
        options = f"size={size}" + (",ro" if read_only else "")
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
        if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
            pytest.skip("a small disk cannot be mounted here: that takes root")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def full_disk(small_disk):
    """A disk of 64 kB."""
    return small_disk(65536)


class Crash(BaseException):
    """The process ends here, as if it was killed."""


CHANGES = ("rename", "replace", "mkdir", "unlink", "remove", "rmdir", "fsync", "chmod", "truncate", "posix_fallocate")


@pytest.fixture
def crash_at(monkeypatch):
    """Runs a function that is killed at its n-th operation on files, and says whether it came that far.

    Nothing that happens afterwards reaches the disk: a killed process does not clean up. A file that is opened for
    writing counts twice: before it is there, and when it is there but empty.
    """

    def run(number, work):
        count = 0

        def step():
            nonlocal count
            count += 1
            if count >= number:
                raise Crash

        def counted(real):
            def call(*arguments, **options):
                step()
                return real(*arguments, **options)

            return call

        def opened(real):
            def call(file, mode="r", *arguments, **options):
                if not set(mode) & set("wax+"):
                    return real(file, mode, *arguments, **options)
                step()
                handle = real(file, mode, *arguments, **options)
                try:
                    step()
                except Crash:
                    handle.close()
                    raise
                return handle

            return call

        with monkeypatch.context() as patch:
            for name in CHANGES:
                patch.setattr(os, name, counted(getattr(os, name)))
            for module in (io, builtins):
                patch.setattr(module, "open", opened(module.open))
            try:
                work()
            except Crash:
                return True
        return False

    return run


def pytest_collection_modifyitems(config, items):
    """Tests of many minutes are left out unless `-m` names their marker."""
    asked = config.getoption("markexpr")
    left_out = [
        item for item in items for name in ("every", "fuzz") if item.get_closest_marker(name) and name not in asked
    ]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


# A tiny trained model, and an invented face that smiles.

SIZE, FPS, FRAMES = 260, 60, 48  # of the face that smiles
TINY = ("model.width=32", "model.feed_forward=48", "model.blocks=4", "model.heads=2")
QUICK = ("training.epochs=12", "training.lr=2e-3")


@pytest.fixture(scope="session")
def maps(tmp_path_factory):
    from epir.maps.mapset import save_maps
    from epir.synthetic.maps import synthetic_maps

    made = synthetic_maps(120, "direct", seed=3)
    folder = tmp_path_factory.mktemp("maps") / "synthetic"
    save_maps(folder, made.maps, made.clips, recipe=made.meta["recipe"])
    return folder


@pytest.fixture(scope="session")
def trained(maps, tmp_path_factory):
    """What `train` gives back; its folder is a tiny model."""
    from epir.final.train import train

    out = tmp_path_factory.mktemp("models") / "tiny"
    return train(maps, protocol="sde", out=out, folds=2, changes=[*TINY, *QUICK], workers=1)


@pytest.fixture(scope="session")
def recognizer(trained):
    from epir.recognition.recognizer import Recognizer

    return Recognizer.from_pretrained(trained.folder)


@pytest.fixture(scope="session")
def with_units(maps, tmp_path_factory):
    """The folder of a tiny model with a head for action units, calibrated on other people."""
    from epir.final.train import train
    from epir.synthetic.maps import synthetic_maps

    out = tmp_path_factory.mktemp("models") / "units"
    changes = [*TINY, *QUICK, "training.action_units=1", "training.shift_at_prediction=1"]
    others = synthetic_maps(96, "direct", seed=8)
    return train(maps, protocol="sde", out=out, changes=changes, calibrate_on=[others]).folder


@pytest.fixture(scope="session")
def smile():
    """A face that smiles for a quarter of a second, (T, H, W, 3) uint8."""
    from epir.synthetic.clip import Course

    return film(Course(onset=12, apex=20, offset=34).intensity)


@pytest.fixture(scope="session")
def still():
    return film(lambda number: 0.0)[:20]


@pytest.fixture(scope="session")
def video(smile, tmp_path_factory):
    return write_video(tmp_path_factory.mktemp("video") / "smile.mp4", smile)


@pytest.fixture(scope="session")
def folder(smile, tmp_path_factory):
    """The same as pictures, numbered from 101."""
    place = tmp_path_factory.mktemp("frames") / "smile"
    place.mkdir()
    import cv2

    for number, frame in enumerate(smile, start=101):
        cv2.imwrite(str(place / f"img{number}.png"), frame[..., ::-1])
    return place


def film(share):
    from epir.core.seeds import generator
    from epir.synthetic.clip import expose
    from epir.synthetic.corpus import portrait_of
    from epir.synthetic.expressions import ActiveUnit
    from epir.synthetic.identity import draw_identity
    from epir.synthetic.movement import draw_movement
    from epir.synthetic.moving import MovingFace, State

    identity, portrait = draw_identity(4, "a"), portrait_of(4, "a", SIZE)
    random = generator(4, "film")
    movement = draw_movement((ActiveUnit(12, 1.0, 1.0), ActiveUnit(6, 0.6, 0.6)), identity.geometry, random)
    face = MovingFace(portrait, identity.geometry, movement)
    light = np.zeros(3, np.float32)
    return np.stack(
        [
            expose(face.render(State(intensity=0.7 * share(n))), light, 1.0, portrait.canvas, random)
            for n in range(FRAMES)
        ]
    )


def write_video(path, frames, fps=FPS):
    import cv2

    height, width = frames.shape[1:3]
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*"mp4v"), fps, (width, height))
    for frame in frames:
        writer.write(np.ascontiguousarray(frame[..., ::-1]))
    writer.release()
    return path
