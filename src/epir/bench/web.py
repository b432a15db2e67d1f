"""The web server under load: many clients at once, whose answers must be the recognizer's own."""

import http.client
import json
import math
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

from epir.bench.ratio import Ratio
from epir.core.errors import EpirError, MissingExtra
from epir.core.progress import Silent

CLIENTS, QUICK_CLIENTS = 50, 8
FLAT = 0.9  # memory before / after
CAMERA_FPS = 30.0  # of most built-in cameras
MAX_WAIT_S = 3.0  # the longest that a refused client waits before it tries again
COMPARED = ("label", "scores", "onset", "apex", "offset", "warnings")


@dataclass(frozen=True)
class Input:
    """One request, its right answer, and the seconds that the answer takes without a server."""

    body: bytes
    answer: dict[str, Any]
    seconds: float


@dataclass
class Tally:
    """What the clients got."""

    statuses: Counter[int] = field(default_factory=Counter)
    wrong: int = 0
    waits: list[float] = field(default_factory=list)  # seconds, of the answers
    lock: threading.Lock = field(default_factory=threading.Lock)


def measure(*, quick: bool = False) -> list[Ratio]:
    """Correct answers, throughput and memory of `epir serve` with the shipped weights and one worker."""
    if find_spec("fastapi") is None:
        raise MissingExtra.named("the web server", "web")
    clients = QUICK_CLIENTS if quick else CLIENTS
    with tempfile.TemporaryDirectory(prefix="epir-bench-") as folder:
        inputs = make_inputs(None, Path(folder), faces=1 if quick else 3)
    command = [sys.executable, "-m", "epir.cli.main", "serve", "--port", "0", "--json", "--set", "examples_ahead=false"]
    command += ["--set", f"keep_results={clients}"]  # so that the first round fills the store
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        line = server.stdout.readline()
        if not line:
            raise EpirError("the web server did not start", fix="run epir serve to see why")
        address = json.loads(line)["address"]
        run_clients(address, inputs, clients)  # fills the store of results and every buffer
        before = memory_mib(server.pid)
        began = time.perf_counter()
        tally = run_clients(address, inputs, clients)
        seconds = time.perf_counter() - began
        after = memory_mib(server.pid)
    finally:
        server.terminate()
        server.wait()
    alone = sum(inputs[number % len(inputs)].seconds for number in range(clients))
    flat = None if quick else FLAT  # few answers do not show it
    return [*ratios(tally, clients, seconds, alone, before, after, flat), measure_camera(quick=quick)]


def measure_camera(*, quick: bool = False) -> Ratio:
    """How much faster than it films a camera is looked at: from JPEG to movements, on one core."""
    import cv2

    from epir.evaluation.fold import one_thread as one_torch_thread
    from epir.frames.threads import one_thread
    from epir.recognition.recognizer import Recognizer
    from epir.reports.pictures import jpeg
    from epir.web.examples import EXAMPLES, FPS, render_frames
    from epir.web.stream import Camera

    faces = list(render_frames(EXAMPLES[0], Silent()))[:: round(FPS / CAMERA_FPS)]
    wide = [cv2.copyMakeBorder(cv2.resize(each, (480, 480)), 0, 0, 80, 80, cv2.BORDER_REPLICATE) for each in faces]
    frames = [jpeg(each, quality=85) for each in (*wide, *wide[::-1])]  # there and back, so that nothing jumps
    count, camera, found = 150 if quick else 900, Camera(Recognizer.from_pretrained(None), "largest", 640), 0
    with one_thread(), one_torch_thread():
        began = time.process_time()
        for number in range(count):
            camera.push(number, number / CAMERA_FPS, frames[number % len(frames)])
            found += len(camera.report()["movements"])
        seconds = time.process_time() - began
    rate = count / seconds
    detail = f"640 x 480 at {CAMERA_FPS:g}: {rate:.0f} frames a second of one core; {found} movements in {count} frames"
    return Ratio("camera, frames looked at / filmed", rate / CAMERA_FPS, 1.0, detail)


def ratios(
    tally: Tally,
    clients: int,
    seconds: float,
    alone: float,
    before: tuple[float, float],
    after: tuple[float, float],
    flat: float | None,
) -> list[Ratio]:
    """The lines of the benchmark; memory is that of the server and of its worker process, in MiB."""
    answers = tally.statuses[200]
    others = {status: count for status, count in tally.statuses.items() if status not in (200, 503)}
    waits = tally.waits or [math.nan]
    return [
        Ratio(
            "correct answers / clients",
            (answers - tally.wrong) / clients,
            1.0,
            f"{clients} clients, {tally.statuses[503]} times 503, other statuses: {others or 'none'}",
        ),
        Ratio(
            "without server / with server",
            alone / seconds,
            None,
            f"{seconds:.0f} s for {answers} answers; median wait {median(waits):.1f} s, longest {max(waits):.1f} s",
        ),
        Ratio("memory before / after, server", before[0] / after[0], flat, f"{before[0]:.0f} and {after[0]:.0f} MiB"),
        Ratio("memory before / after, worker", before[1] / after[1], flat, f"{before[1]:.0f} and {after[1]:.0f} MiB"),
    ]


def make_inputs(model: Path | None, folder: Path, faces: int) -> list[Input]:
    """A short clip and a pair of pictures of each of some synthetic faces, with their right answers."""
    from epir.frames.film import write_film
    from epir.frames.reader import open_frames
    from epir.recognition.recognizer import Recognizer
    from epir.synthetic.corpus import write_picture
    from epir.web.examples import EXAMPLES, FPS, plan_example, render_frames
    from epir.web.inference import answer_output

    recognizer, inputs = Recognizer.from_pretrained(model), []
    for example in [each for each in EXAMPLES if each.emotion != "none"][:faces]:
        course = plan_example(example).course
        assert course is not None, "it shows an expression"
        frames = list(render_frames(example, Silent()))[course.onset - 12 : course.offset + 12]
        clip = write_film(folder / f"{example.name}.mp4", frames, FPS)
        pair = (folder / f"{example.name}-onset.png", folder / f"{example.name}-apex.png")
        with open_frames(clip) as film:
            for path, number in zip(pair, (11, course.apex - course.onset + 11), strict=True):
                write_picture(path, film.read(number))
        for paths in ((clip,), pair):
            for _ in range(2):  # the first time warms up
                began = time.perf_counter()
                answer = recognizer.predict(paths[0] if len(paths) == 1 else paths, name="x")
                answer_output(answer, "/", movements=12)
                seconds = time.perf_counter() - began
            body = b"".join(_part(path) for path in paths) + b"--edge--\r\n"
            inputs.append(Input(body, _compared(answer.to_dict()), seconds))
    return inputs


def run_clients(address: str, inputs: Sequence[Input], clients: int) -> Tally:
    """Send one input from each client, all at once; a client that gets 503 tries again."""
    tally = Tally()
    threads = [
        threading.Thread(target=_run_client, args=(address, inputs[number % len(inputs)], number, tally))
        for number in range(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tally


def _run_client(address: str, given: Input, number: int, tally: Tally) -> None:
    while True:  # a live server answers in the end, however busy the machine
        began = time.perf_counter()
        status, retry_after, answer = post(address, given.body)
        with tally.lock:
            tally.statuses[status] += 1
            if status == 200:
                tally.waits.append(time.perf_counter() - began)
                tally.wrong += _compared(answer) != given.answer
        if status != 503:
            return
        time.sleep(min(retry_after, MAX_WAIT_S) * (0.5 + number % 7 / 7))  # not all at the same moment


def post(address: str, body: bytes) -> tuple[int, float, dict[str, Any]]:
    """Status, Retry-After and JSON of one response; status 0 if the connection broke."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc)
    try:
        connection.request("POST", "/api/predict", body, {"Content-Type": "multipart/form-data; boundary=edge"})
        response = connection.getresponse()
        return response.status, float(response.headers.get("Retry-After", 0)), json.loads(response.read())
    except (OSError, http.client.HTTPException, ValueError):
        return 0, 0.0, {}
    finally:
        connection.close()


def memory_mib(pid: int) -> tuple[float, float]:
    """Resident memory of a process and of its largest child in MiB; nan outside Linux."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        sizes = [
            int(line.split()[1]) / 1024
            for each in (pid, *children)
            for line in Path(f"/proc/{each}/status").read_text().splitlines()
            if line.startswith("VmRSS")
        ]
    except OSError:
        return math.nan, math.nan
    return sizes[0], max(sizes[1:], default=math.nan)


def _part(path: Path) -> bytes:
    head = f'--edge\r\nContent-Disposition: form-data; name="files"; filename="{path.name}"\r\n\r\n'
    return head.encode() + path.read_bytes() + b"\r\n"


def _compared(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: answer.get(name) for name in COMPARED}
