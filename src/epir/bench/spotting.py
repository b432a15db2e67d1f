"""How well spotting works on clips whose truth is known.

    python -m epir.bench.spotting synthetic corpora/synthetic

Clips without an expression (`kind` still, blinking or turning, as `epir synth` writes them) count false alarms.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from epir.core.progress import Progress, Silent
from epir.core.records import Clip
from epir.datasets.registry import load_corpus
from epir.maps.workers import one_thread
from epir.frames.reader import open_frames
from epir.spotting.settings import SpottingSettings
from epir.spotting.timeline import Movement

OVERLAP = 0.5  # intersection over union of two intervals from which they are the same movement
IDLE = ("still", "blinking", "turning")


@dataclass
class Tally:
    """Counts over many clips."""

    truths: int = 0
    found: int = 0
    hits: int = 0
    apex_errors: list[float] = field(default_factory=list)  # frames, of the hits
    apex_seconds: list[float] = field(default_factory=list)
    alarms: dict[str, int] = field(default_factory=lambda: dict.fromkeys(IDLE, 0))
    minutes: dict[str, float] = field(default_factory=lambda: dict.fromkeys(IDLE, 0.0))
    missed: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, object]:
        """The measures: recall and precision at IoU 0.5, apex error, false alarms a minute by kind of clip."""
        errors, seconds = np.array(self.apex_errors or [np.nan]), np.array(self.apex_seconds or [np.nan])
        return {
            "movements": self.truths,
            "recall": self.hits / max(self.truths, 1),
            "precision": self.hits / max(self.found, 1),
            "apex_error_frames": {"mean": float(errors.mean()), "median": float(np.median(errors))},
            "apex_error_ms": {"mean": 1000 * float(seconds.mean()), "median": 1000 * float(np.median(seconds))},
            "false_alarms": dict(self.alarms),
            "false_alarms_per_minute": {
                kind: self.alarms[kind] / minutes for kind, minutes in self.minutes.items() if minutes
            },
            "idle_minutes": {kind: round(minutes, 3) for kind, minutes in self.minutes.items()},
            "missed": self.missed,
        }


def measure(
    clips: Sequence[Clip], settings: SpottingSettings | None = None, progress: Progress | None = None
) -> dict[str, object]:
    """Spot every clip and compare with its annotation."""
    settings, progress, tally = settings or SpottingSettings(), progress or Silent(), Tally()
    progress.start("spotting", len(clips))
    for clip in clips:
        assert clip.frames is not None, "load_corpus finds the frames"
        with open_frames(clip.frames) as frames, one_thread():
            fps = clip.fps or frames.fps or 100.0
            found = spot(frames, fps=fps, settings=settings).movements
            length = len(frames) / fps
        compare(clip, found, length, fps, tally)
        progress.advance(note=clip.key)
    progress.finish()
    return tally.to_dict()


def compare(clip: Clip, found: Sequence[Movement], seconds: float, fps: float, tally: Tally) -> None:
    """Add one clip to the tally."""
    tally.found += len(found)
    kind = clip.extra.get("kind", "")
    if kind in IDLE:
        tally.minutes[kind] += seconds / 60
        tally.alarms[kind] += len(found)
        return
    assert clip.onset is not None and clip.offset is not None, "load_corpus fills them in"
    truth = (clip.onset, clip.offset)
    tally.truths += 1
    best = max(found, key=lambda each: overlap(truth, (each.onset, each.offset)), default=None)
    if best is None or overlap(truth, (best.onset, best.offset)) < OVERLAP:
        tally.missed.append(clip.key)
        return
    tally.hits += 1
    if clip.apex is not None:
        tally.apex_errors.append(abs(best.apex - clip.apex))
        tally.apex_seconds.append(abs(best.apex - clip.apex) / fps)


def overlap(one: tuple[int, int], other: tuple[int, int]) -> float:
    """Intersection over union of two intervals of frames, both ends included.

    >>> overlap((1, 10), (6, 15))
    0.3333333333333333
    """
    shared = min(one[1], other[1]) - max(one[0], other[0]) + 1
    union = max(one[1], other[1]) - min(one[0], other[0]) + 1
    return max(shared, 0) / union


def main(arguments: Iterable[str] | None = None) -> None:
    """Measure one corpus and write the result to stdout as JSON."""
    parser = argparse.ArgumentParser(prog="python -m epir.bench.spotting", description=measure.__doc__)
    parser.add_argument("corpus", help="synthetic, casme2, ...")
    parser.add_argument("root")
    options = parser.parse_args(None if arguments is None else list(arguments))
    result = measure(load_corpus(options.corpus, options.root).clips)
    sys.stdout.write(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
