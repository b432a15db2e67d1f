import pytest

from epir.core.records import Clip
from epir.datasets.cd6me import always_positive, corpora, pooled_positives, published_counts, units
from epir.datasets.protocols import corpus_words, get_protocol

CLIPS = 2031


def test_six_corpora_twelve_units():
    assert corpora() == ("casme", "casme2", "casme3", "4dme", "mmew", "samm")
    assert units() == (1, 2, 4, 5, 6, 7, 9, 10, 12, 14, 15, 17)
    assert sum(each.clips for each in published_counts()) == CLIPS
    assert list(pooled_positives().values()) == [304, 280, 708, 134, 60, 252, 117, 75, 176, 277, 52, 86]


def test_always_positive_to_the_digit():
    floor = always_positive(pooled_positives(), CLIPS)
    published = [26.0, 24.2, 51.7, 12.4, 5.7, 22.1, 10.9, 7.1, 15.9, 24.0, 5.0, 8.1]
    assert [round(100 * value, 1) for value in floor.values()] == published
    assert round(100 * sum(floor.values()) / len(floor), 1) == 17.8


def test_always_positive_within_each_corpus():
    means = [sum(always_positive(each.positives, each.clips).values()) / 12 for each in published_counts()]
    assert round(100 * sum(means) / len(means), 1) == 17.8
    assert always_positive(published_counts()[0].positives, 189)[5] == 0  # CASME has no unit 5


def test_always_positive_is_what_counting_gives():
    truth = [True, False, False, True, False]
    hits = sum(truth)
    assert always_positive({4: hits}, len(truth))[4] == pytest.approx(2 * hits / (2 * hits + truth.count(False)))


@pytest.mark.parametrize("corpus", corpora())
def test_every_clip_of_the_six_corpora_takes_part_whatever_its_emotion(corpus):
    protocol = get_protocol("cd6me")
    for word in corpus_words()[corpus]:
        assert protocol.label(Clip(corpus, "1", "a", word)) in protocol.classes


def test_other_corpora_do_not_and_one_corpus_is_held_out_at_a_time():
    protocol = get_protocol("cd6me")
    assert protocol.label(Clip("smic", "s01", "a", "negative")) is None
    assert protocol.label(Clip("dfme", "s01", "a", "anger")) is None
    assert protocol.folds == "loco"
