import json
from dataclasses import replace

import pytest

from epir.evaluation.record import ClipRecord, FoldRecord, from_json, to_json

TOKENS = {"groups": [[0, 1], [2]], "selected": [0, 1, 0], "rollout": [[0.5, 0.25, 0.25]]}
RECORD = FoldRecord(
    fold="casme2/sub01",
    seed=2,
    experiment="abc",
    clips=(
        ClipRecord("casme2", "sub01", "EP01", "b", "a", "b", (0.6, 0.4), (1, 1, 0), TOKENS),
        ClipRecord("casme2", "sub01", 'quote " and ü', "a", "a", "a", (0.9, 0.1), (0, 0, 0)),
    ),
    loss=(1.5, 1.0, 0.5),
    best_epoch=2,
    training_clips=7,
    training_seconds=1.5,
    seconds=2.0,
)


@pytest.mark.parametrize("column", ["strict", "seen_in_training"])
def test_a_record_survives_its_file(column):
    text = to_json(RECORD, column)
    assert from_json(text) == RECORD and ('"strict"' in text) == (column == "strict")


def test_the_file_is_plain_json_with_one_line_per_clip():
    text = to_json(RECORD)
    values = json.loads(text)
    assert values["format"] == "epir-fold/1" and values["clips"][0]["tokens"] == TOKENS
    assert "tokens" not in values["clips"][1] and len(text.splitlines()) == 4


def test_predictions_carry_both_columns():
    first, second = RECORD.predictions
    assert (first.strict, first.best_epoch, first.truth, first.seed, first.fold) == ("a", "b", "b", 2, "casme2/sub01")
    assert second.key == 'casme2/sub01/quote " and ü'


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "epir-fold/2"}', to_json(RECORD)[:-30]])
def test_anything_else_is_refused(text):
    with pytest.raises((ValueError, KeyError, TypeError)):
        from_json(text)


def test_a_change_of_one_answer_is_seen():
    values = json.loads(to_json(RECORD))
    values["clips"][0]["strict"] = "b"
    with pytest.raises(ValueError, match="changed after it was written"):
        from_json(json.dumps(values))


def test_the_digest_does_not_depend_on_how_long_it_took():
    other = replace(RECORD, seconds=9.0, training_seconds=8.0)
    assert json.loads(to_json(other))["digest"] == json.loads(to_json(RECORD))["digest"]


def test_a_record_without_a_digest_is_refused():
    values = json.loads(to_json(RECORD))
    del values["digest"]
    with pytest.raises(ValueError, match="changed after it was written"):
        from_json(json.dumps(values))
