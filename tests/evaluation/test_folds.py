import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from epir.core.errors import ProtocolError
from epir.core.records import Clip
from epir.evaluation.folds import make_folds

LABELS = ("negative", "positive", "surprise")


@st.composite
def corpora(draw, fewest=3):
    """Clips of some people; the same subject name may occur in two corpora."""
    people = draw(
        st.lists(
            st.tuples(st.sampled_from(["casme2", "samm"]), st.integers(1, 9)), min_size=fewest, max_size=14, unique=True
        )
    )
    clips, labels = [], {}
    for corpus, subject in people:
        for number in range(draw(st.integers(1, 6))):
            clip = Clip(corpus, str(subject), f"c{number}", draw(st.sampled_from(LABELS)))
            clips.append(clip)
            labels[clip.key] = clip.emotion
    return draw(st.permutations(clips)), labels


def check(folds, clips):
    tested = [clip.key for fold in folds for clip in fold.test]
    assert sorted(tested) == sorted(clip.key for clip in clips)  # every clip once
    for fold in folds:
        assert fold.test and fold.train
        assert not {clip.person for clip in fold.train} & {clip.person for clip in fold.test}
        assert len(fold.train) + len(fold.test) == len(clips)
    assert len({fold.name for fold in folds}) == len(folds)


@given(corpora())
def test_leave_one_person_out(corpus):
    clips, labels = corpus
    folds = make_folds(clips, labels, "loso")
    check(folds, clips)
    assert all(fold.held_out == {fold.name} for fold in folds)


@given(corpora(), st.integers(2, 5))
def test_grouped_folds(corpus, count):
    clips, labels = corpus
    count = min(count, len({clip.person for clip in clips}))
    folds = make_folds(clips, labels, str(count))
    check(folds, clips)
    assert len(folds) == count


@given(corpora())
def test_leave_one_corpus_out(corpus):
    clips, labels = corpus
    if len({clip.corpus for clip in clips}) < 2:
        return
    folds = make_folds(clips, labels, "loco")
    check(folds, clips)
    assert [fold.name for fold in folds] == ["casme2", "samm"]
    assert all({clip.corpus for clip in fold.test} == {fold.name} for fold in folds)


def in_two_corpora(*subjects):
    """One clip of each person in both corpora, and one person who is in the first alone."""
    named = [(corpus, subject) for corpus in ("casme2", "samm") for subject in subjects]
    return [
        Clip(corpus, subject, "c", "negative", extra={"person": f"P{subject}"})
        for corpus, subject in [*named, ("casme2", "9")]
    ]


def test_a_person_in_two_corpora_is_not_trained_on_while_held_out():
    clips = [*in_two_corpora("1", "2"), Clip("samm", "3", "c", "negative")]
    first, second = make_folds(clips, {}, "loco")
    assert [clip.person for clip in first.train] == ["samm/3"]
    assert [clip.person for clip in second.train] == ["P9"]
    assert sorted(clip.key for fold in (first, second) for clip in fold.test) == sorted(clip.key for clip in clips)


def test_nobody_left_to_train_on_is_refused():
    with pytest.raises(ProtocolError, match=r"everybody is in the corpus casme2 too.*\n  fix: use --folds loso"):
        make_folds(in_two_corpora("1", "2"), {}, "loco")


@given(corpora(), st.sampled_from(["loso", "3"]))
def test_who_is_held_out_does_not_depend_on_the_order(corpus, scheme):
    clips, labels = corpus
    folds, again = (make_folds(order, labels, scheme) for order in (clips, sorted(clips, key=lambda clip: clip.key)))
    assert [(fold.name, fold.held_out) for fold in folds] == [(fold.name, fold.held_out) for fold in again]


def test_grouped_folds_spread_the_classes():
    random = np.random.default_rng(0)
    clips = [
        Clip("smic", str(person), f"c{number}", random.choice(LABELS, p=[0.6, 0.25, 0.15]))
        for person in range(40)
        for number in range(random.integers(1, 12))
    ]
    labels = {clip.key: clip.emotion for clip in clips}
    folds = make_folds(clips, labels, "5")
    for label in LABELS:
        counts = [sum(clip.emotion == label for clip in fold.test) for fold in folds]
        assert max(counts) - min(counts) <= 3
    assert folds[0].name == "fold-1-of-5"


def test_two_subjects_of_one_name_are_two_people():
    clips = [Clip(corpus, "01", "c", "negative") for corpus in ("casme2", "samm")]
    assert [fold.name for fold in make_folds(clips, {}, "loso")] == ["casme2/01", "samm/01"]


@pytest.mark.parametrize(
    ("people", "scheme", "words"),
    [
        (1, "loso", "two people, but all clips are of casme2/0\n  fix: give maps of two people"),
        (3, "10", "10 folds need at least 10 people, but there are 3\n  fix: use --folds 3 or"),
        (3, "loco", "loco needs at least two corpora, but all clips are of casme2"),
    ],
)
def test_too_few_people_or_corpora_are_refused(people, scheme, words):
    clips = [Clip("casme2", str(person), name, "negative") for person in range(people) for name in "ab"]
    with pytest.raises(ProtocolError, match=words):
        make_folds(clips, {clip.key: "negative" for clip in clips}, scheme)


def parted(*lines):
    return [Clip("dfme", subject, name, "fear", extra={"split": part}) for subject, name, part in lines]


def test_a_corpus_with_a_split_of_its_own():
    clips = parted(("1", "a", "train"), ("2", "b", "test-b"), ("3", "c", "test-a"), ("1", "d", "train"))
    first, second = make_folds(clips, {}, "split")
    assert (first.name, second.name) == ("test-a", "test-b")
    for fold in (first, second):
        assert [clip.clip for clip in fold.train] == ["a", "d"]  # the other test part is not trained on
    assert [clip.clip for clip in (*first.test, *second.test)] == ["c", "b"]


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([("1", "a", "train"), ("2", "b", "")], "dfme/2/b is in no part of a split"),
        ([("1", "a", "train"), ("2", "b", "train")], "all clips are in train"),
        ([("1", "a", "test-a"), ("2", "b", "test-a")], "all clips are in test-a"),
        ([("1", "a", "train"), ("1", "b", "test-a"), ("2", "c", "train")], "dfme/1 is in training and in a test part"),
    ],
)
def test_a_split_that_cannot_be(lines, problem):
    with pytest.raises(ProtocolError, match=problem):
        make_folds(parted(*lines), {}, "split")
