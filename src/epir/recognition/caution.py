"""What the user should know before believing an answer, in plain words."""

from epir.faces.align import Crop

LOW_RATE = 50.0  # frames a second
SMALL_FACE = 100.0  # px: below this the flow sees less than the map shows
STRONG_HEAD = 0.04  # of the face's width, between onset and apex
HARDLY_MOVED = 0.002  # of the face's width: as much as noise


def about_rate(fps: float | None, assumed: float) -> list[str]:
    """Words about the frame rate; None where it is not known."""
    if fps is None:
        return [f"the frame rate is not known: {assumed:g} frames a second were assumed (say --fps)"]
    if fps < LOW_RATE:
        return [
            f"the frame rate is low: at {fps:.3g} frames a second, under {LOW_RATE:g}, "
            "a micro-expression may span two frames or fewer"
        ]
    return []


def about_face(crop: Crop, faces: int) -> list[str]:
    """Words about the size of the face and about other people."""
    words = []
    if crop.side < SMALL_FACE:
        words.append(f"the face is small: {crop.side:.0f} px wide, where {SMALL_FACE:.0f} px or more are needed")
    if faces > 1:
        words.append(f"there are several faces: {faces} were seen, and one was looked at")
    return words


def about_motion(head: float, skin: float) -> list[str]:
    """Words about the motion between onset and apex, both as shares of the face's width."""
    words = []
    if head > STRONG_HEAD:
        words.append(f"the head moves strongly: by {100 * head:.0f} % of the face between onset and apex")
    if skin < HARDLY_MOVED:
        words.append("the face hardly moves between onset and apex: the answer rests on noise")
    return words
