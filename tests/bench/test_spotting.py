import json

import pytest

from epir.bench.spotting import Tally, compare, main, overlap
from epir.core.records import Clip
from epir.spotting.timeline import Movement


def clip(kind="expression", onset=11, apex=20, offset=40):
    return Clip("synthetic", "001", "001_01", "positive", onset, apex, offset, 100.0, extra={"kind": kind})


def movement(onset, apex, offset):
    return Movement(onset, apex, offset, 0.01, "mouth")


@pytest.mark.parametrize(
    ("one", "other", "expected"), [((1, 10), (1, 10), 1), ((1, 10), (11, 20), 0), ((1, 10), (6, 15), 1 / 3)]
)
def test_overlap_is_intersection_over_union(one, other, expected):
    assert overlap(one, other) == pytest.approx(expected)
    assert overlap(other, one) == pytest.approx(expected)


def test_a_tally_worked_by_hand():
    tally = Tally()
    compare(clip(), [movement(12, 22, 38)], 0.6, 100.0, tally)  # a hit, two frames off
    compare(clip(), [movement(12, 20, 38), movement(50, 52, 58)], 0.6, 100.0, tally)  # a hit and a false alarm
    compare(clip(), [], 0.6, 100.0, tally)  # missed
    compare(clip("blinking"), [movement(5, 8, 12)], 30.0, 100.0, tally)
    result = tally.to_dict()
    assert (result["movements"], result["recall"], result["precision"]) == (3, 2 / 3, 2 / 4)
    assert result["apex_error_frames"] == {"mean": 1.0, "median": 1.0}
    assert result["apex_error_ms"] == {"mean": 10.0, "median": 10.0}
    assert result["false_alarms_per_minute"] == {"blinking": 2.0}
    assert result["missed"] == ["synthetic/001/001_01"]


@pytest.mark.slow
def test_the_command_measures_a_synthetic_corpus(tmp_path, capsys):
    from epir.synthetic.corpus import CorpusSettings, write_corpus

    write_corpus(tmp_path / "corpus", CorpusSettings(people=1, clips=2, idle=2, size=240, fps=60, seed=5))
    main(["synthetic", str(tmp_path / "corpus")])
    result = json.loads(capsys.readouterr().out)
    assert result["movements"] == 2
    assert result["recall"] >= 0.5
    assert result["false_alarms"] == {"still": 0, "blinking": 0, "turning": 0}
