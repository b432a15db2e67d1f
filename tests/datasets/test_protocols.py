import pickle

import pytest

from epir.core.errors import ProtocolError
from epir.core.records import Clip
from epir.datasets.protocols import get_protocol, list_protocols


def clip(corpus, emotion, subject="s", name="c"):
    return Clip(corpus, subject, name, emotion)


def test_the_names():
    assert list_protocols() == (
        "cde", "sde-casme2", "sde-samm", "sde-smic", "sde-casme3", "sde-casme3-4", "sde-casme3-7",
        "sde-mmew", "sde-mmew-4", "sde-mmew-6", "sde-dfme", "sde-4dme", "sde-casme", "cde-all", "cd6me", "sde",
    )  # fmt: skip
    for name in list_protocols()[:-1]:
        assert get_protocol(name).name == name


@pytest.mark.parametrize(
    ("protocol", "corpus", "word", "label"),
    [
        ("cde", "casme2", "disgust", "negative"),
        ("cde", "casme2", "Repression", "negative"),
        ("cde", "casme2", "HAPPINESS", "positive"),
        ("cde", "casme2", "fear", None),
        ("cde", "casme2", "sadness", None),
        ("cde", "casme2", "others", None),
        ("cde", "samm", "Fear", "negative"),
        ("cde", "samm", "Contempt", "negative"),
        ("cde", "samm", "Other", None),
        ("cde", "samm", "others", None),
        ("cde", "smic", "surprise", "surprise"),
        ("cde", "casme3", "disgust", None),
        ("cde", "casme3", "negative", None),
        ("cde", "samm", "negative", "negative"),
        ("cde", "casme2", " Positive ", "positive"),
        ("cde", "manifest", "surprise", "surprise"),
        ("cde", "synthetic", "Negative", "negative"),
        ("sde-casme2", "casme2", "other", "others"),
        ("sde-casme2", "casme2", "fear", None),
        ("sde-casme2", "samm", "happiness", None),
        ("sde-samm", "samm", "Others", "other"),
        ("sde-samm", "samm", "disgust", None),
        ("sde-casme3", "casme3", "Others", None),
        ("sde-casme3", "casme3", "sadness", "negative"),
        ("sde-casme3-4", "casme3", "Others", "others"),
        ("sde-casme3-4", "casme3", "happy", "positive"),
        ("sde-casme3-7", "casme3", "happiness", "happy"),
        ("sde-casme3-7", "casme3", "Disgust", "disgust"),
        ("sde-smic", "smic", "negative", "negative"),
    ],
)
def test_labels(protocol, corpus, word, label):
    assert get_protocol(protocol).label(clip(corpus, word)) == label


@pytest.mark.parametrize(
    ("subject", "name", "emotion"),
    [
        ("sub04", "EP12_01f", "disgust"),
        ("sub05", "EP09_05f", "disgust"),
        ("sub24", "EP07_01", "surprise"),
        ("sub24", "EP07_04f", "surprise"),
        ("sub24", "EP10_03", "surprise"),
        ("sub24", "ep10_03", "negative"),
        ("sub24", "EP02_07", "disgust"),
        ("sub09", "EP02_02f", "happiness"),
    ],
)
def test_clips_that_the_composite_leaves_out(subject, name, emotion):
    assert get_protocol("cde").label(Clip("casme2", subject, name, emotion)) is None
    assert get_protocol("cde").label(Clip("casme2", "sub25", name, emotion)) is not None


def test_the_composite_is_about_the_fast_camera_of_smic():
    protocol = get_protocol("cde")
    assert protocol.label(Clip("smic", "s11", "s11_ne_01", "negative")) == "negative"
    assert protocol.label(Clip("smic", "s11", "vis_s11_ne_01", "negative")) is None
    assert protocol.label(Clip("smic", "s11", "nir_s11_ne_01", "negative")) is None
    assert get_protocol("sde-smic").label(Clip("smic", "s11", "nir_s11_ne_01", "negative")) == "negative"


def test_an_unknown_word_is_an_error_that_names_everything():
    with pytest.raises(ProtocolError) as error:
        get_protocol("cde").label(Clip("casme2", "sub01", "EP02_01f", "hapiness"))
    assert error.value.problem == (
        "the clip casme2/sub01/EP02_01f is labelled 'hapiness', which the protocol cde does not know"
    )
    assert error.value.fix == (
        "use one of: disgust, happiness, negative, positive, repression, surprise (and fear, others, sadness, "
        "which it leaves out); or evaluate under sde, which takes any label"
    )


@pytest.mark.parametrize(
    ("protocol", "corpus", "word"),
    [
        ("cde", "manifest", "joy"),
        ("cde", "manifest", ""),
        ("sde-casme2", "casme2", "negative"),
        ("cde", "casme2", "contempt"),
    ],
)
def test_words_that_do_not_belong(protocol, corpus, word):
    with pytest.raises(ProtocolError, match=r"labelled .* does not know\n  fix: use one of: "):
        get_protocol(protocol).label(clip(corpus, word))


def test_the_nearest_protocol_is_proposed():
    with pytest.raises(ProtocolError, match=r"there is no protocol 'sde-sam'\n  fix: did you mean 'sde-samm'\?"):
        get_protocol("sde-sam")
    with pytest.raises(ProtocolError, match=r"fix: use one of: cde, sde-casme2"):
        get_protocol("xyz")


def test_sde_takes_whatever_the_clips_have():
    clips = [clip("manifest", "joy"), clip("casme3", "Others"), clip("manifest", " joy "), clip("manifest", "")]
    protocol = get_protocol("SDE", clips)
    assert protocol.classes == ("Others", "joy")
    assert [protocol.label(one) for one in clips] == ["joy", "Others", "joy", None]
    assert [label for _, label in protocol.select(clips)] == ["joy", "Others", "joy"]
    with pytest.raises(ProtocolError, match="labelled 'anger'"):
        protocol.label(clip("manifest", "anger"))


def test_synthetic_clips_without_an_expression_have_no_class():
    clips = [clip("synthetic", "none"), clip("synthetic", "positive")]
    assert get_protocol("cde").select(clips) == [(clips[1], "positive")]
    assert get_protocol("sde", clips).classes == ("positive",)
    assert get_protocol("sde", clips).select(clips) == [(clips[1], "positive")]
    assert get_protocol("sde", [clip("manifest", "none")]).classes == ("none",)


def test_sde_needs_clips():
    with pytest.raises(ProtocolError, match=r"takes its classes from the clips.*\n  fix: give clips with labels"):
        get_protocol("sde")


def test_protocols_can_be_sent_to_a_worker_and_kept_in_a_set():
    protocol = get_protocol("cde")
    assert pickle.loads(pickle.dumps(protocol)) == protocol
    assert len({protocol, get_protocol("cde"), get_protocol("sde-smic")}) == 2


@pytest.mark.parametrize(
    ("protocol", "corpus", "word", "label"),
    [
        ("sde-mmew", "mmew", "anger", "negative"),
        ("sde-mmew", "mmew", "others", None),
        ("sde-mmew-4", "mmew", "others", "others"),
        ("sde-mmew-4", "mmew", "fear", None),
        ("sde-mmew-6", "mmew", "fear", "fear"),
        ("sde-dfme", "dfme", "contempt", "contempt"),
        ("sde-4dme", "4dme", "repression", "repression"),
        ("sde-4dme", "4dme", "positive+surprise", None),
        ("sde-casme", "casme", "tense", "tense"),
        ("sde-casme", "casme", "fear", None),
        ("cde-all", "dfme", "contempt", "negative"),
        ("cde-all", "casme", "tense", None),
        ("cde-all", "casme-sq", "others", None),
        ("cde-all", "4dme", "Repression", "negative"),
        ("cde", "mmew", "disgust", None),
    ],
)
def test_the_classes_of_the_newer_corpora(protocol, corpus, word, label):
    assert get_protocol(protocol).label(clip(corpus, word)) == label


def test_the_same_clips_from_cde_and_from_cde_all():
    left_out = clip("casme2", "disgust", subject="sub04", name="EP12_01f")
    for name in ("cde", "cde-all"):
        assert get_protocol(name).label(left_out) is None


def test_who_is_held_out_by_default():
    assert [get_protocol(name).folds for name in ("cde", "sde-dfme", "cd6me")] == ["loso", "split", "loco"]
