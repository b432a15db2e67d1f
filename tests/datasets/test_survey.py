"""The counts that the field agrees on, reached from full-size sheets with the special clips in them."""

import shutil

import pytest

from epir.core.records import Clip
from epir.datasets.protocols import get_protocol
from epir.datasets.registry import load_corpus
from epir.datasets.survey import (
    Counts,
    count_protocol,
    expected_composite,
    expected_copy,
    protocols_for,
    survey,
)


@pytest.fixture(scope="module")
def corpora(tmp_path_factory, release):
    tmp_path = tmp_path_factory.mktemp("corpora")
    for version in ("2014", "2019"):
        release.casme2_sheet(tmp_path / version / f"CASME2-coding-{version}0101.xlsx", version)
    release.samm_sheet(tmp_path / "samm" / "SAMM_Micro_FACS_Codes_v2.xlsx")
    release.casme3_sheet(tmp_path / "casme3" / "cas(me)3_part_A_ME_label_JpgIndex_v2.xlsx")
    release.smic_tree(tmp_path / "smic" / "HS")
    names = {"2014": "casme2", "2019": "casme2", "samm": "samm", "casme3": "casme3", "smic": "smic"}
    return {folder: load_corpus(name, tmp_path / folder) for folder, name in names.items()}


@pytest.mark.parametrize("version", ["2014", "2019"])
def test_the_composite_is_the_same_from_either_sheet(corpora, version):
    clips = [clip for name in (version, "samm", "smic") for clip in corpora[name].clips]
    protocol = get_protocol("cde")
    assert count_protocol(protocol, clips) == Counts(442, 68, {"negative": 250, "positive": 109, "surprise": 83})
    assert count_protocol(protocol, clips) == expected_composite()
    table = {
        corpus: count_protocol(protocol, [clip for clip in clips if clip.corpus == corpus])
        for corpus in ("smic", "casme2", "samm")
    }
    assert [[table[c].classes[label] for c in table] for label in protocol.classes] == [
        [70, 88, 92],
        [51, 32, 26],
        [43, 25, 15],
    ]
    assert [counts.people for counts in table.values()] == [16, 24, 28]


@pytest.mark.parametrize(
    ("folder", "protocol", "clips", "people"),
    [
        ("2014", "sde-casme2", 246, 26),
        ("2019", "sde-casme2", 249, 26),
        ("samm", "sde-samm", 136, 27),
        ("smic", "sde-smic", 164, 16),
        ("casme3", "sde-casme3", 699, 88),
        ("casme3", "sde-casme3-4", 860, 94),
        ("casme3", "sde-casme3-7", 860, 94),
    ],
)
def test_counts_of_single_corpora(corpora, folder, protocol, clips, people):
    corpus = corpora[folder]
    counts = count_protocol(get_protocol(protocol), corpus.clips)
    assert (counts.clips, counts.people) == (clips, people)
    assert counts == Counts.of(expected_copy(corpus.name, corpus.sheet)["protocols"][protocol], "classes")


def test_what_is_expected_adds_up():
    copies = [expected_copy(*name) for name in (("casme2", "2014"), ("samm", "v2"), ("smic", "hs"))]
    parts = [Counts.of(copy["protocols"]["cde"], "classes") for copy in copies]
    whole = expected_composite()
    assert sum(part.clips for part in parts) == whole.clips
    assert sum(part.people for part in parts) == whole.people
    for name, number in whole.classes.items():
        assert sum(part.classes[name] for part in parts) == number
    for corpus, sheet in (("casme2", "2014"), ("casme2", "2019"), ("samm", "v2"), ("smic", "hs"), ("casme3", "v2")):
        expected = expected_copy(corpus, sheet)
        assert sum(expected["emotions"].values()) == expected["clips"]


def test_a_version_that_is_not_told_is_the_only_one():
    assert expected_copy("samm", "unknown") == expected_copy("samm", "v2") != {}
    assert expected_copy("casme2", "unknown") == expected_copy("manifest", "mine.csv") == {}


def test_departures_are_sentences():
    counts = Counts(3, 2, {"a": 3, "c": 1})
    assert list(counts.departures(Counts(4, 2, {"a": 2, "b": 2}))) == [
        "3 clips, expected 4",
        "3 clips of a, expected 2",
        "0 clips of b, expected 2",
        "1 clip of c, expected 0",
    ]
    assert list(counts.departures(Counts(3))) == []


def test_a_word_that_a_protocol_does_not_know_is_not_counted():
    clips = [Clip("casme2", "sub01", "a", "hapiness"), Clip("casme2", "sub01", "b", "happiness")]
    assert count_protocol(get_protocol("cde"), clips).clips == 1


def test_which_protocols_fit(corpora, tmp_path, release):
    def names(corpus):
        return [protocol.name for protocol in protocols_for(corpus)]

    assert names(corpora["2014"]) == ["cde", "sde-casme2"]
    assert names(corpora["casme3"]) == ["sde-casme3", "sde-casme3-4", "sde-casme3-7"]
    release.frames(tmp_path / "one", range(5))
    header = "clip,subject,emotion,frames\n"
    (tmp_path / "a.csv").write_text(header + "c1,anna,Negative,one\nc2,anna,surprise,one\n")
    assert names(load_corpus("manifest", tmp_path / "a.csv")) == ["cde", "sde"]
    (tmp_path / "a.csv").write_text(header + "c1,anna,joy,one\n")
    assert names(load_corpus("manifest", tmp_path / "a.csv")) == ["sde"]
    (tmp_path / "a.csv").write_text(header + "c1,anna,,one\n")
    assert names(load_corpus("manifest", tmp_path / "a.csv")) == []


def full_casme2(release, root):
    rows = release.casme2_rows("2014")
    release.casme2_sheet(root / "CASME2-coding-20140508.xlsx", "2014", rows)
    for subject, clip, _, onset, _, offset, *_ in rows:
        last = 96 if clip == "EP01_08" else offset
        release.frames(root / "Cropped" / f"sub{subject}" / clip, range(onset, last + 1), "reg_img{}.jpg")
    return root


def test_a_perfect_copy_is_clean_though_the_release_has_flaws(tmp_path, release):
    result = survey(load_corpus("casme2", full_casme2(release, tmp_path)))
    assert result.is_clean
    assert result.departures == ()
    assert {one.clip for one in result.corpus.defects} == {"casme2/sub04/EP12_01f", "casme2/sub05/EP09_05f"}


def test_what_is_missing_from_the_sheet_shows_in_the_counts(tmp_path, release):
    rows = release.casme2_rows("2014")[:-1]
    release.casme2_sheet(tmp_path / "CASME2-coding-20140508.xlsx", "2014", rows)
    for subject, clip, _, onset, *_ in rows:
        release.frames(tmp_path / "Cropped" / f"sub{subject}" / clip, [onset])
    result = survey(load_corpus("casme2", tmp_path))
    assert result.departures == (
        "254 clips, expected 255",
        "24 clips of surprise, expected 25",
        "cde: 144 clips, expected 145",
        "cde: 24 clips of surprise, expected 25",
        "sde-casme2: 245 clips, expected 246",
        "sde-casme2: 24 clips of surprise, expected 25",
    )
    assert not result.is_clean


def test_the_plain_form(casme2_small):
    plain = survey(load_corpus("casme2", casme2_small)).to_dict()
    required = ["corpus", "sheet", "clips", "people", "emotions", "protocols", "defects", "corrected"]
    assert set(required) <= set(plain)
    assert (plain["corpus"], plain["sheet"], plain["clips"], plain["people"]) == ("casme2", "2014", 4, 4)
    assert plain["emotions"] == {"disgust": 3, "happiness": 1}
    assert plain["protocols"]["cde"] == {
        "clips": 2,
        "people": 2,
        "classes": {"negative": 1, "positive": 1, "surprise": 0},
    }
    assert plain["expected"]["clips"] == 255
    assert {"clip": "casme2", "problem": "4 clips, expected 255", "known": False} in plain["defects"]
    assert plain["corrected"] == [
        {
            "clip": "casme2/sub16/EP01_08",
            "field": "offset",
            "old": "110",
            "new": "96",
            "reason": plain["corrected"][0]["reason"],
        }
    ]


def test_a_sheet_of_unknown_version_is_never_clean(tmp_path, release):
    rows = [("01", "EP02_01f", None, 46, 59, 97, None, 4, "disgust")]
    release.casme2_sheet(tmp_path / "CASME2-coding.xlsx", "2014", rows)
    release.frames(tmp_path / "Cropped" / "sub01" / "EP02_01f", range(46, 98))
    result = survey(load_corpus("casme2", tmp_path))
    assert result.expected is None
    assert "the version of the sheet is unknown" in result.departures[0]


def test_pictures_are_opened_only_where_there_are_some(casme2_small):
    shutil.rmtree(casme2_small / "Cropped-updated" / "Cropped" / "sub05")
    opened, steps = [], []

    class Watch:
        def start(self, task, total):
            steps.append((task, total))

        def advance(self, steps_done=1, note=""):
            steps.append(note)

        def finish(self):
            steps.append("end")

    def opener(clip):
        opened.append(clip.key)
        return ["1 picture cannot be opened: frame 50"] if clip.subject == "sub01" else []

    result = survey(load_corpus("casme2", casme2_small), opener=opener, progress=Watch())
    assert opened == ["casme2/sub01/EP02_01f", "casme2/sub04/EP12_01f", "casme2/sub16/EP01_08"]
    assert steps == [("opening frames", 3), *opened, "end"]
    assert ("casme2/sub01/EP02_01f", "1 picture cannot be opened: frame 50") in {
        (one.clip, one.problem) for one in result.corpus.faults
    }


def test_your_own_clips_have_no_expected_counts(tmp_path, release):
    release.frames(tmp_path / "one", range(5))
    (tmp_path / "manifest.csv").write_text("clip,subject,emotion,frames,onset,apex,offset\nc1,anna,joy,one,0,2,4\n")
    result = survey(load_corpus("manifest", tmp_path))
    assert result.is_clean
    assert result.to_dict()["expected"] is None
    assert result.to_dict()["protocols"] == {"sde": {"clips": 1, "people": 1, "classes": {"joy": 1}}}
