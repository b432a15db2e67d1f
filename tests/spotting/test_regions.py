import numpy as np

from epir.spotting.regions import GRID, GROUPS, NAMES, REGIONS, members, named, region_cells


def grid(place):
    return region_cells()[place].reshape(GRID, GRID)


def test_no_cell_belongs_to_two_regions_and_every_region_has_some():
    assert region_cells().sum(axis=0).max() == 1
    assert region_cells().sum(axis=1).min() >= 8


def test_left_and_right_are_mirrored_and_the_middle_mirrors_itself():
    for place, region in enumerate(REGIONS):
        other = next(p for p in named(region.name) if region.side == "middle" or REGIONS[p].side != region.side)
        assert (grid(place) == grid(other)[:, ::-1]).all(), NAMES[place]


def test_every_region_belongs_to_one_group():
    assert sorted(np.concatenate([members(group) for group in GROUPS])) == list(range(len(REGIONS)))


def test_groups_lie_where_the_crop_puts_them():
    rows = [np.mean([np.nonzero(grid(p))[0].mean() for p in members(group)]) / GRID for group in GROUPS]
    assert rows == sorted(rows)
    assert abs(rows[1] - 0.25) < 0.03
