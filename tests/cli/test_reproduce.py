"""The verb `reproduce`: what it leaves alone."""

import pytest

from epir.cli.reproduce import reproduce
from epir.core.errors import EpirError, OutputError


def test_a_folder_that_epir_did_not_make_is_left_alone(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "report.html").write_text("years of work")
    with pytest.raises(OutputError, match="was not made by epir"):
        reproduce([tmp_path / "maps"], tmp_path / "mine")
    assert (tmp_path / "mine" / "report.html").read_text() == "years of work"


def test_the_maps_are_no_place_for_it(tmp_path):
    (tmp_path / "maps").mkdir()
    with pytest.raises(OutputError, match="lies inside an input of this command"):
        reproduce([tmp_path / "maps"], tmp_path / "maps" / "paper")
    assert list((tmp_path / "maps").iterdir()) == []


def test_maps_that_are_not_there_leave_no_folder_behind(tmp_path):
    with pytest.raises(EpirError, match="there is no map set"):
        reproduce([tmp_path / "maps"], tmp_path / "paper")
    assert not (tmp_path / "paper").exists()
