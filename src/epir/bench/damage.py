"""How much damage is told: pictures and videos are corrupted at random, read as everywhere else, and compared.

    epir bench --only damage

A JPEG counts as visibly wrong where more than a tenth of its pixels are off by more than 10 of 255 in a colour, a video
where one of its frames is, or where frames are missing. Told means refused, or given with a note. The faces are
synthetic, and every draw is the same.
"""

import io
import random
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import av
import cv2
import numpy as np
import simplejpeg

from epir.bench.preparation import draw_clip
from epir.bench.ratio import Ratio
from epir.core.errors import FrameError
from epir.frames.picture import read_picture
from epir.frames.video import VideoFrames

OFF, SHARE = 10, 0.1  # of 255; of all pixels
KINDS = {  # of JPEG, by what OpenCV is asked for
    "plain": (cv2.IMWRITE_JPEG_QUALITY, 90),
    "strong compression": (cv2.IMWRITE_JPEG_QUALITY, 50),
    "progressive": (cv2.IMWRITE_JPEG_QUALITY, 90, cv2.IMWRITE_JPEG_PROGRESSIVE, 1),
    "restart markers": (cv2.IMWRITE_JPEG_QUALITY, 90, cv2.IMWRITE_JPEG_RST_INTERVAL, 8),
}
CODECS = {"mjpeg": "avi", "mpeg4": "avi", "libx264": "mp4", "libx265": "mp4", "libvpx": "webm", "libvpx-vp9": "webm"}
OPTIONS = {"libx265": {"x265-params": "log-level=none"}, "libvpx-vp9": {"cpu-used": "8", "deadline": "realtime"}}
Damage = Callable[[bytes, random.Random], bytes]


def measure(*, quick: bool = False) -> list[Ratio]:
    """The share of visibly wrong JPEGs and videos that is told, by the way they were damaged and by codec."""
    with tempfile.TemporaryDirectory() as folder:
        clip = draw_clip(Path(folder))
        assert clip.frames is not None
        onset, apex = (read_picture(clip.frames / f"img{number}.jpg") for number in (clip.onset, clip.apex))
        small = [cv2.resize(frame, (320, 240), interpolation=cv2.INTER_AREA) for frame in (onset, apex)]
        jpegs = list(damaged_jpegs(small[0], Path(folder), draws=2 if quick else 10))
        videos = {codec: list(damaged_videos(codec, small, Path(folder), 4 if quick else 12)) for codec in CODECS}
    ratios = [_share(f"JPEGs, {name}", [told for way, told in jpegs if way == name]) for name in WAYS]
    ratios.append(_share("JPEGs, all", [told for _, told in jpegs]))
    return ratios + [_share(f"videos, {codec}", told) for codec, told in videos.items()]


def _share(name: str, told: list[bool]) -> Ratio:
    share = float(np.mean(told)) if told else 1.0
    return Ratio(f"damage told, {name}", share, None, f"{sum(told)} of {len(told)} that are visibly wrong")


# ---------------------------------------------------------------------------------------------------------- JPEGs


def damaged_jpegs(frame: np.ndarray, folder: Path, *, draws: int) -> Iterator[tuple[str, bool]]:
    """How it was damaged, and whether that is told, of each JPEG that is visibly wrong and not cut short."""
    for kind, options in KINDS.items():
        content = cv2.imencode(".jpg", frame[..., ::-1], options)[1].tobytes()
        right = simplejpeg.decode_jpeg(content)
        for name, damage in WAYS.items():
            for draw in range(draws):
                wrong = damage(content, random.Random(f"{kind} {name} {draw}"))
                try:
                    shown = simplejpeg.decode_jpeg(wrong, strict=False)  # as any viewer shows it
                except ValueError:
                    continue  # no viewer shows it
                if is_wrong(shown, right):
                    (folder / "damaged.jpg").write_bytes(wrong)
                    yield name, _is_refused(folder / "damaged.jpg")


def is_wrong(shown: np.ndarray, right: np.ndarray) -> bool:
    """Whether more than a tenth of the pixels (H, W, 3) differ by more than 10."""
    if shown.shape != right.shape:
        return True
    return bool((np.abs(shown.astype(int) - right).max(2) > OFF).mean() > SHARE)


def _is_refused(path: Path) -> bool:
    try:
        read_picture(path)
    except FrameError:
        return True
    return False


def _codes(content: bytes) -> tuple[int, int]:
    """Where the codes of the first scan begin, and where the last bytes end."""
    return content.find(b"\xff\xda") + 14, len(content) - 2


def _overwritten(length: int, fill: bytes | None = None) -> Damage:
    def damage(content: bytes, chance: random.Random) -> bytes:
        start, end = _codes(content)
        place = chance.randrange(start, end - length)
        return (
            content[:place] + (chance.randbytes(length) if fill is None else fill * length) + content[place + length :]
        )

    return damage


def _removed(length: int) -> Damage:
    def damage(content: bytes, chance: random.Random) -> bytes:
        start, end = _codes(content)
        place = chance.randrange(start, end - length)
        return content[:place] + content[place + length :]

    return damage


def _flipped(bits: int) -> Damage:
    def damage(content: bytes, chance: random.Random) -> bytes:
        wrong = bytearray(content)
        for _ in range(bits):
            wrong[chance.randrange(*_codes(content))] ^= 1 << chance.randrange(8)
        return bytes(wrong)

    return damage


def _repeated(content: bytes, chance: random.Random) -> bytes:
    start, end = _codes(content)
    place = chance.randrange(start, end - 512)
    return content[: place + 512] + content[place:]


def _swapped(content: bytes, chance: random.Random) -> bytes:
    start, end = _codes(content)
    one = chance.randrange(start, end - 2048)
    other = one + 1024
    return (
        content[:one]
        + content[other : other + 512]
        + content[one + 512 : other]
        + content[one : one + 512]
        + content[other + 512 :]
    )


def _cut(content: bytes, chance: random.Random) -> bytes:
    """Its second half or more is gone, but the end marker is there."""
    start, end = _codes(content)
    return content[: chance.randrange(start + (end - start) // 8, start + (end - start) // 2)] + b"\xff\xd9"


def _table(marker: bytes) -> Damage:
    def damage(content: bytes, chance: random.Random) -> bytes:
        place = content.find(marker)
        length = int.from_bytes(content[place + 2 : place + 4], "big")
        wrong = bytearray(content)
        wrong[chance.randrange(place + 5, place + 2 + length)] = chance.randrange(1, 256)
        return bytes(wrong)

    return damage


WAYS: dict[str, Damage] = {
    "1 bit flipped": _flipped(1),
    "8 bits flipped": _flipped(8),
    "64 bits flipped": _flipped(64),
    "1 wrong byte": _overwritten(1),
    "8 wrong bytes": _overwritten(8),
    "64 wrong bytes": _overwritten(64),
    "512 wrong bytes": _overwritten(512),
    "512 bytes of zeros": _overwritten(512, b"\0"),
    "1 byte lost": _removed(1),
    "64 bytes lost": _removed(64),
    "512 bytes lost": _removed(512),
    "512 bytes twice": _repeated,
    "512 bytes swapped": _swapped,
    "half lost, with an end marker": _cut,
    "a code table changed": _table(b"\xff\xc4"),
    "a quantisation table changed": _table(b"\xff\xdb"),
}


# ---------------------------------------------------------------------------------------------------------- videos


def damaged_videos(codec: str, frames: list[np.ndarray], folder: Path, draws: int) -> Iterator[bool]:
    """Whether it is told, of each video that is visibly wrong: one packet is damaged, the container is not."""
    path = folder / f"film.{CODECS[codec]}"
    path.write_bytes(content := _film(codec, frames))
    right = [frame.pixels for frame in VideoFrames(path)]
    packets = _packets(path)
    for draw in range(draws):
        chance = random.Random(f"{codec} {draw}")
        packet = chance.choice(packets)
        place, length = content.find(packet), chance.choice((1, 16, 256))
        first = place + min(16, len(packet) // 2) + chance.randrange(max(1, len(packet) - length - 16))
        length = min(length, place + len(packet) - first)
        path.write_bytes(content[:first] + chance.randbytes(length) + content[first + length :])
        try:
            with VideoFrames(path) as video:
                shown = [frame.pixels for frame in video]
            told = bool(video.notes)
        except FrameError:
            shown, told = [], True
        if len(shown) != len(right) or any(is_wrong(one, other) for one, other in zip(shown, right, strict=True)):
            yield told


def _film(codec: str, frames: list[np.ndarray]) -> bytes:
    """A second of a face between two frames and back, before a camera that moves and has noise."""
    noise, file = np.random.default_rng(0), io.BytesIO()
    with av.open(file, "w", format=CODECS[codec]) as container:
        stream = container.add_stream(codec, 25, options=OPTIONS.get(codec, {}))
        assert isinstance(stream, av.VideoStream)
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = "yuvj420p" if codec == "mjpeg" else "yuv420p"
        stream.codec_context.gop_size, stream.codec_context.thread_count = 15, 1
        stream.codec_context.bit_rate = 2_000_000
        for number in range(30):
            part = 0.5 - 0.5 * np.cos(number * np.pi / 12)
            mixed = frames[0] * (1 - part) + frames[1] * part + noise.normal(0, 3, frames[0].shape)
            pixels = np.roll(mixed.clip(0, 255).astype(np.uint8), (number, 2 * number), axis=(0, 1))  # (H, W, 3)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
        container.mux(stream.encode(None))
    return file.getvalue()


def _packets(path: Path) -> list[bytes]:
    """The packets of a video that can be found again in its file, without the last: damage needs a frame to show in."""
    with av.open(str(path)) as container:
        packets = [bytes(packet) for packet in container.demux(video=0) if packet.size > 40]
    return packets[:-1]
