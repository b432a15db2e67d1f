"""Tier files, read back with the libraries that annotators' programs rely on."""

import sys

import pympi
import pytest
from praatio import textgrid

from epir.core.errors import DatasetError, MissingExtra
from epir.datasets.tiers import Tier, TierInterval, read_tiers, without_overlap, write_eaf, write_textgrid

SMILE = Tier("micro-expression", (TierInterval(0.13, 0.52, "positive"), TierInterval(1.0, 1.2, "surprise")))
APEX = Tier("apex", (TierInterval(0.22, 0.23, "apex"),), points=True)


def test_an_elan_file_holds_tiers_in_milliseconds_and_names_its_video(tmp_path):
    video = tmp_path / "a film.mp4"
    video.touch()
    path = write_eaf(tmp_path / "out" / "a.eaf", [SMILE, APEX], video)
    made = pympi.Eaf(str(path))
    assert sorted(made.get_tier_names()) == ["apex", "micro-expression"]
    assert sorted(made.get_annotation_data_for_tier("micro-expression")) == [
        (130, 520, "positive"),
        (1000, 1200, "surprise"),
    ]
    link = made.get_linked_files()[0]
    assert link["MEDIA_URL"] == video.resolve().as_uri()
    assert link["RELATIVE_MEDIA_URL"] == "../a film.mp4"
    assert [each.name for each in path.parent.iterdir()] == ["a.eaf"]
    assert read_tiers(path).media.resolve() == video


def test_a_praat_file_holds_intervals_and_points(tmp_path):
    path = write_textgrid(tmp_path / "a.TextGrid", [SMILE, APEX], 2.0)
    made = textgrid.openTextgrid(str(path), includeEmptyIntervals=False)
    assert made.tierNames == ("micro-expression", "apex")
    assert [tuple(each) for each in made.getTier("micro-expression").entries] == [
        (0.13, 0.52, "positive"),
        (1.0, 1.2, "surprise"),
    ]
    assert [tuple(each) for each in made.getTier("apex").entries] == [(0.22, "apex")]
    assert made.maxTimestamp == pytest.approx(2.0, abs=0.01)


@pytest.mark.parametrize("ending", ["eaf", "TextGrid"])
def test_what_was_written_is_read_again(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    write_eaf(path, [SMILE, APEX]) if ending == "eaf" else write_textgrid(path, [SMILE, APEX], 2.0)
    tiers = read_tiers(path)
    assert tiers.get("Micro-Expression").intervals == SMILE.intervals
    assert tiers.get("apex").intervals[0].start == 0.22
    assert tiers.get("gaze") is None


def test_no_tiers_make_a_file_too(tmp_path):
    assert read_tiers(write_eaf(tmp_path / "a.eaf", [])).tiers[0].intervals == ()


def test_overlapping_intervals_go_to_several_tiers():
    one, two, three = TierInterval(0, 2, "a"), TierInterval(1, 3, "b"), TierInterval(2, 4, "c")
    assert without_overlap("rejected", [two, three, one]) == [
        Tier("rejected", (one, three)),
        Tier("rejected 2", (two,)),
    ]
    assert without_overlap("rejected", []) == []


def test_files_that_cannot_be_read(tmp_path):
    broken = tmp_path / "a.eaf"
    broken.write_text("no xml")
    with pytest.raises(DatasetError, match=r"a.eaf cannot be read(.|\n)*open it in ELAN"):
        read_tiers(broken)
    with pytest.raises(DatasetError, match="there is no file"):
        read_tiers(tmp_path / "gone.eaf")
    (tmp_path / "a.txt").touch()
    with pytest.raises(DatasetError, match=r"is no annotation file(.|\n)*\.eaf, \.textgrid or \.csv"):
        read_tiers(tmp_path / "a.txt")


@pytest.mark.parametrize(("module", "ending"), [("pympi", "eaf"), ("praatio", "TextGrid")])
def test_without_the_extra_the_error_says_how_to_install_it(tmp_path, monkeypatch, module, ending):
    monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / f"a.{ending}"
    path.touch()
    with pytest.raises(MissingExtra, match=r'pip install -c constraints.txt ".\[annotate\]"'):
        read_tiers(path)
