"""Tracked faces one after the other -> movements as soon as they are certain, and the timeline of the whole.

Faces of one person without a gap make up a run. A run is judged in blocks: the movements of a block are certain once
the two seconds after it have been seen. Kept are a few numbers a frame, and the working window of a few seconds.

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
from epir.spotting.timeline import BLINK, INSIDE_MACRO, MACRO, MICRO_EXPRESSION, FaceMovement, Timeline

FASTEST = 100.0  # instants a second at which movements are looked for; faster cameras are averaged
BLOCK = 2.0  # seconds that are judged at once
AHEAD, BEHIND = 2.0, 6.0  # seconds after and before a block that are looked at
LATER = 2.0  # seconds: so much later expressions that last are judged
SLACK = 0.5  # seconds before such a block: with more of the video seen, an apex may lie a little earlier
SLOWEST = 15.0  # instants a second at which these are looked for
GAP = 0.15  # seconds without a face that break a run
NEAR = 0.3  # of the face: a new crop that lies farther away is another face
OTHER_SIZE = 1.33
CUT = 30.0  # grey levels of mismatch: another scene
EDGE = 0.1  # seconds at the end of a run within a video in which nothing can be judged
PIECES = ("too long", "return of an expression", "unclear")  # how rise and return of what lasts are rejected
RECENT = 20  # latest candidates, which the next block may measure again


@dataclass
class FaceRun:
    """The samples of one face without a gap; `judged` seconds have been decided."""

    measure: FaceMeasure
    samples: list[MotionSample]
    faces: list[tuple[int, int, Crop]]  # track, segment and crop of each sample
    judged: float
    from_start: bool  # of the video: then nothing is known before its first frame


class Spotter:
    """Takes tracked faces and gives movements; `close` gives the last ones."""

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
        self._new: list[FaceMovement] = []  # candidates that nobody has taken yet
        self._stamps: list[tuple[int, float]] = []
        self._motion: list[np.ndarray] = []  # (n, G + 1) of each block: groups, head
        self._skin: list[np.ndarray] = []  # (n, R) of each block: how far each region is from its rest
        self._squares: list[Crop] = []  # of each frame

    def push(self, tracked: TrackedFace) -> list[FaceMovement]:
        """Take the face of the next frame; gives the micro-expressions that have become certain."""
        certain: list[FaceMovement] = []
        run = self._run
        if run is not None and not _goes_on(run, tracked, self.fps):
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
        """The micro-expressions of the frames whose followers never came."""
        run, self._run = self._run, None
        return [] if run is None else self._judge(run, ended=True, at_end=True)

    def take_candidates(self) -> list[FaceMovement]:
        """The candidates that were judged since the last call; `timeline` says what became of them."""
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
        """Decide the next block of a run, or all that is left of it."""
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
        low = 1 if near.from_start else EDGE * self.rate  # what begins with the first frame began before it
        high = len(motion.skin) - 1 - (0 if at_end or not ended else EDGE * self.rate)
        candidates = [each for each in candidates if each.onset >= low and each.offset <= high]
        blinks = [each for each in candidates if decision.is_blink(each)]
        inside = [each for each in candidates if run.judged <= times[first] + each.apex / self.rate < until]
        decided = [self._decide(near, each, blinks) for each in inside]
        known = [each for each in decided if each is not None]
        chosen = _apart([each for _, each in known if not each.reason], self._movements)
        rejected = sorted((each for each in known if each[1].reason), key=lambda each: each[0], reverse=True)
        self._movements += chosen
        self._others += _apart([each for _, each in rejected], [*chosen, *self._others[-3:]], in_order=True)
        ranked = sorted((each for _, each in known if each.kind != BLINK), key=lambda each: -each.probability)
        self._candidates = _with_candidates(self._candidates, chosen, ranked)
        kept = set(map(id, self._candidates))
        self._new += [each for each in ranked if id(each) in kept]
        self._macros += self._lasting(run, until)
        self._keep_motion(near, times[first:], motion, until)
        run.judged = min(until, float(times[-1]) + 1 / self.fps)
        first = int(np.searchsorted(times, run.judged - LATER - BEHIND))
        del run.samples[:first], run.faces[:first]
        if first:
            run.from_start = False
        return chosen

    def _decide(
        self, run: FaceRun, candidate: Candidate, blinks: list[Candidate]
    ) -> tuple[tuple[float, float], FaceMovement] | None:
        """The movement, and its rank among those that are rejected: what a rule rejects comes last."""
        verdict = decision.judge(candidate, blinks, self.rate, self.settings)
        movement = _movement(run, candidate, verdict.reason or MICRO_EXPRESSION, verdict.probability, self.rate)
        if movement is None:
            return None
        rank = 0.0 if verdict.by_rule else verdict.probability, movement.strength
        return rank, replace(movement, measures=verdict.measures)

    def _lasting(self, run: FaceRun, until: float) -> list[FaceMovement]:
        """The macro-expressions of a block that is `LATER` seconds back."""
        rate, start = min(self.rate, SLOWEST), run.samples[0].seconds
        block = ((run.judged - LATER - start) * rate, (until - LATER - start) * rate)
        motion = resampled(run.samples, rate)
        candidates = find_candidates(motion, rate, LASTING, LASTING_APART, within=block, whole=False)
        macros = [each for each in candidates if decision.is_macro(each, rate, self.settings)]
        since = run.judged - LATER - SLACK
        inside = [each for each in macros if since <= start + each.apex / rate < until - LATER]
        movements = [_movement(run, each, MACRO, 0.0, rate) for each in inside]
        return _apart([each for each in movements if each is not None], [*self._movements, *self._macros[-3:]])

    def _keep_motion(self, run: FaceRun, times: np.ndarray, motion: Motion, until: float) -> None:
        """A few numbers for every frame of the block that was judged."""
        skin, head = motion.skin, motion.head
        now = (times >= run.judged) & (times < until)
        rest = np.median(skin, axis=0), np.median(head, axis=0)
        places = np.clip(np.round((times[now] - times[0]) * self.rate).astype(int), 0, len(skin) - 1)
        away = skin[places] - rest[0]  # (n, R, 2)
        lengths = np.hypot(away[..., 0], away[..., 1])
        groups = [lengths[:, members(name)].max(axis=1) for name in GROUPS]
        turned = np.abs(head[places] - rest[1]).max(axis=1)
        self._motion.append(np.stack([*groups, turned], axis=1).astype(np.float32))
        self._skin.append(lengths.astype(np.float32))
        self._stamps += [(each.number, each.seconds) for each, kept in zip(run.samples, now, strict=True) if kept]
        self._squares += [crop for (_, _, crop), kept in zip(run.faces, now, strict=True) if kept]


def spot_frames(frames: Iterable[Frame], *, fps: float, settings: SpottingSettings | None = None) -> Timeline:
    """The micro-expressions among frames, and the motion they were found in.

    `with open_frames("interview.mp4") as frames: timeline = epir.spot_frames(frames, fps=frames.fps)`, then
    `timeline.movements`. `Recognizer.predict` spots by itself.

    >>> from epir.faces.face import FaceSettings
    >>> still = [Frame(number, number / 50, np.full((200, 200, 3), 99, np.uint8)) for number in range(50)]
    >>> whole = SpottingSettings(face=FaceSettings(detector="none"))  # the frames show nothing but the face
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
            fix="look at the video: the face should be lit, turned to the camera and at least "
            f"{LEAST_FACE:.0f} px wide between the temples",
        )
    return spotter.timeline()


def resampled(samples: list[MotionSample], rate: float) -> Motion:
    """The samples of a run at `rate` even instants a second."""
    times = np.array([each.seconds for each in samples])
    rows = [np.concatenate([each.skin.ravel(), each.head, [each.mismatch, each.light]]) for each in samples]
    values = np.array(rows, np.float64)
    measured = (len(times) - 1) / max(times[-1] - times[0], 1e-9) if len(times) > 1 else rate
    width = max(1, round(measured / rate))
    if width > 1:  # a moving mean, so that no frame of a fast camera is passed over
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


def _goes_on(run: FaceRun, tracked: TrackedFace, fps: float) -> bool:
    """Whether a face belongs to a run: the same person, soon after, near by."""
    track, _, crop = run.faces[-1]
    return (
        tracked.track == track
        and 0 < tracked.seconds - run.samples[-1].seconds <= max(GAP, 2.5 / fps)
        and float(np.hypot(tracked.crop.x - crop.x, tracked.crop.y - crop.y)) < NEAR * crop.side
        and 1 / OTHER_SIZE < tracked.crop.side / crop.side < OTHER_SIZE
    )


def _movement(run: FaceRun, candidate: Candidate, kind: str, probability: float, rate: float) -> FaceMovement | None:
    """The candidate in frame numbers; None where its frames are too few."""
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


def _apart(movements: list[FaceMovement], known: list[FaceMovement], *, in_order: bool = False) -> list[FaceMovement]:
    """Those that overlap with none that is known or comes before (is more probable, unless in order), by time."""
    kept: list[FaceMovement] = []
    for each in movements if in_order else sorted(movements, key=lambda each: (-each.probability, -each.strength)):
        taken = [*known, *kept]
        if not any(each.onset <= other.offset and other.onset <= each.offset for other in taken):
            kept.append(each)
    return sorted(kept, key=lambda movement: movement.apex)


def _by_time(others: list[FaceMovement], macros: list[FaceMovement]) -> tuple[FaceMovement, ...]:
    """What was rejected and what lasts, without the pieces of what lasts: its rise, its return, its tremble."""
    kept = [each for each in others if not _is_piece(each, macros)]
    return tuple(sorted([*kept, *macros], key=lambda movement: movement.onset))


def _labelled(candidates: list[FaceMovement], macros: list[FaceMovement]) -> tuple[FaceMovement, ...]:
    """The candidates by time; pieces of what lasts are labelled as such."""
    labelled = [replace(each, kind=INSIDE_MACRO) if _is_piece(each, macros) else each for each in candidates]
    return tuple(sorted(labelled, key=lambda movement: movement.onset))


def _is_piece(movement: FaceMovement, macros: list[FaceMovement]) -> bool:
    return movement.kind in PIECES and any(whole.onset <= movement.apex <= whole.offset for whole in macros)


def _with_candidates(
    known: list[FaceMovement], chosen: list[FaceMovement], ranked: list[FaceMovement]
) -> list[FaceMovement]:
    """The candidates with those of another block: each movement once, as it is reported or most probable."""
    old, kept = known[:-RECENT], known[-RECENT:]
    kept = [each for each in kept if not each.reason or not any(_are_one(each, other) for other in chosen)] + chosen
    for each in ranked:
        if not any(_are_one(each, other) for other in kept):
            kept.append(each)
    return old + kept


def _are_one(one: FaceMovement, other: FaceMovement) -> bool:
    """Whether two measures are of one movement: the apex of either lies within the other."""
    return one.onset <= other.apex <= one.offset or other.onset <= one.apex <= other.offset
