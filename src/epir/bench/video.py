"""Speed of `epir predict` on a video, and whether its memory grows with the length.

The videos are drawn: a synthetic face sways, smiles and blinks for a few seconds, which repeat seamlessly. The encoded
seconds are written again and again, so that even ten minutes take no time to make.
"""

import math
import multiprocessing
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import cv2
import numpy as np

from epir.bench.suite import Ratio
from epir.core.seeds import generator
from epir.synthetic.clip import expose
from epir.synthetic.corpus import portrait_of
from epir.synthetic.expressions import ActiveUnit
from epir.synthetic.identity import draw_identity
from epir.synthetic.movement import draw_movement
from epir.synthetic.moving import MovingFace, State

FPS, PERIOD = 30, 4.0  # frames a second; seconds after which the video repeats
FRAMES_PER_SECOND = 150.0  # target at 640 x 480, one core
FLAT = 0.9  # target: peak memory of a short video divided by that of a long one
SMALL, LARGE = (640, 480), (1920, 1080)


def measure(*, quick: bool = False) -> list[Ratio]:
    """Frames per second and core at 640 x 480 and 1080p, and peak memory of a short and a long video."""
    seconds, short, long = (12.0, 12.0, 40.0) if quick else (40.0, 60.0, 600.0)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        small = measured(write_loop(place / "small.mp4", SMALL, seconds))
        brief = measured(write_loop(place / "brief.mp4", LARGE, short))
        whole = measured(write_loop(place / "long.mp4", LARGE, long))
    growth = (whole["peak"] - brief["peak"]) / 2**20
    return [
        Ratio(
            "frames per second and core, 640 x 480",
            small["frames"] / small["seconds"],
            FRAMES_PER_SECOND,
            f"{1000 * small['seconds'] / small['frames']:.1f} ms per frame, {small['movements']} movements",
        ),
        Ratio(
            "frames per second and core, 1920 x 1080",
            whole["frames"] / whole["seconds"],
            None,
            f"{1000 * whole['seconds'] / whole['frames']:.1f} ms per frame, {whole['movements']} movements",
        ),
        Ratio(
            f"peak memory, {short:g} s against {long:g} s of 1080p",
            brief["peak"] / whole["peak"],
            FLAT,
            f"{whole['peak'] / 2**20:.0f} MB at most, {growth:+.0f} MB for {long - short:g} s more",
        ),
    ]


def measured(path: Path) -> dict[str, Any]:
    """Frames, processor seconds and peak memory of `predict` on one video, in a new process."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_predict, args=(str(path), sender))
    process.start()
    sender.close()
    try:
        return dict(receiver.recv())
    except EOFError:
        raise RuntimeError(f"the measurement of {path.name} ended with code {process.exitcode}") from None
    finally:
        process.join()


def _predict(path: str, sender: Any) -> None:
    from epir.frames.video import count_frames
    from epir.recognition.recognizer import Recognizer

    cv2.setNumThreads(1)
    recognizer = Recognizer.from_pretrained()
    recognizer.predict(path, end=1.0)  # loads the nets
    began = time.process_time()
    answer = recognizer.predict(path)
    spent = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    sender.send(
        {"frames": count_frames(Path(path)), "seconds": spent, "peak": peak, "movements": len(answer.all)},
    )


def write_loop(path: Path, size: tuple[int, int], seconds: float) -> Path:
    """Write a video of `seconds` in which `PERIOD` seconds repeat; these are encoded only once."""
    packets: list[bytes] = []
    encoder = av.CodecContext.create("libx264", "w")
    encoder.width, encoder.height, encoder.pix_fmt = *size, "yuv420p"
    encoder.time_base, encoder.framerate = Fraction(1, FPS), Fraction(FPS)
    encoder.options = {"crf": "23", "preset": "veryfast", "bf": "0"}
    encoder.thread_count = 1
    for place, frame in enumerate(draw_period(size)):
        picture = av.VideoFrame.from_ndarray(frame, format="rgb24")
        picture.pts = place
        packets += [bytes(packet) for packet in encoder.encode(picture)]
    packets += [bytes(packet) for packet in encoder.encode(None)]
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", FPS)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        for number in range(round(seconds * FPS)):
            packet = av.Packet(packets[number % len(packets)])
            packet.stream, packet.time_base = stream, Fraction(1, FPS)
            packet.pts = packet.dts = number
            packet.is_keyframe = number % len(packets) == 0
            container.mux(packet)
    return path


def draw_period(size: tuple[int, int]) -> Iterator[np.ndarray]:
    """The frames of one period, (H, W, 3) uint8 RGB; the last is followed by the first."""
    width, height = size
    side = 320  # px at which the face is drawn
    identity, portrait, random = draw_identity(4, "a"), portrait_of(4, "a", side), generator(4, "video")
    movement = draw_movement((ActiveUnit(12, 1.0, 1.0), ActiveUnit(6, 0.6, 0.6)), identity.geometry, random)
    face = MovingFace(portrait, identity.geometry, movement)
    for number in range(round(PERIOD * FPS)):
        seconds = number / FPS
        turn = 2 * math.pi * seconds / PERIOD
        smile = math.sin(math.pi * (seconds - 1.0) / 0.4) ** 2 if 1.0 < seconds < 1.4 else 0.0
        closure = math.sin(math.pi * (seconds - 3.0) / 0.2) if 3.0 < seconds < 3.2 else 0.0
        state = State(0.7 * smile, 0.4 * math.sin(turn), 0.3 * math.sin(2 * turn), closure=closure)
        drawn = expose(face.render(state), np.zeros(3, np.float32), 1.0, portrait.canvas, random)
        frame = np.full((height, width, 3), 90, np.uint8)
        shown = cv2.resize(drawn, (height, height), interpolation=cv2.INTER_LINEAR)
        left = (width - height) // 2
        frame[:, left : left + height] = shown
        yield frame
