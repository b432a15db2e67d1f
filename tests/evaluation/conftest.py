"""Small map sets and quick settings for the tests of the evaluation."""

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from epir.core.records import Clip
from epir.maps.mapset import save_maps

CLASSES = ("negative", "positive", "surprise")
QUICK = ("training.epochs=2", "training.batch=16", "training.lr=0.01")


def invented(people=4, each=6, *, size=12, corpora=("casme2", "samm"), signal=3.0, labels=CLASSES, seed=0):
    """Maps whose class is written in v, clips of people of several corpora; classes go round."""
    random = np.random.default_rng(seed)
    clips = [
        Clip(corpora[person % len(corpora)], f"{person:02d}", f"clip_{number}", labels[(person + number) % len(labels)])
        for person in range(people)
        for number in range(each)
    ]
    maps = random.normal(size=(len(clips), 3, size, size)).astype(np.float32)
    for place, clip in zip(maps, clips, strict=True):
        third = size // len(labels)
        first = labels.index(clip.emotion) * third
        place[1, first : first + third] += signal
    return maps, clips


@pytest.fixture
def make_maps(tmp_path):
    """A function that writes an invented map set and gives its folder."""

    def make(name="maps", **choices):
        maps, clips = invented(**choices)
        return save_maps(tmp_path / name, maps, clips, recipe={"name": "invented"}).folder

    return make


@pytest.fixture
def quick():
    """Settings under which a fold takes a fraction of a second."""
    return QUICK


def _parent(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[1])


def _is_below(pid, ancestor):
    while pid > 1:
        if pid == ancestor:
            return True
        pid = _parent(pid)
    return False


@pytest.fixture
def kill_worker():
    """A function that kills the first process below this one whose command has a word in it, once it is there."""
    victims, threads = [], []

    def hunt(word, seconds):
        end = time.monotonic() + 40
        while time.monotonic() < end and not victims:
            for place in Path("/proc").glob("[0-9]*"):
                try:
                    if word in (place / "cmdline").read_text() and _is_below(int(place.name), os.getpid()):
                        time.sleep(seconds)
                        os.kill(int(place.name), signal.SIGKILL)
                        victims.append(int(place.name))
                        break
                except OSError:
                    continue  # it has just ended
            time.sleep(0.02)

    def start(word, *, after=0.0):
        threads.append(threading.Thread(target=hunt, args=(word, after), daemon=True))
        threads[-1].start()
        return victims

    yield start
    for thread in threads:
        thread.join()
