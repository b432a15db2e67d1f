"""Draws the moving picture of the README, a synthetic smile in slow motion: `python docs/draw_replay.py`.

Left the face as filmed, in the middle arrows for the motion of the skin since the onset, right the motion as colours.
"""

from pathlib import Path

import cv2
import numpy as np
from PIL import Image

import epir
from epir.core.engines import Silent
from epir.faces.align import Crop
from epir.flow.colour import draw_arrows, flow_peak, flow_to_colour
from epir.flow.head_motion import without_head_motion
from epir.flow.map import cut_face, without_border
from epir.flow.optical import flow_between
from epir.flow.recipe import flow_recipe
from epir.web.examples import BY_NAME, FPS, render_frames

PICTURE = Path(__file__).parent / "pictures" / "replay.webp"
SIDE, STRIP, SHOWN_MS = 240, 34, 70  # px of a face, px of the caption, ms of a frame: about a seventh of the real speed
BEFORE_AND_AFTER = 12  # frames
INK, GREEN, GREY, WHITE = (40, 44, 52), (22, 120, 70), (200, 204, 210), (255, 255, 255)


def main() -> None:
    """Render, recognise, draw."""
    frames = list(render_frames(BY_NAME["smile"], Silent()))
    answer = epir.Recognizer.from_pretrained().predict(np.stack(frames), fps=FPS)
    assert answer.found and answer.timeline is not None, "the smile is spotted"
    onset, apex, offset = answer.onset, answer.apex, answer.offset
    square = answer.timeline.squares[answer.timeline.numbers.tolist().index(onset)]
    crop, recipe = Crop(square.x, square.y, square.side, square.angle), flow_recipe("epir")
    first = cut_face(frames[onset], crop, recipe)
    shown = range(max(0, onset - BEFORE_AND_AFTER), min(len(frames), offset + BEFORE_AND_AFTER), 2)
    flows = {n: _motion(first, cut_face(frames[n], crop, recipe), recipe) for n in {*shown, apex}}
    peak = flow_peak(flows[apex])
    pictures = []
    for number in shown:
        face = crop.apply(frames[number], SIDE)
        moving = onset <= number <= offset
        flow = flows[number] if moving else np.zeros_like(flows[number])
        colours = cv2.resize(flow_to_colour(flow, peak), (SIDE, SIDE), interpolation=cv2.INTER_LINEAR)
        row = np.hstack([face, draw_arrows(face, flow, peak=peak), colours])
        words = f"{answer.label}: {answer.text.split(';')[0].lower()}" if number >= apex and moving else ""
        pictures.append(Image.fromarray(np.vstack([row, _caption(row.shape[1], number, shown, answer, words)])))
    hold = [SHOWN_MS * (8 if number == shown[-1] else 5 if abs(number - apex) < 2 else 1) for number in shown]
    pictures[0].save(PICTURE, save_all=True, append_images=pictures[1:], duration=hold, loop=0, quality=70, method=6)


def _motion(onset: np.ndarray, later: np.ndarray, recipe: object) -> np.ndarray:
    return without_head_motion(without_border(flow_between(onset, later, recipe), recipe), "similarity")


def _caption(width: int, number: int, shown: range, answer: epir.Answer, words: str) -> np.ndarray:
    """The time line with the movement, where it stands, and what was found."""
    strip = np.full((STRIP, width, 3), 255, np.uint8)

    def place(frame: int) -> int:
        return round((frame - shown[0]) / (shown[-1] - shown[0]) * (width - 1))

    strip[:5] = GREY
    strip[:5, place(answer.onset) : place(answer.offset)] = GREEN
    strip[:8, max(0, place(number) - 2) : place(number) + 3] = INK
    text = f"{number / FPS:.2f} s   {words}"
    cv2.putText(strip, text, (8, 26), cv2.FONT_HERSHEY_SIMPLEX, 0.47, INK, 1, cv2.LINE_AA)
    return strip


if __name__ == "__main__":
    main()
