import numpy as np

from epir.spotting.regions import GRID, NAMES, region_cells


def test_no_cell_belongs_to_two_regions_and_every_region_has_some():
    counts = np.sum([region_cells(name) for name in NAMES], axis=0)
    assert counts.shape == (GRID, GRID)
    assert counts.max() == 1
    assert all(region_cells(name).sum() >= 12 for name in NAMES)


def test_regions_are_the_same_on_both_sides_of_the_face():
    for name in NAMES:
        assert (region_cells(name) == region_cells(name)[:, ::-1]).all(), name


def test_brows_eyes_and_mouth_lie_where_the_crop_puts_them():
    rows = {name: np.nonzero(region_cells(name))[0].mean() / GRID for name in NAMES}
    assert rows["brows"] < rows["eyes"] < rows["nose"] < rows["mouth"] < rows["chin"]
    assert abs(rows["eyes"] - 0.25) < 0.03
    assert abs(rows["mouth"] - 0.72) < 0.05
