import numpy as np

from epir.synthetic.corpus import CorpusSettings, plan_corpus
from epir.synthetic.sheet import CROP, FACE, GAP, PANELS, TITLE, motion_sheet, people_sheet, tile


def test_pictures_lie_side_by_side_in_order():
    sheet = tile([np.full((50, 40, 3), value, np.uint8) for value in (10, 20, 30, 40)], columns=3)
    assert sheet.shape == (2 * 50 + GAP, 3 * 40 + 2 * GAP, 3)
    assert sheet[25, 20, 0] == 10 and sheet[25, -20, 0] == 30 and sheet[-25, 20, 0] == 40 and sheet[-25, -20, 0] == 255


def test_everybody_is_on_the_sheet_of_people():
    sheet = people_sheet(0, ("001", "002", "003"))
    assert sheet.shape == (FACE, 3 * FACE + 2 * GAP, 3)
    assert np.abs(sheet[:, :FACE].astype(int) - sheet[:, -FACE:]).mean() > 5


def test_the_sheet_of_motion_has_a_row_for_each_emotion():
    sheet = motion_sheet(0, plan_corpus(CorpusSettings(people=1, clips=3, idle=1)))
    assert sheet.shape == (3 * (TITLE + CROP + GAP), len(PANELS) * (CROP + GAP) - GAP, 3)
    onset, apex, more = (sheet[TITLE : TITLE + CROP, n * (CROP + GAP) :][:, :CROP].astype(int) for n in range(3))
    assert 0 < np.abs(apex - onset).mean() < np.abs(more - onset).mean()


def test_without_expressions_the_sheet_of_motion_is_empty():
    assert (motion_sheet(0, plan_corpus(CorpusSettings(people=1, clips=0, idle=1))) == 255).all()
