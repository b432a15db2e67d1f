"""Warnings about the input that make an answer less reliable."""

from collections.abc import Sequence

from epir.faces.face import LEAST_FACE, RELIABLE_FACE
from epir.faces.tracking import TOO_SMALL, Gap
from epir.frames.pace import Pace
from epir.frames.reader import ASSUMED_RATE

LOW_RATE = 50.0  # frames a second: below this, a movement may span two frames or fewer
STRONG_HEAD = 0.04  # share of the face's width, between onset and apex
HARDLY_MOVED = 0.002  # share of the face's width: the level of noise
LEAST_GAP = 0.25  # seconds: shorter gaps are not reported
MOST_GAPS = 3  # gaps that are listed


def frame_rate_warnings(fps: float | None) -> list[str]:
    """Warn about a low or an unknown (None) frame rate."""
    if fps is None:
        return [f"the frame rate is unknown: {ASSUMED_RATE:g} frames a second assumed (set it with --fps)"]
    if fps < LOW_RATE:
        return [
            f"the frame rate is low: at {fps:.3g} frames a second (under {LOW_RATE:g}) brief movements span few frames"
        ]
    return []


def pace_warnings(pace: Pace, varying: tuple[float, float] | None) -> list[str]:
    """Warn about repeated frames, and about a frame rate that varies within the range `varying`."""
    warnings = []
    if pace.repeats:
        warnings.append(
            f"frames repeat: of {pace.stored:.4g} frames a second the camera took {pace.fps:.3g}; "
            "the copies were ignored"
        )
    if varying is not None:
        warnings.append(
            f"the frame rate varies from {varying[0]:.3g} to {varying[1]:.3g} frames a second: "
            "the time stamp of each frame was used"
        )
    return warnings


def face_warnings(width: float, faces: int) -> list[str]:
    """Warn about a small face (width in px between the temples) and about other people."""
    warnings = []
    if width < RELIABLE_FACE:
        warnings.append(
            f"the face is small: {width:.0f} px between the temples; answers are less reliable below "
            f"{RELIABLE_FACE:.0f} px and impossible below {LEAST_FACE:.0f} px"
        )
    if faces > 1:
        warnings.append(f"there are several faces: {faces} detected, one analysed (--faces all analyses every face)")
    return warnings


def gap_warnings(gaps: Sequence[Gap], least_face: float) -> list[str]:
    """Warn about the parts of a video without a usable face."""
    long = [gap for gap in gaps if gap.last_s - gap.first_s >= LEAST_GAP]
    warnings = [_gap_warning(gap, least_face) for gap in long[:MOST_GAPS]]
    if len(long) > MOST_GAPS:
        warnings.append(f"{len(long) - MOST_GAPS} more parts of the video have no usable face")
    return warnings


def motion_warnings(head: float, skin: float) -> list[str]:
    """Warn about strong head motion or a still face between onset and apex; both are shares of the face's width."""
    warnings = []
    if head > STRONG_HEAD:
        warnings.append(f"the head moves strongly: by {100 * head:.0f} % of the face between onset and apex")
    if skin < HARDLY_MOVED:
        warnings.append("the face hardly moves between onset and apex: the answer rests on noise")
    return warnings


def _gap_warning(gap: Gap, least_face: float) -> str:
    where = f"from {gap.first_s:.1f} to {gap.last_s:.1f} s (frames {gap.first} to {gap.last})"
    if gap.reason == TOO_SMALL and gap.width is not None:
        return too_small_warning(gap.width, least_face, f" {where}")
    return f"no face {where}"


def too_small_warning(width: float, least_face: float, where: str = "") -> str:
    """Say that a face is too small for an answer."""
    return f"face too small{where}: {width:.0f} px between the temples; at least {least_face:.0f} px are needed"
