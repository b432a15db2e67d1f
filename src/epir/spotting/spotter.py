"""Spot the movements of tracked faces as soon as they are certain, and record the timeline of the whole video.

Faces of one person without a gap form a run. A run is judged in blocks: the movements of a block are certain once the
two seconds after it have been seen. Only a few numbers per frame and a window of a few seconds are kept.

Axes: n frames or instants, R regions, G groups of regions, M head motions
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from epir.core.errors import FaceNotFound, FrameError
from epir.core.words import counted
from epir.faces.align import Crop
from epir.faces.face import LEAST_FACE, TrackingSettings
from epir.faces.tracking import FaceTracker, TrackedFace
from epir.frames.reader import Frame
from epir.spotting import decision
from epir.spotting.candidates import LASTING, LASTING_APART, LEAST, Candidate, find_candidates
from epir.spotting.decision import SpottingSettings
from epir.spotting.measure import FaceMeasure, Motion, MotionSample
from epir.spotting.regions import GROUPS, REGIONS, members, named
from epir.spotting.timeline import BLINK, INSIDE_MACRO, MACRO, MICRO_EXPRESSION, FaceMovement, Timeline, longest_gap

FASTEST = 100.0  # maximum instants per second; the frames of faster cameras are averaged
BLOCK = 2.0  # seconds that are judged at once
AHEAD, BEHIND = 2.0, 6.0  # seconds after and before a block that are taken into account
MACRO_DELAY = 2.0  # seconds by which macro-expressions are judged later
MACRO_SLACK = 0.5  # seconds before their block, as an apex may move to an earlier frame with more of the video seen
MACRO_RATE = 15.0  # maximum instants per second for macro-expressions
NEAR = 0.3  # share of the face's width: a new crop farther away belongs to another face
OTHER_SIZE = 1.33  # ratio of sides: a larger change belongs to another face
CUT = 30.0  # grey levels of mismatch above which the scene has changed
EDGE = 0.1  # seconds at either end of a run within a video that cannot be judged
PIECES = ("too long", "return of an expression", "unclear")  # reasons that reject parts of a macro-expression
RECENT = 20  # latest candidates, which the next block may measure again


@dataclass
class FaceRun:
    """The samples of one face without a gap; everything before `judged` seconds is decided."""

    measure: FaceMeasure
    samples: list[MotionSample]
    faces: list[tuple[int, int, Crop]]  # track, segment and crop of each sample
    judged: float
    from_start: bool  # whether it begins with the video


class Spotter:
    """Takes the tracked faces of one person and returns movements; `close` returns the last ones."""

    def __init__(self, settings: SpottingSettings, fps: float) -> None:
        if not np.isfinite(fps) or fps <= 0:
            raise FrameError(
                f"{fps} frames a second is not a frame rate", fix="give the rate of the camera, such as --fps 100"
            )
        self.settings, self.fps = settings, fps
        self.rate = min(fps, FASTEST)
        self._run: FaceRun | None = None
        self._movements: list[FaceMovement] = []
        self._others: list[FaceMovement] = []
        self._macros: list[FaceMovement] = []
        self._candidates: list[FaceMovement] = []
        self._new: list[FaceMovement] = []  # candidates since the last `take_candidates`
        self._stamps: list[tuple[int, float]] = []
        self._motion: list[np.ndarray] = []  # (n, G + 1) of each block: groups, head
        self._skin: list[np.ndarray] = []  # (n, R) of each block: distance of each region from its resting position
        self._squares: list[Crop] = []  # of each frame

    def push(self, tracked: TrackedFace) -> list[FaceMovement]:
        """Take the face of the next frame and return the micro-expressions that have become certain."""
        certain: list[FaceMovement] = []
        run = self._run
        if run is not None and not _continues(run, tracked, self.fps):
            certain, run = self._judge(run, ended=True), None
        if run is None:
            run = _begin(tracked, from_start=not self._stamps)
        sample = run.measure.push(tracked.number, tracked.seconds, tracked.face, tracked.crop)
        if sample.mismatch > CUT:
            certain += self._judge(run, ended=True)
            run = _begin(tracked, from_start=False)
            sample = run.measure.push(tracked.number, tracked.seconds, tracked.face, tracked.crop)
        self._run = run
        run.samples.append(sample)
        run.faces.append((tracked.track, tracked.segment, tracked.crop))
        if tracked.seconds - run.judged >= BLOCK + AHEAD:
            certain += self._judge(run)
        return certain

    def close(self) -> list[FaceMovement]:
        """Return the micro-expressions of the last seconds."""
        run, self._run = self._run, None
        return [] if run is None else self._judge(run, ended=True, at_end=True)

    def take_candidates(self) -> list[FaceMovement]:
        """The candidates judged since the last call; `timeline` may still change their kind."""
        new, self._new = self._new, []
        return new

    def timeline(self) -> Timeline:
        """Everything so far."""
        motion = np.concatenate([*self._motion, np.zeros((0, len(GROUPS) + 1), np.float32)])
        stamps = np.array(self._stamps, dtype=float).reshape(-1, 2)
        return Timeline(
            fps=self.fps,
            numbers=stamps[:, 0].astype(int),
            stamps=stamps[:, 1],
            motion=motion[:, :-1],
            skin=np.concatenate([*self._skin, np.zeros((0, len(REGIONS)), np.float32)]),
            head=motion[:, -1],
            squares=tuple(self._squares),
            movements=tuple(self._movements),
            others=_by_time(self._others, self._macros),
            candidates=_labelled(self._candidates, self._macros),
            level=LEAST,
        )

    def _judge(self, run: FaceRun, *, ended: bool = False, at_end: bool = False) -> list[FaceMovement]:
        """Judge the next block of a run, or the rest of it if it has `ended`; `at_end` of the video."""
        if not run.samples:
            return []
        until = np.inf if ended else run.judged + BLOCK
        times = np.array([each.seconds for each in run.samples])
        first = int(np.searchsorted(times, run.judged - BEHIND))
        near = replace(
            run, samples=run.samples[first:], faces=run.faces[first:], from_start=run.from_start and not first
        )
        motion = resampled(near.samples, self.rate)
        block = ((run.judged - times[first]) * self.rate, (until - times[first]) * self.rate)
        candidates = find_candidates(motion, self.rate, within=block)
        low = 1 if near.from_start else EDGE * self.rate  # a movement at the first frame began before it
        high = len(motion.skin) - 1 - (0 if at_end or not ended else EDGE * self.rate)
        candidates = [each for each in candidates if each.onset >= low and each.offset <= high]
        blinks = [each for each in candidates if decision.is_blink(each)]
        inside = [each for each in candidates if run.judged <= times[first] + each.apex / self.rate < until]
        decided = [self._decide(near, each, blinks) for each in inside]
        known = [each for each in decided if each is not None]
        reported = _without_overlap([each for _, each in known if not each.reason], self._movements)
        rejected = sorted((each for each in known if each[1].reason), key=lambda each: each[0], reverse=True)
        self._movements += reported
        earlier = [*reported, *self._others[-3:]]
        self._others += _without_overlap([each for _, each in rejected], earlier, in_order=True)
        ranked = sorted((each for _, each in known if each.kind != BLINK), key=lambda each: -each.probability)
        self._candidates = _with_candidates(self._candidates, reported, ranked)
        kept = set(map(id, self._candidates))
        self._new += [each for each in ranked if id(each) in kept]
        self._macros += self._find_macros(run, until)
        self._keep_motion(near, times[first:], motion, until)
        run.judged = min(until, float(times[-1]) + 1 / self.fps)
        first = int(np.searchsorted(times, run.judged - MACRO_DELAY - BEHIND))
        del run.samples[:first], run.faces[:first]
        if first:
            run.from_start = False
        return reported

    def _decide(
        self, run: FaceRun, candidate: Candidate, blinks: list[Candidate]
    ) -> tuple[tuple[float, float], FaceMovement] | None:
        """The movement and its rank among rejected ones; those that a rule rejects come last."""
        verdict = decision.judge(candidate, blinks, self.rate, self.settings)
        movement = _movement(run, candidate, verdict.reason or MICRO_EXPRESSION, verdict.probability, self.rate)
        if movement is None:
            return None
        rank = 0.0 if verdict.by_rule else verdict.probability, movement.strength
        return rank, replace(movement, measures=verdict.measures)

    def _find_macros(self, run: FaceRun, until: float) -> list[FaceMovement]:
        """The macro-expressions of the block `MACRO_DELAY` seconds earlier."""
        rate, start = min(self.rate, MACRO_RATE), run.samples[0].seconds
        block = ((run.judged - MACRO_DELAY - start) * rate, (until - MACRO_DELAY - start) * rate)
        motion = resampled(run.samples, rate)
        candidates = find_candidates(motion, rate, LASTING, LASTING_APART, within=block, whole=False)
        macros = [each for each in candidates if decision.is_macro(each, rate, self.settings)]
        since = run.judged - MACRO_DELAY - MACRO_SLACK
        inside = [each for each in macros if since <= start + each.apex / rate < until - MACRO_DELAY]
        movements = [_movement(run, each, MACRO, 0.0, rate) for each in inside]
        known = [*self._movements, *self._macros[-3:]]
        return _without_overlap([each for each in movements if each is not None], known)

    def _keep_motion(self, run: FaceRun, times: np.ndarray, motion: Motion, until: float) -> None:
        """Record a few numbers for every frame of the judged block."""
        skin, head = motion.skin, motion.head
        now = (times >= run.judged) & (times < until)
        places = np.clip(np.round((times[now] - times[0]) * self.rate).astype(int), 0, len(skin) - 1)
        away = skin[places] - np.median(skin, axis=0)  # (n, R, 2)
        lengths = np.hypot(away[..., 0], away[..., 1])
        groups = [lengths[:, members(name)].max(axis=1) for name in GROUPS]
        turned = np.abs(head[places] - np.median(head, axis=0)).max(axis=1)
        self._motion.append(np.stack([*groups, turned], axis=1).astype(np.float32))
        self._skin.append(lengths.astype(np.float32))
        self._stamps += [(each.number, each.seconds) for each, kept in zip(run.samples, now, strict=True) if kept]
        self._squares += [crop for (_, _, crop), kept in zip(run.faces, now, strict=True) if kept]


def spot_frames(frames: Iterable[Frame], *, fps: float, settings: SpottingSettings | None = None) -> Timeline:
    """Spot the micro-expressions in frames, and return them with the motion of the face.

    `with open_frames("interview.mp4") as frames: timeline = epir.spot_frames(frames, fps=frames.fps)`, then
    `timeline.movements`. `Recognizer.predict` spots by itself.

    >>> from epir.faces.face import FaceSettings
    >>> still = [Frame(number, number / 50, np.full((200, 200, 3), 99, np.uint8)) for number in range(50)]
    >>> whole = SpottingSettings(face=FaceSettings(detector="none"))  # the face fills the frame
    >>> len(spot_frames(still, fps=50, settings=whole).movements)
    0
    """
    settings = settings or SpottingSettings()
    spotter, tracker = Spotter(settings, fps), FaceTracker(TrackingSettings(settings.face, settings.size), fps)
    for face in tracker.follow(frames):
        spotter.push(face)
    spotter.close()
    if not tracker.crops:
        raise FaceNotFound(
            f"no face was found in {counted(tracker.frames, 'frame')}",
            fix="use a video with a lit face, turned to the camera and at least "
            f"{LEAST_FACE:.0f} px wide between the temples",
        )
    return spotter.timeline()


def resampled(samples: list[MotionSample], rate: float) -> Motion:
    """The samples of a run at `rate` evenly spaced instants per second."""
    times = np.array([each.seconds for each in samples])
    rows = [np.concatenate([each.skin.ravel(), each.head, [each.mismatch, each.light]]) for each in samples]
    values = np.array(rows, np.float64)
    measured = (len(times) - 1) / max(times[-1] - times[0], 1e-9) if len(times) > 1 else rate
    width = max(1, round(measured / rate))
    if width > 1:  # a moving average uses every frame of a fast camera
        padded = np.pad(values, ((width // 2, width - 1 - width // 2), (0, 0)), mode="edge")
        sums = np.cumsum(np.vstack([np.zeros(values.shape[1]), padded]), axis=0)
        values = (sums[width:] - sums[:-width]) / width
    instants = times[0] + np.arange(round((times[-1] - times[0]) * rate) + 1) / rate
    right = np.clip(np.searchsorted(times, instants), 1, max(len(times) - 1, 1))
    if len(times) > 1:
        left = right - 1
        share = np.clip((instants - times[left]) / np.maximum(times[right] - times[left], 1e-9), 0, 1)[:, None]
        values = values[left] * (1 - share) + values[right] * share
    split = 2 * len(REGIONS)
    skin = values[:, :split].reshape(len(values), -1, 2)
    return Motion(skin, values[:, split:-2], values[:, -2], values[:, -1])


def _begin(tracked: TrackedFace, *, from_start: bool) -> FaceRun:
    return FaceRun(FaceMeasure(tracked.face.shape[0]), [], [], tracked.seconds, from_start)


def _continues(run: FaceRun, tracked: TrackedFace, fps: float) -> bool:
    """Whether a face continues a run: the same person, soon after, nearby and of similar size."""
    track, _, crop = run.faces[-1]
    return (
        tracked.track == track
        and 0 < tracked.seconds - run.samples[-1].seconds <= longest_gap(fps)
        and float(np.hypot(tracked.crop.x - crop.x, tracked.crop.y - crop.y)) < NEAR * crop.side
        and 1 / OTHER_SIZE < tracked.crop.side / crop.side < OTHER_SIZE
    )


def _movement(run: FaceRun, candidate: Candidate, kind: str, probability: float, rate: float) -> FaceMovement | None:
    """The candidate in frame numbers; None if the run has too few frames around it."""
    times = np.array([each.seconds for each in run.samples])
    onset, apex, offset = (
        int(np.abs(times - (times[0] + place / rate)).argmin())
        for place in (candidate.onset, candidate.apex, candidate.offset)
    )
    onset, offset = min(onset, apex - 2), max(offset, apex + 1)
    if onset < int(run.from_start) or offset >= len(times):
        return None
    lengths = candidate.lengths
    place = decision.where(candidate)
    region = REGIONS[place]
    track, segment, crop = run.faces[apex]
    same = lengths[named(region.name)]
    both = len(same) > 1 and float(same.min()) > 0.4 * float(same.max())
    return FaceMovement(
        onset=run.samples[onset].number,
        apex=run.samples[apex].number,
        offset=run.samples[offset].number,
        strength=float(lengths[place]),
        region=region.group,
        kind=kind,
        head=float(np.abs(candidate.head).max()),
        crop=crop,
        side="both" if both else region.side,
        probability=probability,
        seconds=(float(times[onset]), float(times[apex]), float(times[offset])),
        track=track,
        segment=segment,
    )


def _without_overlap(
    movements: list[FaceMovement], known: list[FaceMovement], *, in_order: bool = False
) -> list[FaceMovement]:
    """The movements by time, without those that overlap a known or a preferred one.

    More probable movements are preferred, or earlier ones in the list with `in_order`.
    """
    kept: list[FaceMovement] = []
    for each in movements if in_order else sorted(movements, key=lambda each: (-each.probability, -each.strength)):
        if not any(each.onset <= other.offset and other.onset <= each.offset for other in [*known, *kept]):
            kept.append(each)
    return sorted(kept, key=lambda movement: movement.apex)


def _by_time(others: list[FaceMovement], macros: list[FaceMovement]) -> tuple[FaceMovement, ...]:
    """Rejected movements and macro-expressions, without the pieces of the latter: rise, return and tremor."""
    kept = [each for each in others if not _is_piece(each, macros)]
    return tuple(sorted([*kept, *macros], key=lambda movement: movement.onset))


def _labelled(candidates: list[FaceMovement], macros: list[FaceMovement]) -> tuple[FaceMovement, ...]:
    """The candidates by time; pieces of a macro-expression are labelled as such."""
    labelled = [replace(each, kind=INSIDE_MACRO) if _is_piece(each, macros) else each for each in candidates]
    return tuple(sorted(labelled, key=lambda movement: movement.onset))


def _is_piece(movement: FaceMovement, macros: list[FaceMovement]) -> bool:
    return movement.kind in PIECES and any(whole.onset <= movement.apex <= whole.offset for whole in macros)


def _with_candidates(
    known: list[FaceMovement], reported: list[FaceMovement], ranked: list[FaceMovement]
) -> list[FaceMovement]:
    """The known candidates plus those of another block, each movement once: as reported, else as most probable."""
    old, kept = known[:-RECENT], known[-RECENT:]
    kept = [each for each in kept if not each.reason or not any(_are_same(each, other) for other in reported)]
    kept += reported
    for each in ranked:
        if not any(_are_same(each, other) for other in kept):
            kept.append(each)
    return old + kept


def _are_same(one: FaceMovement, other: FaceMovement) -> bool:
    """Whether two candidates are the same movement: the apex of either lies within the other."""
    return one.onset <= other.apex <= one.offset or other.onset <= one.apex <= other.offset
