import shutil

from epir.datasets.registry import load_corpus
from epir.datasets.survey import survey


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
    release.casme2_sheet(tmp_path / "CASME2-coding-20140508.xlsx", "2014", release.casme2_rows("2014")[:-1])
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
    assert "which version of the sheet this is cannot be told" in result.departures[0]


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
        return "1 picture cannot be opened: frame 50" if clip.subject == "sub01" else None

    result = survey(load_corpus("casme2", casme2_small), opener=opener, progress=Watch())
    assert opened == ["casme2/sub01/EP02_01f", "casme2/sub04/EP12_01f", "casme2/sub16/EP01_08"]
    assert steps == [("opening pictures", 3), *opened, "end"]
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
