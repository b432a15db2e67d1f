"""What every test shares."""

import os
import signal
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
    from epir.bench.pairs import warped_pair

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


def files_of(folder: Path) -> dict[str, bytes]:
    """Every file of a folder with its bytes, by relative path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture(scope="session")
def bytes_in():
    return files_of
