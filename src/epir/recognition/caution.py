"""What the user should know before believing an answer, in plain words."""

from collections.abc import Sequence

from epir.faces.tracking import TOO_SMALL, Gap
from epir.frames.pace import Pace
from epir.frames.reader import ASSUMED_RATE
from epir.recognition.settings import RecognitionSettings

SLOWEST_MEASURED = 25.0  # frames a second of the slowest film in which known movements were looked for


def about_rate(fps: float | None, settings: RecognitionSettings) -> list[str]:
    """Words about the frame rate; None where it is not known."""
    if fps is None:
        return [f"the frame rate is not known: {ASSUMED_RATE:g} frames a second were assumed (say --fps)"]
    if fps < settings.low_rate:
        return [
            f"the frame rate is low: at {fps:.3g} frames a second, under {settings.low_rate:g}, "
            f"a micro-expression may span two frames or fewer{_measured(fps)}"
        ]
    return []


def _measured(fps: float) -> str:
    """What a low rate costs, as measured on stills and on synthetic people (docs/spotting.md)."""
    if round(fps) < SLOWEST_MEASURED:
        return f"; how many are missed below {SLOWEST_MEASURED:g} was not measured"
    return (
        "; on a face at rest none of 25 was missed for it, and in moving synthetic people as many were found "
        "at 25 as at 50 (about half)"
    )


def about_pace(pace: Pace, varying: tuple[float, float] | None) -> list[str]:
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


def about_face(width: float, faces: int, settings: RecognitionSettings) -> list[str]:
    """Words about the width of the face in px and about other people."""
    words = []
    if width < settings.small_face:
        words.append(f"the face is small: {width:.0f} px wide, where {settings.small_face:.0f} px or more are needed")
    if faces > 1:
        words.append(f"there are several faces: {faces} were seen, and one was looked at (--faces all looks at each)")
    return words


def about_gaps(gaps: Sequence[Gap], least_face: float, settings: RecognitionSettings) -> list[str]:
    """Words about the parts of a video without a face that could be used."""
    told = [gap for gap in gaps if gap.last_s - gap.first_s >= settings.least_gap]
    words = [_gap(gap, least_face) for gap in told[: settings.most_notes]]
    if len(told) > settings.most_notes:
        words.append(f"there are {len(told) - settings.most_notes} more parts without a face that could be used")
    return words


def about_motion(head: float, skin: float, settings: RecognitionSettings) -> list[str]:
    """Words about the motion between onset and apex, both as shares of the face's width."""
    words = []
    if head > settings.strong_head:
        words.append(f"the head moves strongly: by {100 * head:.0f} % of the face between onset and apex")
    if skin < settings.hardly_moved:
        words.append("the face hardly moves between onset and apex: the answer rests on noise")
    return words


def _gap(gap: Gap, least_face: float) -> str:
    where = f"from {gap.first_s:.1f} to {gap.last_s:.1f} s (frames {gap.first} to {gap.last})"
    if gap.reason == TOO_SMALL and gap.width is not None:
        return f"{too_small(gap.width, least_face)}, {where}"
    return f"no face {where}"


def too_small(width: float, least_face: float) -> str:
    """Words about a face of which nothing can be said."""
    return f"face too small: {width:.0f} px between the temples, where {least_face:.0f} px or more are needed"
