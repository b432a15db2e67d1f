"""The load test, as the documentation quotes it: many clients at once on loopback, in a bounded loop.

python -m epir.bench.web --clients 50 --rounds 4

Every answer must be the recognizer's own for that input, or 503; the memory of the server must stay flat.
"""

import argparse
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
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

PATIENCE_S = 3.0  # the longest that a refused client waits before it tries again
TRIES = 200  # of one request


@dataclass
class Tally:
    """What the clients saw."""

    statuses: Counter[int] = field(default_factory=Counter)
    wrong: int = 0
    given_up: int = 0
    seconds: list[float] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True)
class Input:
    """One thing to send, and what the recognizer itself says about it."""

    body: bytes
    right: dict[str, Any]


def make_inputs(model: Path | None, folder: Path, faces: int = 3) -> list[Input]:
    """A short clip and a pair of pictures of each of some invented faces, with the right answers."""
    from epir.core.progress import Silent
    from epir.frames.film import write_film
    from epir.frames.reader import open_frames
    from epir.recognition.recognizer import Recognizer
    from epir.synthetic.corpus import write_picture
    from epir.web.examples import EXAMPLES, FPS, draw_example, plan_example

    recognizer, inputs = Recognizer.from_pretrained(model), []
    for example in [each for each in EXAMPLES if each.emotion != "none"][:faces]:
        course = plan_example(example).course
        assert course is not None, "it shows something"
        frames = list(draw_example(example, Silent()))[course.onset - 12 : course.offset + 12]
        clip = write_film(folder / f"{example.name}.mp4", frames, FPS)
        pair = (folder / f"{example.name}-onset.png", folder / f"{example.name}-apex.png")
        with open_frames(clip) as film:
            for path, number in zip(pair, (11, course.apex - course.onset + 11), strict=True):
                write_picture(path, film.read(number))
        for given in ((clip,), pair):
            answer = recognizer.predict(given[0] if len(given) == 1 else given, name="x")
            body = b"".join(_part(path) for path in given) + b"--edge--\r\n"
            inputs.append(Input(body, _said(answer.to_dict())))
    return inputs


def run_clients(address: str, inputs: Sequence[Input], clients: int, rounds: int, seconds: float) -> Tally:
    """Let the clients ask, each `rounds` times and no longer than `seconds` in all."""
    tally, end = Tally(), time.monotonic() + seconds
    threads = [
        threading.Thread(target=_ask, args=(address, inputs, number, rounds, end, tally)) for number in range(clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tally


def _ask(address: str, inputs: Sequence[Input], number: int, rounds: int, end: float, tally: Tally) -> None:
    for turn in range(rounds):
        given = inputs[(number + turn) % len(inputs)]
        for _ in range(TRIES):
            began = time.monotonic()
            status, retry, words = post(address, given.body)
            with tally.lock:
                tally.statuses[status] += 1
                if status == 200:
                    tally.seconds.append(time.monotonic() - began)
                    tally.wrong += _said(words) != given.right
            if status != 503 or time.monotonic() > end:
                break
            time.sleep(min(retry, PATIENCE_S) * (0.5 + number % 7 / 7))
        else:
            with tally.lock:
                tally.given_up += 1
        if time.monotonic() > end:
            return


def post(address: str, body: bytes) -> tuple[int, float, dict[str, Any]]:
    """Status, Retry-After and words of one request; status 0 where the connection broke."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=600)
    try:
        connection.request("POST", "/api/predict", body, {"Content-Type": "multipart/form-data; boundary=edge"})
        reply = connection.getresponse()
        return reply.status, float(reply.headers.get("Retry-After", 0)), json.loads(reply.read())
    except (OSError, http.client.HTTPException, ValueError):
        return 0, 0.0, {}
    finally:
        connection.close()


def memory_mib(pid: int) -> tuple[float, float]:
    """Resident memory of the server and of its largest child, in MiB; not known outside Linux."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        pids = [pid, *map(int, children)]
        sizes = [
            int(line.split()[1]) / 1024
            for each in pids
            for line in Path(f"/proc/{each}/status").read_text().splitlines()
            if line.startswith("VmRSS")
        ]
    except OSError:
        return math.nan, math.nan
    return sizes[0], max(sizes[1:], default=math.nan)


def measure(model: Path | None, *, clients: int, rounds: int, seconds: float) -> dict[str, Any]:
    """Start a server, let the clients ask, and say what came of it."""
    command = [sys.executable, "-m", "epir.cli.main", "serve", "--port", "0", "--json"]
    command += ["--model", str(model)] if model is not None else []
    with tempfile.TemporaryDirectory() as folder:
        inputs = make_inputs(model, Path(folder))
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        address = json.loads(server.stdout.readline())["address"]
        warm = run_clients(address, inputs, clients, 2, seconds)  # fills the store of results and every buffer
        before = memory_mib(server.pid)
        began = time.monotonic()
        tally = run_clients(address, inputs, clients, rounds, seconds)
        took = time.monotonic() - began
        after = memory_mib(server.pid)
    finally:
        server.terminate()
        server.wait(timeout=60)
    waits = sorted(tally.seconds)
    return {
        "clients": clients,
        "answers": tally.statuses[200],
        "wrong_answers": tally.wrong + warm.wrong,
        "busy_503": tally.statuses[503],
        "other_statuses": {str(each): n for each, n in tally.statuses.items() if each not in (200, 503)},
        "given_up": tally.given_up,
        "seconds": round(took, 1),
        "answers_a_second": round(tally.statuses[200] / took, 2),
        "median_wait_s": round(waits[len(waits) // 2], 2) if waits else None,
        "longest_wait_s": round(waits[-1], 2) if waits else None,
        "server_mib": [round(before[0], 1), round(after[0], 1)],
        "child_mib": [round(before[1], 1), round(after[1], 1)],
    }


def _part(path: Path) -> bytes:
    head = f'--edge\r\nContent-Disposition: form-data; name="files"; filename="{path.name}"\r\n\r\n'
    return head.encode() + path.read_bytes() + b"\r\n"


def _said(words: dict[str, Any]) -> dict[str, Any]:
    """What must be equal: the class, the scores and the key frames."""
    return {name: words.get(name) for name in ("label", "scores", "onset", "apex", "offset", "warnings")}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and write a table; the exit code is 1 where an answer was wrong."""
    parser = argparse.ArgumentParser(prog="python -m epir.bench.web")
    parser.add_argument("--model", type=Path, help="a model folder; the shipped weights without it")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=4, help="answers that each client wants")
    parser.add_argument("--seconds", type=float, default=600.0, help="after which no client asks again")
    given = parser.parse_args(arguments)
    told = measure(given.model, clients=given.clients, rounds=given.rounds, seconds=given.seconds)
    for name, value in told.items():
        sys.stdout.write(f"{name.replace('_', ' '):<18} {value}\n")
    if told["wrong_answers"] or told["other_statuses"]:
        sys.exit(1)


if __name__ == "__main__":
    main()
