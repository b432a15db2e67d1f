import pytest

from epir.core.errors import DatasetError
from epir.datasets.base import check_corpus
from epir.datasets.manifest import read_manifest
from epir.datasets.protocols import get_protocol
from epir.datasets.registry import load_corpus

HEADER = "clip,subject,emotion,frames,onset,apex,offset,fps"


def manifest(path, *rows, header=HEADER):
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def test_folders_and_videos_beside_the_csv(tmp_path, release):
    release.frames(tmp_path / "frames" / "one", range(5, 30))
    (tmp_path / "two.mp4").touch()
    path = manifest(tmp_path / "mine.csv", "c1,anna,joy,frames/one,6,12,20,60", "c2,ben,anger,two.mp4,0,7,14,")
    corpus = load_corpus("manifest", path)
    first, second = corpus.clips
    assert first.key == "manifest/anna/c1"
    assert (first.onset, first.apex, first.offset, first.fps) == (6, 12, 20, 60.0)
    assert first.frames == tmp_path / "frames" / "one"
    assert (second.onset, second.apex, second.offset, second.fps) == (0, 7, 14, None)
    assert second.frames == tmp_path / "two.mp4"
    assert corpus.defects == ()
    assert load_corpus("manifest", tmp_path).clips == corpus.clips
    # Empty places mean the first and the last frame.
    manifest(path, "c1,anna,joy,frames/one", "c2,anna,joy,two.mp4", header="clip,subject,emotion,frames")
    first, second = load_corpus("manifest", path).clips
    assert (first.onset, first.apex, first.offset) == (5, None, 29)
    assert (second.onset, second.apex, second.offset) == (0, None, None)


def test_absolute_paths_and_further_columns(tmp_path, release):
    there = release.frames(tmp_path / "far" / "one", range(5))
    (tmp_path / "near").mkdir()
    path = manifest(
        tmp_path / "near" / "m.csv", f"c1,anna,joy,{there},0,1,2,25,AU12,", header=HEADER + ",action units,empty"
    )
    (clip,) = load_corpus("manifest", path).clips
    assert clip.frames == there
    assert clip.extra == {"action units": "AU12"}


def test_a_column_may_name_the_corpus(tmp_path, release):
    release.frames(tmp_path / "one", range(5))
    path = manifest(
        tmp_path / "m.csv",
        "EP02_01f,sub01,disgust,one,0,1,2,25,casme2",
        "x,y,joy,one,0,1,2,25,",
        header=HEADER + ",corpus",
    )
    assert [clip.key for clip in load_corpus("manifest", path).clips] == ["casme2/sub01/EP02_01f", "manifest/y/x"]
    assert read_manifest(path, root=tmp_path, corpus="synthetic").clips[1].key == "synthetic/y/x"


def test_what_is_wrong_is_listed_and_the_rest_is_read(tmp_path, release):
    release.frames(tmp_path / "one", range(5))
    (tmp_path / "empty").mkdir()
    (tmp_path / "a.png").touch()
    path = manifest(
        tmp_path / "m.csv",
        "c1,anna,joy,gone,0,1,2,25",
        "c2,anna,,one,0,1,2,25",
        "c3,anna,joy,one,x,1,2,fast",
        "c4,anna,joy,one,2,2,4,25",
        "c5,anna,joy,empty,0,1,2,25",
        "c6,anna,joy,,0,1,2,25",
        "c7,anna,joy,a.png,0,1,2,25",
        "c8,anna,joy,one,0,1,9,inf",
    )
    corpus = load_corpus("manifest", path)
    assert len(corpus) == 8
    assert [(one.clip[-2:], one.problem) for one in corpus.faults] == [
        ("c1", "there is no folder or video gone"),
        ("c2", "it has no emotion"),
        ("c3", "the onset is 'x', which is not a frame number"),
        ("c3", "the fps is 'fast', which is not a frame rate"),
        ("c4", "apex and onset are one frame, with no motion between them; the apex policy decides"),
        ("c5", "its folder holds no pictures"),
        ("c6", "the column frames is empty"),
        ("c7", "a.png is one picture; give the folder that holds it"),
        ("c8", "the fps is 'inf', which is not a frame rate"),
        ("c8", "5 frames of 0-9 missing: 5-9"),
    ]


def test_mistakes_that_stop(tmp_path):
    with pytest.raises(
        DatasetError,
        match=r"there is no CSV file in .*\n  fix: call it manifest.csv, .*; its columns are clip,subject",
    ):
        load_corpus("manifest", tmp_path)
    path = tmp_path / "a.csv"
    for header, missing in (("path,subject,emotion", "clip"), ("clip,person", "subject"), ("a,b", "subject")):
        path.write_text(f"{header}\n1,2,3\n")
        with pytest.raises(DatasetError, match=f"has no column '{missing}'; its columns are: {header.split(',')[0]}, "):
            load_corpus("manifest", path)
    manifest(path)
    with pytest.raises(DatasetError, match=r"lists no clips"):
        load_corpus("manifest", path)
    manifest(path, "c1,anna,joy", header="clip,subject,label")
    with pytest.raises(DatasetError, match=r"no column 'emotion'; its columns are: clip, subject, label"):
        load_corpus("manifest", path)


def test_rows_that_are_doubled_or_empty_are_listed_with_everything_else(tmp_path, release):
    release.frames(tmp_path / "one", range(5))
    rows = ("c1,anna,joy,one,0,1,2,25", "c1,anna,joy,gone,0,1,2,25", "c2,,joy,one,0,1,2,25", "c3,ben,joy,one,3,1,2,25")
    corpus = load_corpus("manifest", manifest(tmp_path / "m.csv", *rows))
    assert [(one.clip, one.problem) for one in corpus.faults] == [
        ("manifest/anna/c1", "it is listed twice, in rows 2 and 3: give each clip its own name"),
        ("row 4", "the subject is empty"),
        ("manifest/ben/c3", "the offset 2 is before the onset 3"),
        ("manifest/ben/c3", "the apex 1 is before the onset 3"),
    ]
    with pytest.raises(
        DatasetError, match=r"c1: it is listed twice, .* \(and 1 more\)\n  fix: correct .*epir check mani"
    ):
        check_corpus(corpus)
    assert corpus.unusable == {
        "manifest/ben/c3": "the offset 2 is before the onset 3; the apex 1 is before the onset 3"
    }


def test_decimal_commas_and_units_that_do_not_exist(tmp_path, release):
    release.frames(tmp_path / "one", range(5))
    rows = (
        'c1,anna,joy,one,0,"1,0",2,"59,94",4+L12',
        "c2,anna,joy,one,0,12.5,2,25,banana",
        "c3,anna,joy,one,0,1,2,25,400",
    )
    corpus = load_corpus("manifest", manifest(tmp_path / "m.csv", *rows, header=HEADER + ",action_units"))
    assert [one.problem for one in corpus.faults] == [
        "the apex is '1,0', which is not a frame number (write a decimal point: 1.0)",
        "the fps is '59,94', which is not a frame rate (write a decimal point: 59.94)",
        "the apex is '12.5', which is not a frame number",
        "the action units 'banana' do not exist",
        "the action units '400' do not exist",
    ]


def test_an_empty_person_is_filled_and_two_people_of_one_subject_are_a_defect(tmp_path, release):
    release.frames(tmp_path / "one", range(5))
    header = HEADER + ",person"
    rows = ("c1,s1,joy,one,0,1,2,25,anna", "c2,s1,joy,one,0,1,2,25,", "c3,s2,joy,one,0,1,2,25,")
    corpus = load_corpus("manifest", manifest(tmp_path / "m.csv", *rows, header=header))
    assert [clip.person for clip in corpus.clips] == ["anna", "anna", "manifest/s2"]
    assert corpus.notes == ("1 empty cells of the column person were filled from the other clips of the subject",)
    corpus = load_corpus("manifest", manifest(tmp_path / "m.csv", *rows, "c4,s1,joy,one,0,1,2,25,ben", header=header))
    assert [(one.clip, one.kind) for one in corpus.faults] == [
        ("manifest/s1/c1", "two people"), ("manifest/s1/c4", "two people"),
    ]  # fmt: skip
    with pytest.raises(DatasetError, match=r"c1: the subject manifest/s1 is 'anna' and 'ben' in the column person"):
        check_corpus(corpus)


def test_of_several_csv_files_the_one_called_manifest_is_taken(tmp_path, release):
    release.frames(tmp_path / "one", range(5))
    manifest(tmp_path / "a.csv")
    manifest(tmp_path / "b.csv")
    with pytest.raises(DatasetError, match=r"holds 2 CSV files, none called manifest.csv"):
        load_corpus("manifest", tmp_path)
    manifest(tmp_path / "manifest.csv", "c1,anna,joy,one,0,1,2,25")
    assert len(load_corpus("manifest", tmp_path)) == 1


def write_manifest(folder, release, *words):
    release.frames(folder / "one", range(5))
    lines = "".join(f"c{n},anna,{word},one\n" for n, word in enumerate(words))
    (folder / "manifest.csv").write_text("clip,subject,emotion,frames\n" + lines)
    return folder


@pytest.mark.parametrize("header", ["", "word,class\n", "Word;Class\n"])
def test_a_label_map_gives_words_a_class(tmp_path, release, header):
    write_manifest(tmp_path, release, "Joy", "anger", "startle", "bored")
    separator = ";" if ";" in header else ","
    pairs = [("joy", "positive"), ("Anger", "negative"), ("startle", "surprise"), ("bored", "")]
    labels = tmp_path / "map.txt"
    labels.write_text(header + "".join(f"{word}{separator}{name}\n" for word, name in pairs))
    corpus = load_corpus("manifest", tmp_path, labels=labels)
    assert [(one.emotion, one.extra["word"]) for one in corpus.clips] == [
        ("positive", "Joy"),
        ("negative", "anger"),
        ("surprise", "startle"),
    ]
    assert corpus.notes == ("classes from map.txt, which leaves out 1 clip",)
    cde = get_protocol("cde")
    assert [cde.label(one) for one in corpus.clips] == ["positive", "negative", "surprise"]


def test_a_label_map_hides_no_defect_of_the_other_rows(tmp_path, release):
    release.frames(tmp_path / "one", range(5))
    rows = ("c1,anna,joy,one", "c2,,joy,one", ",ben,bored,one", "c4,ben,bored,gone", "c4,ben,joy,one")
    manifest(tmp_path / "m.csv", *rows, header="clip,subject,emotion,frames")
    (tmp_path / "map.txt").write_text("joy,positive\nbored,\n")
    corpus = load_corpus("manifest", tmp_path / "m.csv", labels=tmp_path / "map.txt")
    assert [clip.clip for clip in corpus.clips] == ["c1"]
    assert [(one.clip, one.problem) for one in corpus.faults] == [
        ("row 3", "the subject is empty"),
        ("row 4", "the clip is empty"),
        ("manifest/ben/c4", "it is listed twice, in rows 5 and 6: give each clip its own name"),
    ]
    with pytest.raises(DatasetError, match=r"row 3: the subject is empty \(and 2 more\)"):
        check_corpus(corpus)


def test_a_label_map_needs_an_emotion_in_every_row(tmp_path, release):
    write_manifest(tmp_path, release, "joy", "")
    (tmp_path / "map.txt").write_text("joy,positive\n")
    words = r"manifest/anna/c1 has no emotion\n  fix: fill in its emotion in manifest.csv, or remove its row"
    with pytest.raises(DatasetError, match=words):
        load_corpus("manifest", tmp_path, labels=tmp_path / "map.txt")
    write_manifest(tmp_path, release, "joy", "Joy")
    assert len(load_corpus("manifest", tmp_path, labels=tmp_path / "map.txt")) == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("joy\n", "row 1: 'joy' is not a word and its class"),
        ("joy,positive\nJoy,negative\n", "row 2: 'Joy' has two classes"),
        ("word,class\n", "lists no classes"),
        ("rage,negative\n", "manifest/anna/c0 is labelled 'joy', which "),
    ],
)
def test_a_map_that_cannot_be(tmp_path, release, text, problem):
    write_manifest(tmp_path, release, "joy")
    (tmp_path / "labels.txt").write_text(text)
    with pytest.raises(DatasetError) as error:
        load_corpus("manifest", tmp_path, labels=tmp_path / "labels.txt")
    assert problem in str(error.value)
    with pytest.raises(DatasetError, match=r"there is no file .*gone"):
        load_corpus("manifest", tmp_path, labels=tmp_path / "gone")
