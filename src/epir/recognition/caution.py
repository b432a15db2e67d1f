"""What the user should know before believing an answer, in plain words."""

from collections.abc import Sequence

from epir.faces.face import LEAST_FACE, RELIABLE_FACE
from epir.faces.tracking import TOO_SMALL, Gap
from epir.frames.pace import Pace
from epir.frames.reader import ASSUMED_RATE

LOW_RATE = 50.0  # frames a second: below, a movement may span two frames or fewer
STRONG_HEAD = 0.04  # of the face, between onset and apex
HARDLY_MOVED = 0.002  # of the face: as much as noise
LEAST_GAP = 0.25  # seconds without a face that are worth a note
MOST_NOTES = 3  # about such gaps


def frame_rate_warnings(fps: float | None) -> list[str]:
    """Words about the frame rate; None where it is not known."""
    if fps is None:
        return [f"the frame rate is not known: {ASSUMED_RATE:g} frames a second were assumed (say --fps)"]
    if fps < LOW_RATE:
        return [
            f"the frame rate is low: at {fps:.3g} frames a second (under {LOW_RATE:g}) brief movements span few frames"
        ]
    return []


def pace_warnings(pace: Pace, varying: tuple[float, float] | None) -> list[str]:
    """Words about frames that repeat, and about a rate that varies."""
    words = []
    if pace.repeats:
        words.append(
            f"frames repeat: of {pace.stored:.4g} frames a second the camera took {pace.fps:.3g}, "
            "and the others were left out"
        )
    if varying is not None:
        words.append(
            f"the frame rate varies, from {varying[0]:.3g} to {varying[1]:.3g} frames a second: "
            "the time of each frame was used"
        )
    return words


def face_warnings(width: float, faces: int) -> list[str]:
    """Words about the width of the face, in px between the temples, and about other people."""
    words = []
    if width < RELIABLE_FACE:
        words.append(
            f"the face is small: {width:.0f} px between the temples; answers are less reliable below "
            f"{RELIABLE_FACE:.0f} px, and below {LEAST_FACE:.0f} px there are none"
        )
    if faces > 1:
        words.append(f"there are several faces: {faces} were seen, and one was looked at (--faces all looks at each)")
    return words


def gap_warnings(gaps: Sequence[Gap], least_face: float) -> list[str]:
    """Words about the parts of a video without a face that could be used."""
    told = [gap for gap in gaps if gap.last_s - gap.first_s >= LEAST_GAP]
    words = [_gap(gap, least_face) for gap in told[:MOST_NOTES]]
    if len(told) > MOST_NOTES:
        words.append(f"there are {len(told) - MOST_NOTES} more parts without a face that could be used")
    return words


def motion_warnings(head: float, skin: float) -> list[str]:
    """Words about the motion between onset and apex, both as shares of the face's width."""
    words = []
    if head > STRONG_HEAD:
        words.append(f"the head moves strongly: by {100 * head:.0f} % of the face between onset and apex")
    if skin < HARDLY_MOVED:
        words.append("the face hardly moves between onset and apex: the answer rests on noise")
    return words


def _gap(gap: Gap, least_face: float) -> str:
    where = f"from {gap.first_s:.1f} to {gap.last_s:.1f} s (frames {gap.first} to {gap.last})"
    if gap.reason == TOO_SMALL and gap.width is not None:
        return f"{too_small_warning(gap.width, least_face)}, {where}"
    return f"no face {where}"


def too_small_warning(width: float, least_face: float) -> str:
    """Words about a face of which nothing can be said."""
    return f"face too small: {width:.0f} px between the temples, where {least_face:.0f} px or more are needed"
