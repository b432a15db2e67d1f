from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epir.datasets.intervals import Interval
from epir.spotting.megc.scores import (
    SpottedVideo,
    SpottingCounts,
    analysis,
    class_counts,
    classes_found,
    count,
    count_pairs,
    matches,
    score_spotting,
)


def micro(onset, offset, emotion="", kind="micro"):
    return Interval("v", "s", kind, onset, None, offset, emotion)


def macro(onset, offset):
    return micro(onset, offset, kind="macro")


def video(labels, predictions, *, corpus="casme-sq", subject="s15", name="v"):
    return SpottedVideo(corpus, subject, name, tuple(labels), tuple(predictions))


INTERVALS = st.builds(
    lambda onset, length, kind: micro(onset, onset + length, kind=kind),
    st.integers(1, 25),
    st.integers(0, 9),
    st.sampled_from(["micro", "macro"]),
)


def slow_overlap(one, other):
    """From the definition: sets of frames."""
    first, second = (set(range(each.onset, each.offset + 1)) for each in (one, other))
    return len(first & second) / len(first | second)


def slow_hits(labels, predictions, kind):
    return sum(
        any(slow_overlap(label, each) >= 0.5 for each in predictions if each.kind == kind)
        for label in labels
        if label.kind == kind
    )


def slow_pairs(labels, predictions):
    """The size of the maximum matching, by brute force."""
    for size in range(min(len(labels), len(predictions)), 0, -1):
        for chosen in combinations(labels, size):
            for order in permutations(predictions, size):
                same = zip(chosen, order, strict=True)
                if all(one.kind == other.kind and slow_overlap(one, other) >= 0.5 for one, other in same):
                    return size
    return 0


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((1, 10), (1, 10), True),
        ((1, 10), (1, 5), True),  # exactly a half: 5 of 10 frames, both ends included
        ((1, 10), (1, 4), False),
        ((1, 10), (4, 13), True),  # 7 of 13
        ((1, 10), (5, 14), False),  # 6 of 14
        ((5, 5), (5, 5), True),
        ((5, 5), (6, 6), False),  # the organisers' code gives disjoint frames an intersection of 1
        ((1, 10), (21, 30), False),
    ],
)
def test_half_of_the_union_is_a_match_and_less_is_none(one, other, expected):
    assert matches(micro(*one), micro(*other)) is expected
    assert not matches(micro(*one), macro(*other))


def test_a_prediction_may_find_two_labels_and_a_second_prediction_costs_one():
    labels = [micro(1, 10), micro(3, 12), micro(100, 109)]
    predictions = [micro(2, 11), micro(100, 109), micro(101, 110), micro(300, 310)]
    counted = count(labels, predictions, "micro")
    assert counted == SpottingCounts(labels=3, predictions=4, hits=3, pairs=2)
    assert counted.f1 == 6 / 7 and counted.f1_one_to_one == 4 / 7
    assert counted.precision == 3 / 4 and counted.recall == 1
    assert count(labels, predictions, "macro") == SpottingCounts()


def test_one_to_one_finds_the_maximum_matching():
    labels, predictions = [micro(1, 10), micro(1, 16)], [micro(1, 13), micro(1, 17)]
    assert (
        matches(labels[0], predictions[0]) and matches(labels[1], predictions[0]) and matches(labels[0], predictions[1])
    )
    assert count_pairs(labels, predictions) == 2
    assert count_pairs([micro(1, 10), micro(1, 12)], [micro(1, 11)]) == 1


@given(st.lists(INTERVALS, max_size=4), st.lists(INTERVALS, max_size=4))
def test_counts_agree_with_the_definition(labels, predictions):
    for kind in ("micro", "macro"):
        counted = count(labels, predictions, kind)
        assert counted.hits == slow_hits(labels, predictions, kind)
        wanted, spotted = ([each for each in side if each.kind == kind] for side in (labels, predictions))
        assert counted.pairs == slow_pairs(wanted, spotted)


@given(st.lists(INTERVALS, max_size=12), st.lists(INTERVALS, max_size=12), st.randoms())
def test_scores_stay_in_bounds_and_do_not_depend_on_order(labels, predictions, random):
    counted = count(labels, predictions, "micro")
    assert 0 <= counted.pairs <= counted.hits <= counted.labels
    assert counted.pairs <= counted.predictions
    assert 0 <= counted.f1_one_to_one <= counted.f1
    random.shuffle(labels)
    random.shuffle(predictions)
    assert count(labels, predictions, "micro") == counted


@given(st.lists(INTERVALS, max_size=8))
def test_the_annotation_itself_scores_one(labels):
    scores = score_spotting([video(labels, labels)])["pooled"]
    for name in ("micro", "macro", "all"):
        assert scores[name]["f1"] == scores[name]["f1_one_to_one"] == float(scores[name]["labels"] > 0)


def test_all_and_pooled_are_sums_and_never_means():
    one = video([micro(1, 10), macro(50, 99)], [micro(1, 10)])
    two = video([macro(1, 60)], [macro(1, 60), macro(70, 99), micro(5, 9)], corpus="samm-lv", subject="006")
    empty = video([], [micro(1, 5)], corpus="samm-lv", subject="007")  # a video without labels counts
    scores = score_spotting([one, two, empty])
    assert (scores["videos"], scores["people"]) == (3, 3)
    first, second, pooled = scores["corpora"]["casme-sq"], scores["corpora"]["samm-lv"], scores["pooled"]
    assert first["all"]["f1"] == pytest.approx(2 / 3, abs=1e-6)
    assert second["all"]["f1"] == pytest.approx(2 / 5, abs=1e-6)
    assert pooled["all"]["f1"] == pytest.approx(4 / 8, abs=1e-6)  # the mean of the two would be 0.53
    for name in ("labels", "predictions", "hits", "pairs"):
        for kind in ("micro", "macro", "all"):
            assert pooled[kind][name] == first[kind][name] + second[kind][name]
        assert pooled["all"][name] == pooled["micro"][name] + pooled["macro"][name]


GOLDEN = [  # the organisers' log of 2020 as DATASETS-2.md lists it: n, m, TP, F1; one-to-one TP
    ("casme-sq", "micro", 5035, 57, 21, 0.0082, 21),
    ("casme-sq", "macro", 1523, 300, 109, 0.1196, 104),
    ("samm-lv", "micro", 1436, 159, 29, 0.0364, 29),
    ("samm-lv", "macro", 356, 343, 22, 0.0629, 22),
]
GOLDEN_ALL = {"casme-sq": (6558, 357, 130, 0.0376), "samm-lv": (1792, 502, 51, 0.0445)}


def golden_videos(corpus, kind, predictions, labels, hits, pairs):
    """Videos of one kind with these counts: a double match is one prediction over two overlapping labels."""
    doubles = hits - pairs
    wanted, spotted, at = [], [], 1
    for place in range(pairs):
        wanted.append(micro(at, at + 19, kind=kind))
        spotted.append(micro(at + 2, at + 21, kind=kind))
        if place < doubles:
            wanted.append(micro(at + 4, at + 23, kind=kind))
        at += 100
    wanted += [micro(at + 100 * place, at + 100 * place + 19, kind=kind) for place in range(labels - len(wanted))]
    spotted += [
        micro(at + 100 * place + 40, at + 100 * place + 55, kind=kind) for place in range(predictions - len(spotted))
    ]
    size = 400  # frames by which videos are cut, so that the sums run over many
    for number in range((at + 100 * max(predictions, labels)) // size + 1):
        span = range(number * size + 1, (number + 1) * size + 1)
        in_span = [[each for each in side if each.onset in span] for side in (wanted, spotted)]
        yield video(*in_span, corpus=corpus, subject=f"{number % 22:02d}", name=f"{kind}{number}")


def test_the_organisers_log_is_reproduced_to_the_digit():
    videos = [
        each for corpus, kind, n, m, hits, _, pairs in GOLDEN for each in golden_videos(corpus, kind, n, m, hits, pairs)
    ]
    scores = score_spotting(videos)["corpora"]
    for corpus, kind, n, m, hits, f1, pairs in GOLDEN:
        counts = scores[corpus][kind]
        assert (counts["predictions"], counts["labels"], counts["hits"], counts["pairs"]) == (n, m, hits, pairs)
        assert round(counts["f1"], 4) == f1
    assert round(scores["casme-sq"]["macro"]["f1_one_to_one"], 4) == 0.1141
    for corpus, (n, m, hits, f1) in GOLDEN_ALL.items():
        counts = scores[corpus]["all"]
        assert (counts["predictions"], counts["labels"], counts["hits"], round(counts["f1"], 4)) == (n, m, hits, f1)


def test_intervals_resample_whole_people():
    good = [video([micro(1, 10)], [micro(1, 10)], subject=f"g{place}") for place in range(5)]
    bad = [video([micro(1, 10)], [], subject=f"b{place}") for place in range(5)]
    low, high = score_spotting(good + bad)["pooled"]["micro"]["f1_interval"]
    assert 0 < low < 2 / 3 < high < 1
    assert score_spotting(good)["pooled"]["micro"]["f1_interval"] == [1, 1]
    one_person = [video(each.labels, each.predictions, name=each.subject) for each in good + bad]
    assert score_spotting(one_person)["pooled"]["micro"]["f1_interval"] == [0.666667, 0.666667]


def test_strs_leaves_out_others_and_counts_an_unnamed_class_as_a_miss():
    labels = [micro(1, 10, "disgust"), micro(101, 110, "happiness"), micro(201, 210, "others"), micro(301, 310, "fear")]
    predictions = [
        micro(1, 10, "negative"),
        micro(101, 110, "others"),
        micro(201, 210, "positive"),
        micro(500, 510, "negative"),
    ]
    pairs = classes_found([video(labels, predictions)])
    assert pairs == [("negative", "negative"), ("positive", "others")]
    strs = score_spotting([video(labels, predictions)])["pooled"]["strs"]
    assert strs["f1_spotting"] == pytest.approx(6 / 8)  # others counts for spotting
    assert (strs["clips"], strs["right"]) == (2, 1)
    assert strs["macro_precision"] == strs["macro_recall"] == pytest.approx(1 / 3, abs=1e-6)
    assert strs["strs"] == pytest.approx(6 / 8 / 3, abs=1e-6)


def test_a_label_takes_the_class_of_its_best_prediction():
    labels = [micro(1, 20, "surprise")]
    predictions = [micro(1, 12, "negative"), micro(2, 20, "surprise"), micro(1, 13, "positive")]
    assert classes_found([video(labels, predictions)]) == [("surprise", "surprise")]


def test_the_published_analysis_of_2025_divides_by_three_classes():
    precision, recall, f1 = analysis(class_counts([("negative", "negative"), ("positive", "negative")]))
    assert [round(float(each), 4) for each in (precision, recall, f1)] == [0.1667, 0.3333, 0.2222]


@pytest.mark.parametrize(("hits", "false", "missed", "expected"), [(17, 206, 40, 0.1214), (26, 363, 133, 0.0949)])
def test_published_spotting_scores_follow_from_their_counts(hits, false, missed, expected):
    assert round(SpottingCounts(hits + missed, hits + false, hits).f1, 4) == expected


@given(st.lists(st.tuples(st.sampled_from(["negative", "positive", "surprise"]), st.integers(0, 3)), max_size=30))
def test_analysis_agrees_with_the_definition(drawn):
    names = ("negative", "positive", "surprise", "others")
    pairs = [(truth, names[guess]) for truth, guess in drawn]
    precisions, recalls = [], []
    for name in names[:3]:
        right = sum(pair == (name, name) for pair in pairs)
        guessed, true = (sum(pair[side] == name for pair in pairs) for side in (1, 0))
        precisions.append(right / guessed if guessed else 0)
        recalls.append(right / true if true else 0)
    p, r = np.mean(precisions), np.mean(recalls)
    result = analysis(class_counts(pairs))
    assert [float(each) for each in result] == pytest.approx([p, r, 2 * p * r / (p + r) if p + r else 0])


def test_an_empty_set_scores_zero_without_a_warning():
    scores = score_spotting([video([], [])])["pooled"]
    assert scores["all"]["f1"] == scores["strs"]["strs"] == 0
    assert scores["all"]["f1_interval"] == [0, 0]
