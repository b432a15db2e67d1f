import pickle
from dataclasses import replace

import pytest

from epir.core.errors import ProtocolError
from epir.core.records import Clip
from epir.datasets.protocols import corpus_words, get_protocol, list_protocols, protocol_text


def clip(corpus, emotion, subject="s", name="c"):
    return Clip(corpus, subject, name, emotion)


def test_the_names():
    assert list_protocols() == (
        "cd6me", "cde", "cde-all", "sde-4dme", "sde-casme", "sde-casme2", "sde-casme3", "sde-casme3-4", "sde-casme3-7",
        "sde-dfme", "sde-mmew", "sde-mmew-4", "sde-mmew-6", "sde-samm", "sde-smic", "sde",
    )  # fmt: skip
    for name in list_protocols()[:-1]:
        assert get_protocol(name).name == name
    assert [get_protocol(name).folds for name in ("cde", "sde-dfme", "cd6me")] == ["loso", "split", "loco"]


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
        ("cd6me", "smic", "negative", None),
        ("cd6me", "dfme", "anger", None),
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
    assert get_protocol("cde-all").label(Clip("casme2", "sub04", "EP12_01f", "disgust")) is None
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
    with pytest.raises(ProtocolError, match=r"fix: use one of: cd6me, cde, cde-all"):
        get_protocol("xyz")


def test_sde_takes_whatever_the_clips_have():
    clips = [clip("manifest", "joy"), clip("casme3", "Others"), clip("manifest", " joy "), clip("manifest", "")]
    protocol = get_protocol("SDE", clips)
    assert protocol.classes == ("Others", "joy")
    assert [protocol.label(one) for one in clips] == ["joy", "Others", "joy", None]
    assert [label for _, label in protocol.select(clips)] == ["joy", "Others", "joy"]
    with pytest.raises(ProtocolError, match="labelled 'anger'"):
        protocol.label(clip("manifest", "anger"))
    with pytest.raises(ProtocolError, match=r"takes its classes from the clips.*\n  fix: give clips with labels"):
        get_protocol("sde")


def test_synthetic_clips_without_an_expression_have_no_class():
    clips = [clip("synthetic", "none"), clip("synthetic", "positive")]
    assert get_protocol("cde").select(clips) == [(clips[1], "positive")]
    assert get_protocol("sde", clips).classes == ("positive",)
    assert get_protocol("sde", clips).select(clips) == [(clips[1], "positive")]
    assert get_protocol("sde", [clip("manifest", "none")]).classes == ("none",)


def test_protocols_can_be_sent_to_a_worker_and_kept_in_a_set():
    protocol = get_protocol("cde")
    assert pickle.loads(pickle.dumps(protocol)) == protocol
    assert len({protocol, get_protocol("cde"), get_protocol("sde-smic")}) == 2


MINE = """
about = "two classes of two corpora"
classes = ["negative", "positive"]
folds = 5
corpora = ["casme2", "mine"]
[words]
positive = ["Joy"]
[words.casme2]
negative = ["disgust", "repression"]
positive = ["happiness"]
[leave_out]
words = ["unclear"]
clips = ["mine/s3/*"]
[only]
camera = ["fast", "2*"]
"""


@pytest.fixture
def write(tmp_path):
    def written(text, name="mine.toml"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return written


@pytest.mark.parametrize(
    ("corpus", "word", "subject", "camera", "label"),
    [
        ("casme2", "Disgust", "s1", "fast", "negative"),
        ("casme2", "joy", "s1", "fast", "positive"),
        ("casme2", "others", "s1", "fast", None),
        ("mine", "joy", "s1", "200 Hz", "positive"),
        ("mine", "negative", "s1", "fast", "negative"),
        ("mine", "unclear", "s1", "fast", None),
        ("mine", "joy", "s3", "fast", None),
        ("mine", "joy", "s1", "slow", None),
        ("samm", "anger", "s1", "fast", None),
        ("synthetic", "positive", "s1", "fast", None),
    ],
)
def test_a_protocol_of_one_s_own(write, corpus, word, subject, camera, label):
    protocol = get_protocol(write(MINE))
    assert (protocol.name, protocol.folds, protocol.classes) == ("mine", "5", ("negative", "positive"))
    assert protocol.label(Clip(corpus, subject, "c", word, extra={"camera": camera})) == label


def test_a_copied_built_in_protocol_is_the_same(write):
    copied, built_in = get_protocol(write(protocol_text("cde"))), get_protocol("cde")
    assert replace(copied, name="cde", digest="") == built_in and copied.digest and not built_in.digest


def test_the_digest_is_of_the_content_and_not_of_remarks(write):
    first = get_protocol(write(MINE)).digest
    assert get_protocol(write("# a remark\n" + MINE.replace("two classes of", "classes of"))).digest == first
    assert get_protocol(write(MINE.replace('"unclear"', '"vague"'))).digest != first


def test_any_word_of_any_corpus(write):
    protocol = get_protocol(write('classes = ["a", "b"]\n[words]\na = ["x"]\nb = ["*"]\n'))
    assert [protocol.label(clip("lab", word)) for word in ("X", "y", "b")] == ["a", "b", "b"]
    with pytest.raises(
        ProtocolError, match=r"labelled '', which the protocol mine does not know\n  fix: use one of: a"
    ):
        protocol.label(clip("lab", ""))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("folds = 5", "fold = 5", r"there is no key 'fold'\n  fix: did you mean 'folds'\?$"),
        ("folds = 5", 'folds = "lose"', r"folds cannot be 'lose'\n  fix: use loso, loco, split or a number from 2$"),
        ("folds = 5", "folds = 1", r"folds cannot be '1'\n"),
        ('["negative", "positive"]', '"negative"', r"classes is 'negative'\n  fix: write it as a list in brackets$"),
        ('["negative", "positive"]', '["negative"]', r"the classes are negative\n  fix: name two classes or more"),
        (
            '["negative", "positive"]',
            '["negative", "positive", "other"]',
            r"no word leads to the class 'other'\n  fix: ",
        ),
        (
            '"disgust"',
            '"digust"',
            r"\[words.casme2\]: the corpus has no word 'digust'\n  fix: did you mean 'disgust'\?$",
        ),
        (
            'negative = ["disgust"',
            'negatve = ["disgust"',
            r"there is no class 'negatve'\n  fix: did you mean 'negative'",
        ),
        ('["happiness"]', '["disgust"]', r"'disgust' is listed under negative and positive\n  fix: give it one class$"),
        ('["happiness"]', "[]", r"positive is \[\]\n  fix: write words in quotes"),
        ('["Joy"]', "[3]", r"positive is \[3\]\n  fix: write words in quotes"),
        ('words = ["unclear"]', 'word = ["unclear"]', r"there is no key 'word'\n  fix: did you mean 'words'\?$"),
        ('["Joy"]', '["Joy"', r"is not valid TOML: .*\n  fix: correct that line; strings need quotes$"),
        (
            "[only]",
            "[split]\ntest = ['a/b']\n[only]",
            r"the split needs a part to train on and one to test\n  fix: call",
        ),
        ("[only]", "[split]\ntrain = ['a/b']\ndev = ['a/c']\n[only]", r"the split has a part 'dev'\n  fix: call the"),
        ("[only]", "[split]\ntrain = ['a/b']\ntest = ['a/c']\n[only]", r"has folds and a split\n  fix: remove one"),
    ],
)
def test_a_protocol_that_cannot_be_meant(write, old, new, message):
    assert old in MINE
    with pytest.raises(ProtocolError, match=message) as refused:
        get_protocol(write(MINE.replace(old, new, 1)))
    assert "mine.toml" in refused.value.problem


def test_a_file_that_is_not_there_or_has_a_built_in_name(write, tmp_path):
    with pytest.raises(ProtocolError, match=r"there is no protocol .*none\.toml\n  fix: check the path$"):
        get_protocol(str(tmp_path / "none.toml"))
    with pytest.raises(ProtocolError, match=r"has the name of a built-in protocol\n  fix: rename it"):
        get_protocol(write(MINE, "cde.toml"))


def test_a_filter_by_a_column_that_no_clip_has(write):
    protocol = get_protocol(write(MINE))
    protocol.check_columns([Clip("mine", "s", "c", "joy", extra={"camera": "fast"})])
    with pytest.raises(
        ProtocolError, match=r"by the column 'camera', which no clip has\n  fix: did you mean 'cameras'\?"
    ):
        protocol.check_columns([Clip("mine", "s", "c", "joy", extra={"cameras": "fast"})])


def names(*pairs):
    return [Clip(corpus, "s", f"c{number}", emotion) for number, (corpus, emotion) in enumerate(pairs)]


TABLES = "[words.casme2]\na = ['disgust']\n[words.{}]\nb = ['x']"


@pytest.mark.parametrize("slip", ["sammm", "SAMM", "sam"])
@pytest.mark.parametrize("key", ["corpora = ['casme2', '{}']", TABLES, f"corpora = ['casme2', 'samm']\n{TABLES}"])
def test_a_misspelt_corpus_leaves_no_clip_out_in_silence(write, key, slip):
    protocol = get_protocol(write(f'classes = ["a", "b"]\n{key.format(slip)}\n'))
    words = (
        f"the protocol mine names the corpus '{slip}', of which there is no clip, but not 'samm'\n"
        rf"  fix: did you mean 'samm'\? If not, remove '{slip}' from the protocol"
    )
    with pytest.raises(ProtocolError, match=words):
        protocol.check_names(names(("casme2", "a"), ("samm", "b")))
    protocol.check_names(names(("casme2", "a")))  # maps of fewer corpora


def test_a_protocol_may_name_more_corpora_than_there_are_maps_of(write):
    protocol = get_protocol(write('classes = ["a", "b"]\ncorpora = ["casme2", "lab1", "lab2"]\n'))
    protocol.check_names(names(("casme3", "a"), ("lab2", "b"), ("lab3", "b")))
    for name in list_protocols()[:-1]:
        get_protocol(name).check_names(names(("casme", "a"), ("samn", "b")))


def test_a_word_that_is_left_out_has_no_class_wherever_else_it_stands(write):
    words = '[words]\na = ["fear"]\nb = ["smile"]\n[words.samm]\na = ["*"]\n'
    text = f'classes = ["a", "b"]\n{words}[leave_out]\nwords = ["b", "fear", "odd"]\n'
    protocol = get_protocol(write(text))
    labels = [protocol.label(Clip("samm", "s1", "c1", word)) for word in ("b", "fear", "odd", "anger", "smile")]
    assert labels == [None, None, None, "a", "b"]


def test_a_misspelt_word_to_leave_out_is_refused(write):
    protocol = get_protocol(write('classes = ["a", "b"]\n[leave_out]\nwords = ["uncleer", "sadness", "odd"]\n'))
    words = (
        r"the protocol mine leaves out the word 'uncleer', which no clip has\n"
        r"  fix: did you mean 'unclear'\? If not, remove 'uncleer' from \[leave_out\]"
    )
    with pytest.raises(ProtocolError, match=words):
        protocol.check_names(names(("lab", "a"), ("lab", "Unclear")))
    protocol.check_names(names(("lab", "a"), ("lab", "sadnes")))  # a word of known corpora is no slip


SPLIT = 'classes = ["a", "b"]\n[split]\ntrain = ["lab/*"]\ntest = ["mine/s1", "mine/s2"]\n'


def test_a_split_names_everybody_once(write):
    protocol = get_protocol(write(SPLIT))
    assert protocol.folds == "split"
    people = {"lab/1", "lab/2", "mine/s1", "mine/s2"}
    assert protocol.split_parts(people) == {
        "lab/1": "train", "lab/2": "train", "mine/s1": "test", "mine/s2": "test",
    }  # fmt: skip
    with pytest.raises(
        ProtocolError, match=r"has 'mine/s2' in the part test, but no clip .*\n  fix: did you mean 'mine/s"
    ):
        protocol.split_parts(people - {"mine/s2"})
    with pytest.raises(
        ProtocolError, match=r"has mine/s3 in no part of the split\n  fix: name each person in one part"
    ):
        protocol.split_parts(people | {"mine/s3"})
    doubled = get_protocol(write(SPLIT.replace('"lab/*"', '"lab/*", "mine/s1"')))
    with pytest.raises(ProtocolError, match=r"has mine/s1 in train and in test\n  fix: name each person in one part$"):
        doubled.split_parts(people)


def test_the_text_to_copy():
    assert 'classes = ["negative", "positive", "surprise"]' in protocol_text("CDE")
    with pytest.raises(ProtocolError, match=r"sde has no file.*\n  fix: show another"):
        protocol_text("sde")


@pytest.mark.parametrize("corpus", ["casme", "casme2", "casme3", "4dme", "mmew", "samm"])
def test_every_clip_of_the_six_corpora_takes_part_whatever_its_emotion(corpus):
    protocol = get_protocol("cd6me")
    for word in corpus_words()[corpus]:
        assert protocol.label(Clip(corpus, "1", "a", word)) in protocol.classes
